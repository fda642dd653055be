@testable import HornbeamEngine
@testable import HornbeamSimulation
import HornbeamModel
import Testing
@testable import HornbeamStore

/// Salvage of damaged stores.
@Suite("Salvage")
struct SalvageTests {
    private static let path = "library.hornbeam"

    private func options(_ disk: SimulatedDisk) -> Store.Options {
        var options = Store.Options()
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        options.poolBytes = 1 << 20
        options.engine.pageSize = 1024
        return options
    }

    private func open(_ disk: SimulatedDisk, _ path: String = SalvageTests.path) throws -> Library {
        Library(try Store.open(.directory(path), model: libraryModel, options: options(disk)))
    }

    /// A closed store with objects, large values, and links of every kind.
    private func makeStore(seed: UInt64) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let filled = try FilledLibrary(
            seed: seed, size: 60, in: try Store.open(.directory(Self.path), model: libraryModel, options: options(disk)))
        let library = filled.library
        var generator = SeededGenerator(seed: seed)
        let authors = filled.objects(of: library.entity("Author")).map(\.reference)
        let publications = filled.objects(of: library.entity("Publication")).map(\.reference)
        for number in 0 ..< 6 {
            let shelf = try library.insert("Shelf", ["name": .string(String(repeating: "s", count: number * 400))])
            try library.link(
                library.property("visitors", of: "Shelf"), shelf, add: authors.shuffled(using: &generator).suffix(7))
            try library.link(
                library.property("favourites", of: "Shelf"), shelf, add: publications.shuffled(using: &generator).suffix(9))
            for book in publications.shuffled(using: &generator).prefix(8)
            where library.store.model.entities[Int(book.entityIndex)].name == "Book" {
                try library.update(book, ["shelf": library.id(shelf)])
            }
            try library.link(library.property("friends", of: "Author"), authors[number], add: [authors[number + 1], authors[number + 5]])
        }
        try library.store.setMetadata(["kept": .string("yes")])
        try library.store.close()
        return disk
    }

    /// Everything in a store: values by object, members by object and relationship.
    private struct Content: Equatable {
        var values: [ObjectReference: [String: PropertyValue]] = [:]
        var members: [ObjectReference: [String: [ObjectReference]]] = [:]

        init(_ library: Library) throws {
            let snapshot = try library.store.snapshot()
            for case let table? in library.store.schema.tables {
                try snapshot.view(table).forEachLeaf { (leaf) throws(EngineError) in
                    for slot in 0 ..< leaf.count {
                        values[ObjectReference(entityIndex: table.index, key: leaf.key(slot))] = [:]
                    }
                    return true
                }
            }
            for object in values.keys {
                let entity = library.store.model.entities[Int(object.entityIndex)]
                let row = try #require(try library.row(object))
                for property in entity.properties where !property.isTransient {
                    if property.isToMany {
                        let found = try library.members(object, property.name)
                        members[object, default: [:]][property.name] = property.isOrdered ? found : found.sorted()
                    } else {
                        values[object, default: [:]][property.name] = row.values[property.index]
                    }
                }
            }
        }

        /// The expected content when some objects are lost.
        func without(_ lost: Set<ObjectReference>, _ store: Store) -> Content {
            var rest = self
            for object in lost {
                rest.values[object] = nil
                rest.members[object] = nil
            }
            rest.members = rest.members.mapValues { $0.mapValues { $0.filter { !lost.contains($0) } } }
            rest.values = rest.values.mapValues { row in
                row.mapValues { value in
                    guard case .objectID(let id) = value, let target = store.reference(id), lost.contains(target) else { return value }
                    return .null
                }
            }
            return rest
        }
    }

    /// A leaf on disk and the objects with rows in it.
    private struct Leaf {
        var tree: String
        var place: PageReference
        var objects: Set<ObjectReference> = []
    }

    private func leaves(_ disk: SimulatedDisk) throws -> [Leaf] {
        let library = try open(disk.copy())
        let snapshot = try library.store.engine.snapshot()
        let search = library.store.engine.leafSearch()
        var leaves: [Leaf] = []
        for (name, id) in snapshot.allTrees {
            let tree = try snapshot.readable(id, search)
            #expect(tree.gaps == [])
            let table = library.store.schema.tables.compactMap { $0 }.first { $0.tree == id }
            var owners = tree.leaves.map { Leaf(tree: name, place: $0) }
            var next = 0
            try tree.forEachLeaf { (leaf) throws(EngineError) in
                if let table {
                    owners[next].objects = Set((0 ..< leaf.count).map { ObjectReference(entityIndex: table.index, key: leaf.key($0)) })
                }
                next += 1
            }
            leaves += owners
        }
        return leaves
    }

    private func damage(_ place: PageReference, _ disk: SimulatedDisk) {
        disk.damage("\(Self.path)/\(place.file.fileName)") { $0[Int(place.offset) + 40] ^= 1 }
    }

    @Test("a check of a store with an unreadable leaf reports no problem for entries whose rows it could not read", arguments: [false, true])
    func aCheckClaimsNothingAboutUnreadRows(cannotBeRead: Bool) throws {
        let disk = try makeStore(seed: 1)
        let leaf = try #require(try leaves(disk).first { !$0.objects.isEmpty })
        if cannotBeRead { disk.makeUnreadable("\(Self.path)/\(leaf.place.file.fileName)", at: leaf.place.offset) } else { damage(leaf.place, disk) }
        let report = try open(disk).store.check()
        #expect(!report.problems.contains { $0.contains("without a row") || $0.contains("name no such owner") }, "\(report)")
        #expect(report.problems.contains { $0.hasSuffix("its indexes were not compared with rows that cannot be read.") }, "\(report)")
        #expect(report.problems.allSatisfy { $0.hasSuffix(".") && !$0.hasSuffix("..") }, "\(report)")
    }

    @Test("a check beside an unreadable table names the rows of other tables that their common index lacks")
    func aCheckComparesReadableTables() throws {
        let disk = try makeStore(seed: 1)
        let library = try open(disk)
        let schema = library.store.schema
        let snapshot = try library.store.engine.snapshot()
        var entries: [(index: ValueIndex, key: [UInt8], object: ObjectReference)] = []
        for index in schema.indexes where Set(entries.map(\.object.entityIndex)).count < 2 {
            entries = []
            try snapshot.index(index.tree).forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
                entries.append((index, Array(key), try index.reference(key, value, schema: schema)))
                return true
            }
        }
        let lost = try #require(entries.first)
        let other = try #require(entries.first { $0.object.entityIndex != lost.object.entityIndex })
        let transaction = try library.store.engine.begin()
        #expect(try transaction.delete(lost.key, from: lost.index.tree))
        _ = try transaction.commit()
        try library.store.close()
        damage(try #require(try leaves(disk).first { $0.objects.contains(other.object) }).place, disk)
        let problems = try open(disk).store.check().problems
        let name = schema.model.entities[Int(lost.object.entityIndex)].name
        #expect(problems.contains("\(name) \(lost.object.key) is missing in the index \(lost.index.title)."), "\(problems)")
        #expect(!problems.contains { $0.contains("without a row") }, "\(problems)")
    }

    /// Adds authors, so that their table and its indexes have several leaves.
    private func addAuthors(to library: Library) throws {
        var changes = ChangeSet()
        for number in 0 ..< 400 { _ = try library.add("Author", ["name": .string("author \(number)"), "born": .int(Int64(number))], to: &changes) }
        _ = try library.store.save(changes)
    }

    @Test("a check of an index with an unreadable leaf names the entries that are missing and counts those without a row in its other leaves")
    func aCheckComparesReadableEntries() throws {
        let disk = try makeStore(seed: 1)
        let library = try open(disk)
        try addAuthors(to: library)
        let schema = library.store.schema
        let snapshot = try library.store.engine.snapshot()
        let index = try #require(schema.indexes.first { $0.title == "Author(born)" })
        let tree = try #require(snapshot.allTrees.first { $0.id == index.tree }?.name)
        var entries: [(key: [UInt8], value: [UInt8], object: ObjectReference)] = []
        try snapshot.index(index.tree).forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
            entries.append((Array(key), Array(value), try index.reference(key, value, schema: schema)))
            return true
        }
        let transaction = try library.store.engine.begin()
        #expect(try transaction.delete(entries[0].key, from: index.tree))
        let last = entries[entries.count - 1]
        try transaction.put(last.key.dropLast(8) + [0, 0, 0, 1, 0, 0, 0, 0], last.value, in: index.tree)
        _ = try transaction.commit()
        try library.store.close()
        let places = try leaves(disk).filter { $0.tree == tree }.map(\.place)
        try #require(places.count > 2)
        let place = places[places.count / 2]
        damage(place, disk)
        let problems = try open(disk).store.check().problems
        let (name, lost) = (schema.model.entities[Int(entries[0].object.entityIndex)].name, entries[0].object.key)
        #expect(problems.contains("\(name) \(lost) is missing in the index \(index.title)."), "\(problems)")
        #expect(problems.contains("The index \(index.title) has \(place.count) entries that cannot be read."), "\(problems)")
        #expect(problems.contains("The index \(index.title) has 1 entries without a row."), "\(problems)")
        #expect(problems.count { $0.contains("is missing") } == 1, "\(problems)")
    }

    @Test("a check of a table with an unreadable leaf compares the rows behind it with their indexes")
    func aCheckComparesReadableRows() throws {
        let disk = try makeStore(seed: 1)
        let library = try open(disk)
        try addAuthors(to: library)
        let index = try #require(library.store.schema.indexes.first { $0.title == "Author(name)" })
        var entries: [(key: [UInt8], object: ObjectReference)] = []
        try library.store.engine.snapshot().index(index.tree).forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
            entries.append((Array(key), try index.reference(key, value, schema: library.store.schema)))
            return true
        }
        let last = try #require(entries.max { $0.object < $1.object })
        let transaction = try library.store.engine.begin()
        #expect(try transaction.delete(last.key, from: index.tree))
        _ = try transaction.commit()
        try library.store.close()
        let parts = try leaves(disk).filter { $0.objects.contains { $0.entityIndex == last.object.entityIndex } }
        try #require(parts.count > 1)
        damage(parts[0].place, disk)
        let report = try open(disk).store.check()
        #expect(report.problems.contains("Author has \(parts[0].objects.count) rows that cannot be read."), "\(report)")
        #expect(report.problems.contains("Author \(last.object.key) is missing in the index Author(name)."), "\(report)")
        #expect(!report.problems.contains { $0.contains("without a row") || $0.contains("name no such owner") }, "\(report)")
    }

    @Test("the last part of a table is not said to end with the largest number")
    func anOpenEndIsSaidAsOne() {
        func text(_ keys: ClosedRange<UInt64>) -> String {
            SalvageReport.Loss(name: "Author", count: 3, keys: keys, reason: "Gone.").description
        }
        #expect(text(5 ... .max) == "Author: 3 with keys from 5 on. Gone.")
        #expect(text(5 ... 9) == "Author: 3 with keys from 5 to 9. Gone.")
        #expect(text(0 ... .max) == "Author: 3. Gone.")
    }

    @Test("after damage to any one leaf, exactly the objects of the other leaves return", arguments: [1])
    func oneDamagedLeafCostsItsObjects(_ seed: UInt64) throws {
        let disk = try makeStore(seed: seed)
        let before = try open(disk.copy())
        let content = try Content(before)
        let leaves = try leaves(disk)
        let link = before.store.schema.link(before.property("friends", of: "Author"))
        let friends = try before.store.engine.snapshot().allTrees.first { $0.id == link.members }?.name
        #expect(leaves.count > 40 && leaves.contains { $0.tree.hasPrefix("members/") })
        // All leaves of rows; of the many small leaves of indexes every fourth, and the single one.
        for (number, leaf) in leaves.enumerated() where !leaf.objects.isEmpty || number % 4 == 0 || leaf.tree == friends {
            let copy = disk.copy()
            damage(leaf.place, copy)
            let report = try Store.salvage(Self.path, to: "new.hornbeam", model: libraryModel, options: options(copy))
            let after = try open(copy, "new.hornbeam")
            let rest = content.without(leaf.objects, before.store)
            let found = try Content(after)
            #expect(found.values == rest.values, "\(leaf.tree) \(leaf.place)")
            // A relationship that is its own inverse has only one tree, so links in a lost leaf are lost.
            let isOnlyWitness = leaf.tree == friends
            #expect(isOnlyWitness ? report.lostLinks > 0 : found == rest, "\(leaf.tree) \(leaf.place)")
            #expect(report.lostObjects == leaf.objects.count && report.savedObjects == rest.values.count, "\(report)")
            #expect(report.isComplete == (leaf.objects.isEmpty && !isOnlyWitness), "\(leaf.tree): \(report)")
            #expect(try after.store.check().problems == [], "\(leaf.tree) \(leaf.place)")
            #expect(after.store.identifier == before.store.identifier)
            try after.insert("Shelf")
            try after.store.close()
        }
    }

    @Test("nothing is lost of a sound store, its metadata and its next keys included")
    func aSoundStoreIsCopied() throws {
        let disk = try makeStore(seed: 3)
        var parts: [String] = []
        let report = try Store.salvage(Self.path, to: "new.hornbeam", options: options(disk)) { parts.append($0.part) }
        #expect(report.isComplete && report.lostObjects == 0 && report.clearedReferences == 0, "\(report)")
        #expect(report.description.hasSuffix("saved, nothing lost"), "\(report)")
        #expect(Set(parts).isSuperset(of: ["Author", "Book", "index Author(name)"]))
        let (old, new) = (try open(disk), try open(disk, "new.hornbeam"))
        #expect(try Content(old) == Content(new))
        #expect(new.store.metadata["kept"] == .string("yes"))
        let highest = try #require(try Content(old).values.keys.map(\.key).max())
        #expect(try new.store.reserveKeys(1) > highest)
    }

    @Test("objects in a leaf that the device cannot read are lost, and no others are changed")
    func unreadableObjectsAreLost() throws {
        let disk = try makeStore(seed: 4)
        let library = try open(disk.copy())
        let content = try Content(library)
        let leaf = try #require(try leaves(disk).first { !$0.objects.isEmpty })
        disk.makeUnreadable("\(Self.path)/\(leaf.place.file.fileName)", at: leaf.place.offset)
        let report = try Store.salvage(Self.path, to: "new.hornbeam", model: libraryModel, options: options(disk))
        let after = try open(disk, "new.hornbeam")
        let kept = try Content(after)
        let lost = Set(content.values.keys).subtracting(kept.values.keys)
        #expect(!report.isComplete && lost == leaf.objects, "\(report)")
        #expect(kept == content.without(lost, library.store))
        #expect(try after.store.check().problems == [])
    }

    @Test("leaves below a damaged inner page are found in the page files")
    func leavesWithoutParentsAreFound() throws {
        let disk = try makeStore(seed: 4)
        let library = try open(disk.copy())
        let content = try Content(library)
        var roots = 0
        for record in try library.store.engine.snapshot().version.trees where record.layouts != nil && !record.root.isEmpty {
            let copy = disk.copy()
            damage(record.root, copy)
            let report = try Store.salvage(Self.path, to: "new.hornbeam", model: libraryModel, options: options(copy))
            guard record.root.count > 40 else { continue }
            roots += 1
            let after = try open(copy, "new.hornbeam")
            #expect(report.isComplete && report.losses.count == 1, "\(report)")
            #expect(report.losses[0].found == report.losses[0].count)
            #expect(try Content(after) == content)
            #expect(try after.store.check().problems == [])
        }
        #expect(roots > 0)
    }

    @Test("a large value that cannot be read is null, and its object is saved")
    func lostValuesAreNull() throws {
        let disk = try makeStore(seed: 5)
        var found = 0
        for path in disk.files.keys.filter({ $0.contains("/pages-") }).sorted() {
            let bytes = try #require(disk.files[path])
            for offset in stride(from: 0, to: bytes.count - 2000, by: 8)
            where bytes[offset ..< offset + 3] == [0x48, 0x42, PageKind.blobChunk.rawValue] && bytes[(offset + 32) ..< (offset + 2000)].contains(UInt8(ascii: "s")) {
                let copy = disk.copy()
                copy.damage(path) { $0[offset + 24] ^= 1 }
                guard let report = try? Store.salvage(Self.path, to: "new.hornbeam", options: options(copy)), report.lostValues == 1
                else { continue }
                found += 1
                #expect(!report.isComplete && report.lostObjects == 0)
                #expect(report.description.contains("1 large values of saved objects could not be read and are null."))
                let after = try open(copy, "new.hornbeam")
                #expect(try Content(after).values.count == report.savedObjects)
            }
        }
        #expect(found > 0)
    }

    @Test("a cancelled salvage leaves no files, and throws the caller's error")
    func cancelling() throws {
        let disk = try makeStore(seed: 6)
        #expect(throws: CancellationError.self) {
            try Store.salvage(Self.path, to: "new.hornbeam", options: options(disk)) { _ in throw CancellationError() }
        }
        #expect(try disk.list("") == [Self.path])
    }

    @Test("a source that is not a store, and a target that is the source, are errors")
    func badInput() throws {
        let disk = try makeStore(seed: 7)
        let missing = try #require(throws: HornbeamError.self) {
            try Store.salvage("none", to: "new.hornbeam", options: options(disk))
        }
        #expect(missing.code == .notAStore)
        let taken = try #require(throws: HornbeamError.self) {
            try Store.salvage(Self.path, to: Self.path, options: options(disk))
        }
        #expect(taken.code == .notAStore)
    }

    @Test("losses are reported in sentences")
    func descriptions() {
        var report = SalvageReport()
        report.objects = ["Author": 7]
        report.losses = [
            SalvageReport.Loss(name: "Author", count: 3, keys: 4 ... 9, reason: "The page is damaged."),
            SalvageReport.Loss(name: "Book", count: 3, found: 3, reason: "The page is damaged."),
            SalvageReport.Loss(name: "Tag", count: 3, found: 2, reason: "The page is damaged."),
        ]
        report.clearedReferences = 2
        report.lostLinks = 1
        report.openingLoss = "The store was opened as transaction 5 left it."
        #expect(
            report.description == """
                7 objects and 0 links saved, 4 objects lost
                  The store was opened as transaction 5 left it.
                  Author: 3 with keys from 4 to 9. The page is damaged.
                  Book: 3, all found elsewhere. The page is damaged.
                  Tag: 3, 2 found elsewhere that may be older. The page is damaged.
                  2 references to lost objects are null.
                  1 links of relationships are lost.
                """)
    }
}
