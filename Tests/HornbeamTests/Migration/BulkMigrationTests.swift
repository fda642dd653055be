import Foundation
import Hornbeam
import HornbeamEngine
import HornbeamStore
import Testing

/// Migrations of more rows and entries than the memory for them holds, on one thread and on several.
@Suite struct BulkMigrationTests {
    private static let count = 9_000

    private static func model(_ change: (inout ModelDefinition) -> Void = { _ in }) throws -> ManagedObjectModel {
        var definition = try ManagedObjectModel {
            Entity("Note") {
                Attribute("code", .string)
                Attribute("number", .integer32)
                Attribute("remark", .string, optional: true)
                ToOne("folder", to: "Folder", inverse: "notes")
            }
            Entity("Folder") {
                Attribute("name", .string)
                ToMany("notes", to: "Note", inverse: "folder")
            }
        }.definition
        change(&definition)
        return try ManagedObjectModel(definition)
    }

    private static func open(_ disk: MemoryFileSystem, _ model: ManagedObjectModel, threads: Bool) throws -> PersistentContainer {
        var options = Store.Options()
        options.fileSystem = disk
        options.backgroundCheckpoints = threads
        options.poolBytes = 1 << 20
        options.engine.pageSize = 4_096
        options.migration = MigrationOptions()
        return try PersistentContainer.over(try Store.open(.directory("notes.hornbeam"), model: model, options: options))
    }

    private static func code(_ number: Int) -> String { String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16) + " and a long rest of a key" }

    private static func remark(_ number: Int) -> String? {
        number % 2 == 0 ? nil : number % 1_000 == 1 ? String(repeating: "long ", count: 2_000) : "remark \(number)"
    }

    private static func fill(_ disk: MemoryFileSystem, code: (Int) -> String = code) throws {
        let container = try open(disk, model(), threads: false)
        let context = container.newContext()
        let folders = try (0 ..< 50).map { try context.insert("Folder", ["name": .string("\($0)")]) }
        for number in 0 ..< count {
            let note = try context.insert(
                "Note", ["code": .string(code(number)), "number": .int(Int64(number)), "remark": remark(number).map { .string($0) } ?? .null])
            try note.setValue(folders[number * 7 % 50], forKey: "folder")
            if number % 1_000 == 999 { try context.save() }
        }
        try context.save()
        try container.close()
    }

    @Test("MIG-2: rows, unique keys, index entries and members are rewritten in windows and runs, and nothing is missing", arguments: [false, true])
    func everythingIsThere(threads: Bool) throws {
        let disk = MemoryFileSystem()
        try Self.fill(disk)
        let second = try Self.model { definition in
            (definition.entities[0].attributes[2].isOptional, definition.entities[0].attributes[2].defaultValue) = (false, "none")
            definition.entities[0].uniquenessConstraints = [["code"]]
            definition.entities[0].fetchIndexes = [FetchIndexDescription("number", [FetchIndexElement("number", ascending: false)])]
            definition.entities[1].relationships[0].isOrdered = true
        }
        let container = try Self.open(disk, second, threads: threads)
        let store = try container.openStore()
        #expect(try store.check().problems == [])
        let context = container.newContext()
        let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note").sorted(by: "number"))
        #expect(notes.count == Self.count)
        for (number, note) in notes.enumerated() {
            guard try note.value(forKey: "code") == .string(Self.code(number)), try note.value(forKey: "remark") == .string(Self.remark(number) ?? "none"),
                try note.object(forKey: "folder")?.value(forKey: "name") == .string("\(number * 7 % 50)")
            else {
                Issue.record("note \(number) changed")
                break
            }
        }
        #expect(try context.all("Folder").map { try Array($0.objects(forKey: "notes")).count } == Array(repeating: Self.count / 50, count: 50))
        for number in stride(from: 0, to: Self.count, by: 501) {
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Note").where("code == %@", Self.code(number))) == 1)
        }
        try context.insert("Note", ["code": .string(Self.code(4_321)), "number": 1, "remark": "double"])
        #expect(hornbeamError { try context.save() }?.code == .constraintConflict)
        try container.close()
    }

    @Test("MIG-2: duplicates are found also where they lie in different runs, and the old version stays", arguments: [false, true])
    func duplicatesOfAllRunsAreFound(threads: Bool) throws {
        let disk = MemoryFileSystem()
        try Self.fill(disk) { Self.code([0: 8_999, 17: 4_500, 4_600: 4_500][$0] ?? $0) }
        let unique = try Self.model { $0.entities[0].uniquenessConstraints = [["code"]] }
        let error = try #require(hornbeamError { _ = try Self.open(disk, unique, threads: threads) })
        #expect(error.code == .migrationConstraintViolation)
        #expect(Set(error.details.map(\.objectIDs.count)) == [2, 3] && error.details.count == 2)
        let old = try Self.open(disk, Self.model(), threads: threads)
        let context = old.newContext()
        let numbers = try error.details.map { detail in
            try detail.objectIDs.map { id in
                let known = try #require(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()))
                return try context.existingObject(with: known).value(forKey: "number")
            }
        }
        #expect(Set(numbers.map(Set.init)) == [[0, 8_999], [17, 4_500, 4_600]])
        #expect(try old.openStore().check().problems == [])
        try old.close()
    }
}
