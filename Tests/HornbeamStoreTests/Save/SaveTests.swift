import Foundation
import HornbeamEngine
import HornbeamModel
import HornbeamThreads
import Testing
@testable import HornbeamStore

@Suite("Saving")
struct SaveTests {
    let library: Library

    init() throws { library = try Library() }

    @Test("a read value of every attribute type equals the saved one")
    func valuesRoundTrip() throws {
        let other = try library.insert("Desk")
        let values: Library.Values = [
            "int16": .int(-32_768), "int32": .int(2_147_483_647), "int64": .int(.min), "double": .double(1.0 / 3),
            "float": .double(Double(Float(0.1))), "bool": .bool(true),
            "date": .date(Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)),
            "decimal": .decimal(Decimal(string: "-12345678901234567890.000000001")!),
            "string": .string("Zoë\0 🦄"), "uri": .uri(URL(string: "https://example.org/a?b#c")!),
            "data": .data(Data([0, 255, 1])), "uuid": .uuid(UUID(uuidString: "00000000-0000-0000-0000-0000000000FF")!),
            "other": library.id(other),
        ]
        let object = try library.insert("Values", values)
        for (name, value) in values { #expect(try library.value(object, name) == value, "\(name)") }
        let empty = try library.insert("Values")
        for name in values.keys { #expect(try library.value(empty, name) == .null, "\(name)") }
    }

    @Test("long values of every variable type come back")
    func longValuesRoundTrip() throws {
        let text = String(repeating: "Donau", count: 3_000)
        let object = try library.insert("Values", ["string": .string(text), "data": .data(Data(repeating: 7, count: 20_000))])
        #expect(try library.value(object, "string") == .string(text))
        #expect(try library.value(object, "data") == .data(Data(repeating: 7, count: 20_000)))
    }

    @Test("an insertion has version 1, and each update one more")
    func versionsCountUp() throws {
        let desk = try library.insert("Desk", ["place": "window"])
        #expect(try library.version(desk) == 1)
        try library.update(desk, ["place": "door"])
        try library.update(desk)
        #expect(try library.version(desk) == 3)
        #expect(try library.value(desk, "place") == "door")
    }

    @Test("SAV-9: an update of a row that changed meanwhile is refused with the stored values, and writes nothing")
    func staleUpdateIsRefused() throws {
        let desk = try library.insert("Desk", ["place": "window"])
        let gone = try library.insert("Desk")
        try library.update(desk, ["place": "door"])
        try library.delete(gone)
        var changes = try library.updating(desk, ["place": "hall"], version: 1)
        changes.updates += try library.updating(gone, ["place": "attic"], version: 1).updates
        _ = try library.add("Desk", ["place": "new"], to: &changes)
        let before = try library.store.snapshot().transaction
        let conflicts = try #require(throws: SaveConflicts.self) { try library.store.save(changes) }
        #expect(conflicts.versions.map(\.storedVersion) == [2, 0])
        #expect(conflicts.versions[0].storedValues?.contains("door") == true)
        #expect(conflicts.versions[1].storedValues == nil)
        #expect(conflicts.error.code == .mergeConflict)
        #expect(try library.store.snapshot().transaction == before)
    }

    @Test("the version of a row after the largest one is the first")
    func versionsBeginAgain() throws {
        let desk = try library.insert("Desk", ["place": "hall"])
        let tree = library.store.schema.table(library.entity("Desk")).tree
        let transaction = try library.store.engine.begin()
        try withUnsafeBytes(of: UInt32.max) { try transaction.patch(EntityTable.versionColumn, of: [desk.key], values: $0, in: tree) }
        _ = try transaction.commit()
        try library.update(desk, ["place": "attic"])
        #expect(try library.version(desk) == 1)
        #expect(try library.value(desk, "place") == .string("attic"))
    }

    @Test("MOC-26: a checked object that changed makes the save fail")
    func checkedObjectsMustNotHaveChanged() throws {
        let desk = try library.insert("Desk")
        try library.update(desk)
        var changes = ChangeSet()
        changes.checks = [ChangeSet.Check(entity: library.entity("Desk"), key: desk.key, expectedVersion: 1)]
        #expect(throws: SaveConflicts.self) { try library.store.save(changes) }
    }

    @Test("the messages of conflicts contain the event and the remedy, without values")
    func conflictTexts() throws {
        let desk = try library.insert("Desk", ["place": "secret"])
        try library.update(desk)
        let stale = try library.updating(desk, [:], version: 1)
        let version = try #require(throws: SaveConflicts.self) { try library.store.save(stale) }
        #expect(
            version.error.message
                == "Desk/p\(desk.key) was changed in the store since it was read (version 1 was expected, 2 is stored).")
        let ada = try library.insert("Author", ["name": "Ada"])
        let unique = try #require(throws: SaveConflicts.self) { try library.insert("Author", ["name": "Ada"]) }
        #expect(
            unique.error.message
                == "“name” of Author must be unique, and Author/p\(ada.key + 1) and the stored Author/p\(ada.key) have the same value. "
                + "Give it another value.")
        #expect(unique.error.code == .constraintConflict)
    }

    @Test("a value of the wrong type is refused by name")
    func wrongTypesAreRefused() throws {
        let error = try #require(throws: HornbeamError.self) { try library.insert("Desk", ["place": 5]) }
        #expect(error.code == .typeMismatch)
        #expect(error.message == "The value of “Desk.place” must be a string, and a number was given.")
        let author = try library.insert("Author", ["name": "Ada"])
        let reference = try #require(throws: HornbeamError.self) {
            try library.insert("Author", ["name": "Bob", "desk": library.id(author)])
        }
        #expect(reference.message == "The value of “Author.desk” must be an object of Desk, and an object ID was given.")
    }

    @Test("PSC-11: keys are unique over all entities, and IDs lead back to their objects")
    func identitiesLeadBack() throws {
        let book = try library.insert("Book", ["title": "A"])
        let tag = try library.insert("Tag", ["label": "t"])
        #expect(book.key != tag.key)
        let id = library.store.objectID(book)
        #expect(id.entityName == "Book" && !id.isTemporaryID)
        #expect(library.store.reference(id) == book)
        #expect(library.store.entity(of: id.origin)?.name == "Book")
        #expect(try Library().store.reference(id) == nil)
    }

    @Test("subscribers receive commits in order, with the changed properties and the owners of changed to-manys")
    func changesAreAnnounced() throws {
        let heard = Heard()
        let observation = library.store.observe { heard.add($0) }
        let author = try library.insert("Author", ["name": "Ada"])
        let book = try library.insert("Book", ["title": "A", "author": library.id(author)])
        try library.update(book, ["year": 1843])
        try library.delete(book)
        observation.cancel()
        try library.insert("Desk")
        let changes = heard.changes
        #expect(changes.map(\.inserted) == [[author], [book], [], []])
        #expect(changes[1].updated.map(\.reference) == [author])
        #expect(changes[1].updated[0].properties.contains(library.property("publications", of: "Author").index))
        #expect(changes[2].updated.map(\.properties.indexes) == [[library.property("year", of: "Book").index]])
        #expect(changes[3].deleted == [book])
        #expect(changes.map(\.transaction) == changes.map(\.transaction).sorted())
    }

    @Test("a snapshot does not see later saves")
    func snapshotsStandStill() throws {
        let desk = try library.insert("Desk", ["place": "window"])
        let before = try library.store.snapshot()
        try library.update(desk, ["place": "door"])
        #expect(try before.values(library.entity("Desk"), desk.key)?.version == 1)
        #expect(try library.store.snapshot().values(library.entity("Desk"), desk.key)?.version == 2)
    }

    @Test("PSC-8: metadata is present after reopening")
    func metadataIsKept() throws {
        try library.store.setMetadata(["schema": 3, "who": "app"])
        #expect(library.store.metadata == ["schema": 3, "who": "app"])
    }
}

/// Collects published changes.
final class Heard: Sendable {
    private let list = Guarded<[StoreChange]>([])
    func add(_ change: StoreChange) { list.withLock { $0.append(change) } }
    var changes: [StoreChange] { list.withLock { $0 } }
}
