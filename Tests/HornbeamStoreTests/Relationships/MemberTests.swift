import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Relationships")
struct MemberTests {
    let library: Library

    init() throws { library = try Library() }

    @Test("REL-3: a to-many follows the to-one column of its members, whatever entity they are of")
    func toManyMirrorsToOne() throws {
        let ada = try library.insert("Author", ["name": "Ada"])
        let bob = try library.insert("Author", ["name": "Bob"])
        let book = try library.insert("Book", ["title": "A", "author": library.id(ada)])
        let journal = try library.insert("Journal", ["title": "B", "author": library.id(ada)])
        #expect(try library.members(ada, "publications") == [book, journal])
        try library.update(book, ["author": library.id(bob)])
        #expect(try library.members(ada, "publications") == [journal])
        #expect(try library.members(bob, "publications") == [book])
        try library.update(journal, ["author": .null])
        try library.delete(book)
        #expect(try library.members(ada, "publications").isEmpty)
        #expect(try library.members(bob, "publications").isEmpty)
    }

    @Test("a to-one to a polymorphic destination has the entity of its object")
    func polymorphicToOne() throws {
        let journal = try library.insert("Journal", ["title": "J"])
        let book = try library.insert("Book", ["title": "B", "successor": library.id(journal)])
        #expect(try library.value(book, "successor") == library.id(journal))
        var hint = RowHint()
        let successor = try library.store.snapshot().toOne(
            of: library.property("successor", of: "Book"), library.entity("Book"), book.key, &hint)
        #expect(successor == journal)
    }

    @Test("many-to-many links are visible on both sides and are deleted with either object")
    func manyToMany() throws {
        let book = try library.insert("Book", ["title": "A"])
        let journal = try library.insert("Journal", ["title": "J"])
        let tag = try library.insert("Tag", ["label": "t"])
        let other = try library.insert("Tag", ["label": "u"])
        try library.link(library.property("tags", of: "Book"), book, add: [tag, other])
        try library.link(library.property("publications", of: "Tag"), tag, add: [journal, book])
        #expect(try library.members(book, "tags") == [tag, other])
        #expect(try library.members(tag, "publications") == [book, journal])
        try library.link(library.property("tags", of: "Book"), book, remove: [other])
        #expect(try library.members(other, "publications").isEmpty)
        try library.delete(book)
        #expect(try library.members(tag, "publications") == [journal])
        try library.delete(tag)
        #expect(try library.members(journal, "tags").isEmpty)
    }

    @Test("REL-3: a relationship that is its own inverse is symmetric")
    func symmetricRelationship() throws {
        let ada = try library.insert("Author", ["name": "Ada"])
        let bob = try library.insert("Author", ["name": "Bob"])
        try library.link(library.property("friends", of: "Author"), ada, add: [bob])
        #expect(try library.members(bob, "friends") == [ada])
        try library.link(library.property("friends", of: "Author"), bob, remove: [ada])
        #expect(try library.members(ada, "friends").isEmpty)
    }

    @Test("REL-4: one-way links are removed when a member is deleted")
    func oneWayLinks() throws {
        let shelf = try library.insert("Shelf")
        let book = try library.insert("Book", ["title": "A"])
        let journal = try library.insert("Journal", ["title": "J"])
        try library.link(library.property("favourites", of: "Shelf"), shelf, add: [book, journal])
        #expect(try library.members(shelf, "favourites") == [book, journal])
        try library.delete(book)
        #expect(try library.members(shelf, "favourites") == [journal])
    }

    @Test("DEL-5: a to-one to a deleted object still names it, and reading it finds no row")
    func danglingToOne() throws {
        let ada = try library.insert("Author", ["name": "Ada"])
        let book = try library.insert("Book", ["title": "A", "author": library.id(ada)])
        try library.delete(ada)
        #expect(try library.value(book, "author") == library.id(ada))
        #expect(try library.row(ada) == nil)
    }

    @Test("a to-one to an abstract entity without subentities is null, whatever its cell contains")
    func destinationWithoutObjects() throws {
        let model = try ManagedObjectModel {
            Entity("Owner") { ToOne("target", to: "Ghost") }
            Entity("Ghost", abstract: true) {}
        }
        let library = try Library(model: model)
        let owner = try library.insert("Owner")
        let table = library.store.schema.table(library.entity("Owner"))
        let transaction = try library.store.engine.begin()
        try withUnsafeBytes(of: UInt64(7)) {
            try transaction.patch(table.column(library.property("target", of: "Owner")).column, of: [owner.key], values: $0, in: table.tree)
        }
        _ = try transaction.commit()
        #expect(try library.value(owner, "target") == .null)
    }

    @Test("REL-5: new members are at the end of an ordered relationship, which can have any order")
    func orderedRelationship() throws {
        let shelf = try library.insert("Shelf")
        var books: [ObjectReference] = []
        for number in 0 ..< 6 {
            books.append(
                try library.insert("Book", ["title": .string("\(number)"), "shelf": library.id(shelf)]))
        }
        let relationship = library.property("books", of: "Shelf")
        #expect(try library.members(shelf, "books") == books)
        let turned = Array(books.reversed())
        try library.link(relationship, shelf, order: turned)
        #expect(try library.members(shelf, "books") == turned)
        #expect(
            try library.store.snapshot().members(of: relationship, owner: shelf.key, range: 2 ..< 4)
                == Array(turned[2 ..< 4]))
        try library.update(books[3], ["shelf": .null])
        #expect(try library.members(shelf, "books") == turned.filter { $0 != books[3] })
    }

    @Test("REL-5: any sequence of moves gives the order of an array after the same moves", arguments: 1 ... 4)
    func randomMoves(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let shelf = try library.insert("Shelf")
        var order: [ObjectReference] = []
        for number in 0 ..< 12 {
            order.append(try library.insert("Author", ["name": .string("\(seed)-\(number)")]))
        }
        let visitors = library.property("visitors", of: "Shelf")
        try library.link(visitors, shelf, add: order)
        for _ in 0 ..< 60 {
            let moved = order.remove(at: .random(in: 0 ..< order.count, using: &generator))
            order.insert(moved, at: .random(in: 0 ... order.count, using: &generator))
            if Int.random(in: 0 ..< 10, using: &generator) == 0 { order.shuffle(using: &generator) }
            try library.link(visitors, shelf, order: order)
            #expect(try library.members(shelf, "visitors") == order, "seed \(seed)")
        }
    }

    @Test("when a gap is used up, all positions are assigned again")
    func exhaustedGapRenumbers() throws {
        let shelf = try library.insert("Shelf")
        var order: [ObjectReference] = []
        for number in 0 ..< 4 { order.append(try library.insert("Author", ["name": .string("\(number)")])) }
        let visitors = library.property("visitors", of: "Shelf")
        try library.link(visitors, shelf, add: order)
        for _ in 0 ..< 80 {
            order.insert(order.remove(at: 3), at: 1)
            try library.link(visitors, shelf, order: order)
            #expect(try library.members(shelf, "visitors") == order)
        }
    }

    @Test("a member is added after one with the largest position")
    func largestPosition() throws {
        let shelf = try library.insert("Shelf")
        let (first, second) = (try library.insert("Author", ["name": "1"]), try library.insert("Author", ["name": "2"]))
        let visitors = library.property("visitors", of: "Shelf")
        try library.link(visitors, shelf, add: [first])
        let trees = library.store.schema.link(visitors).forward
        let order = try #require(trees.order)
        func key(_ position: UInt64) -> [UInt8] { MemberTrees.orderKey(owner: shelf.key, position: position, member: first.key) }
        let transaction = try library.store.engine.begin()
        _ = try transaction.delete(key(MemberWriter.firstPosition), from: order)
        try transaction.put(key(.max), [], in: order)
        let value = trees.memberValue(first, position: .max, schema: library.store.schema)
        try transaction.put(MemberTrees.memberKey(owner: shelf.key, member: first.key), value, in: trees.members)
        _ = try transaction.commit()
        try library.link(visitors, shelf, add: [second])
        #expect(try library.members(shelf, "visitors") == [first, second])
    }

    @Test("the longest ascending run of every short sequence is ascending and longest")
    func longestRuns() {
        for code in 0 ..< 3_125 {
            let numbers = (0 ..< 5).map { UInt64(code / [1, 5, 25, 125, 625][$0] % 5) }
            let run = LongestAscendingSubsequence.ascending(numbers).sorted()
            #expect(zip(run, run.dropFirst()).allSatisfy { numbers[$0] < numbers[$1] })
            let best = (0 ..< 32).filter { mask in
                let picked = (0 ..< 5).filter { mask >> $0 & 1 == 1 }
                return zip(picked, picked.dropFirst()).allSatisfy { numbers[$0] < numbers[$1] }
            }.map(\.nonzeroBitCount).max()
            #expect(run.count == best, "\(numbers)")
        }
    }
}
