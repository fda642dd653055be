import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Limits, patterns and rules that a new version adds to old values.
@Suite struct ValueRuleTests {
    private static let first = try! ManagedObjectModel {
        Entity("Book") {
            Attribute("title", .string)
            Attribute("isbn", .string, optional: true)
            Attribute("pages", .integer32, optional: true)
        }
    }

    /// The entity gets another name, and its attributes get rules; with `rewrites`, the rows are written to a new table too.
    private static func second(rewrites: Bool) throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Volume", renamedFrom: "Book") {
                Attribute("title", .string, minimumLength: 2)
                Attribute("isbn", .string, optional: !rewrites, default: rewrites ? "00" : .null, pattern: "[0-9]+")
                Attribute("pages", .integer32, optional: true, minimum: 1, maximum: 1_000)
            }
        }
    }

    private static func fill(_ store: MigratedStore) throws -> [String: URL] {
        try store.with(first) { (context) throws in
            for (title, isbn, pages) in [("a", "12", 10), ("bb", "x", 2_000), ("cc", nil, 3_000), ("dd", "7", 0), ("ee", "8", nil as Int?)] as [(String, String?, Int?)] {
                try context.insert(
                    "Book", ["title": .string(title), "isbn": isbn.map { .string($0) } ?? .null, "pages": pages.map { .int(Int64($0)) } ?? .null])
            }
            try context.save()
            var ids: [String: URL] = [:]
            for book in try context.all("Book") { ids["\(try book.value(forKey: "title"))"] = book.objectID.uriRepresentation() }
            return ids
        }
    }

    private static func open(_ store: MigratedStore, _ model: ManagedObjectModel, validates: Bool) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "rules", model: model)
        var description = PersistentStoreDescription(url: store.url)
        description.validatesMigratedObjects = validates
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    @Test("MIG-2, VAL-2, ATT-5, ATT-7: new limits do not stop a migration; they hold for the values that are set later", arguments: [false, true])
    func rulesHoldForLaterValues(rewrites: Bool) throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let container = try Self.open(store, Self.second(rewrites: rewrites), validates: false)
        defer { try? container.close() }
        let context = container.newContext()
        let volume = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Volume").where("title == 'bb'")).first)
        try volume.setValue("bbb", forKey: "title")
        try context.save()
        #expect(try volume.value(forKey: "pages") == 2_000)
        try volume.setValue("y", forKey: "isbn")
        try volume.setValue(3_000, forKey: "pages")
        let error = try #require(hornbeamError { try context.save() })
        #expect(Set(error.details.map(\.key)) == ["isbn", "pages"])
    }

    @Test("MIG-2, ATT-5, ATT-7: on request all values that break new rules are named with their objects, and nothing changes", arguments: [false, true])
    func rulesAreCheckedOnRequest(rewrites: Bool) throws {
        let store = try MigratedStore()
        let ids = try Self.fill(store)
        let model = try Self.second(rewrites: rewrites)
        let error = try #require(hornbeamError { _ = try Self.open(store, model, validates: true) })
        #expect(error.code == .migrationConstraintViolation)
        func titles(_ detail: HornbeamError) -> [String] {
            detail.objectIDs.compactMap { id in ids.first { $0.value == id.uriRepresentation() }?.key }.sorted()
        }
        let found = error.details.map { "\($0.key ?? "") \($0.code.rawValue) \(titles($0).joined(separator: " "))" }
        #expect(found == ["isbn 1680 bb", "pages 1610 bb cc", "pages 1620 dd", "title 1670 a"])
        #expect(error.details.first?.message == """
            1 objects of Volume have a value in “isbn” that breaks a rule of the new model: “Volume.isbn” does not match the pattern [0-9]+.
            """)
        // The IDs are those of the old version, with which the objects are corrected.
        try store.with(Self.first) { (context) throws in
            #expect(try context.all("Book").count == 5)
            for id in Set(error.objectIDs) {
                let known = try #require(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()))
                context.delete(try context.existingObject(with: known))
            }
        }
        let container = try Self.open(store, model, validates: true)
        #expect(try container.newContext().values("Volume", "title") == ["ee"])
        try container.close()
    }

    @Test("MIG-11, ATT-5: values that a stage leaves are checked on request at its end")
    func stagesAreChecked() throws {
        let store = try MigratedStore()
        _ = try Self.fill(store)
        let second = try Self.second(rewrites: false)
        func open(_ body: @escaping MigrationStage.Conversion) throws -> PersistentContainer {
            try store.open(MigrationPlan([.custom(from: Self.first, to: second, didMigrate: body)])) { $0.validatesMigratedObjects = true }
        }
        let error = try #require(hornbeamError { _ = try open { _ in } })
        #expect(error.code == .migrationConstraintViolation)
        #expect(error.details.map(\.key) == ["isbn", "pages", "pages", "title"])
        try store.with(Self.first) { (context) throws in #expect(try context.all("Book").count == 5) }
        let container = try open { migration in
            try migration.forEach("Book") { (_: ManagedObject, new: ManagedObject) in
                for (key, value) in ["title": "good", "isbn": "1", "pages": 7] as [String: PropertyValue] { try new.setValue(value, forKey: key) }
            }
        }
        #expect(try container.newContext().values("Volume", "pages") == [7, 7, 7, 7, 7])
        try container.close()
    }
}
