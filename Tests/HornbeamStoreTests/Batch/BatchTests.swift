import Foundation
import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Batches")
struct BatchTests {
    let library: Library

    init() throws { library = try Library() }

    @Test("rows of a batch are as those of a save, with their index entries and members", arguments: [0, 7])
    func batchesWriteWhatSavesWrite(commitEvery: Int) throws {
        let author = try library.insert("Author", ["name": "Ada"])
        var options = BatchWriter.Options()
        options.commitEvery = commitEvery
        let writer = try library.store.batchWriter(for: library.entity("Book"), options: options)
        var keys: [UInt64] = []
        for number in 0 ..< 50 {
            try writer.set(library.property("title", of: "Book"), "Title \(number)")
            try writer.set(library.property("isbn", of: "Book"), .string("\(number)"))
            if number % 2 == 0 { try writer.set(library.property("year", of: "Book"), Int64(1900 + number)) }
            try writer.set(library.property("price", of: "Book"), .decimal(Decimal(number)))
            try writer.set(library.property("pages", of: "Book"), Int64(number))
            try writer.setToOne(library.property("author", of: "Book"), author)
            keys.append(try writer.append())
        }
        #expect(try writer.finish().rows == 50)
        #expect(keys == keys.sorted())
        let book = ObjectReference(library.entity("Book"), keys[3])
        #expect(try library.value(book, "year") == .null)
        #expect(try library.value(book, "price") == .decimal(3))
        #expect(try library.members(author, "publications").map(\.key) == keys)
        var request = FetchDescription(entityName: "Book")
        request.predicate = try FetchPredicate(format: "isbn == '17'")
        #expect(try library.store.snapshot().fetch(request).references.map(\.key) == [keys[17]])
        request.predicate = try FetchPredicate(format: "year >= 1940")
        #expect(try library.store.snapshot().count(request) == 5)
        let report = try library.store.check()
        #expect(report.isSound, "\(report)")
    }

    @Test("every type of attribute can be set, typed or as a value")
    func everyTypeCanBeSet() throws {
        var generator = SeededGenerator(seed: 3)
        let entity = library.entity("Values")
        let writer = try library.store.batchWriter(for: entity)
        var expected: [UInt64: [PropertyValue]] = [:]
        for _ in 0 ..< 200 {
            var values: [PropertyValue] = []
            for property in entity.attributes {
                let value = property.cellType.map { RandomValue.of($0, using: &generator) } ?? .null
                if property.cellType != nil { try set(value, property, writer) }
                values.append(value)
            }
            expected[try writer.append()] = values
        }
        try writer.finish()
        for (key, values) in expected {
            #expect(try library.store.snapshot().values(entity, key)?.values == values)
        }
        let report = try library.store.check()
        #expect(report.isSound, "\(report)")
    }

    private func set(_ value: PropertyValue, _ property: PropertyDescription, _ writer: BatchWriter) throws {
        switch value {
        case .int(let number): try writer.set(property, number)
        case .bool(let flag): try writer.set(property, flag)
        case .string(let text): try writer.set(property, text)
        default: try writer.set(property, value)
        }
    }

    @Test("a duplicate ends the batch, and none of its rows are stored")
    func duplicatesEndTheBatch() throws {
        let existing = try library.insert("Author", ["name": "Bob"])
        let writer = try library.store.batchWriter(for: library.entity("Author"))
        for name in ["Ada", "Bob", "Zoe"] {
            try writer.set(library.property("name", of: "Author"), name)
            try writer.append()
        }
        let conflicts = try #require(throws: SaveConflicts.self) { try writer.finish() }
        #expect(conflicts.uniques.first?.existing == existing)
        #expect(try library.store.snapshot().count(FetchDescription(entityName: "Author")) == 1)
        try library.insert("Author", ["name": "Ada"])
    }

    @Test("a batch that is released before its end changes nothing, and the writer's turn is free")
    func droppedBatchesLeaveNothing() throws {
        do {
            let writer = try library.store.batchWriter(for: library.entity("Desk"))
            try writer.set(library.property("place", of: "Desk"), "window")
            try writer.append()
        }
        #expect(try library.store.snapshot().count(FetchDescription(entityName: "Desk")) == 0)
        try library.insert("Desk")
    }

    @Test("a batch update gives a row with the largest version the first one, as a save does", arguments: ["7", "issue + 1"])
    func batchUpdatesBeginVersionsAgain(format: String) throws {
        let journals = try (0..<40).map { try library.insert("Journal", ["title": .string("\($0)"), "issue": .int(6)]) }
        let table = library.store.schema.table(library.entity("Journal"))
        let transaction = try library.store.engine.begin()
        try withUnsafeBytes(of: UInt32.max) { try transaction.patch(EntityTable.versionColumn, of: [journals[7].key], values: $0, in: table.tree) }
        _ = try transaction.commit()
        let assignment = BatchUpdate.Assignment(library.property("issue", of: "Journal"), try FetchExpression(format: format))
        let batch = BatchUpdate(request: FetchDescription(entityName: "Journal"), assignments: [assignment])
        #expect(try library.store.update(batch).count == 40)
        for (place, journal) in journals.enumerated() {
            #expect(try library.value(journal, "issue") == .int(7))
            #expect(try library.version(journal) == (place == 7 ? 1 : 2))
        }
        let report = try library.store.check()
        #expect(report.isSound, "\(report)")
    }

    @Test("a number beyond its attribute's width is refused by name")
    func wideNumbersAreRefused() throws {
        let writer = try library.store.batchWriter(for: library.entity("Values"))
        let error = try #require(throws: HornbeamError.self) {
            try writer.set(library.property("int16", of: "Values"), Int64(40_000))
        }
        #expect(error.code == .numberTooLarge && error.key == "int16")
    }

    @Test("batches are announced like saves")
    func batchesAreAnnounced() throws {
        let author = try library.insert("Author", ["name": "Ada"])
        let heard = Heard()
        let observation = library.store.observe { heard.add($0) }
        defer { observation.cancel() }
        let writer = try library.store.batchWriter(for: library.entity("Journal"))
        try writer.set(library.property("title", of: "Journal"), "Notes")
        try writer.setToOne(library.property("author", of: "Journal"), author)
        let key = try writer.append()
        try writer.finish()
        #expect(heard.changes.map { $0.inserted.map(\.key) } == [[key]])
        #expect(heard.changes[0].updated.map(\.reference) == [author])
    }
}
