import Foundation
import Hornbeam
import HornbeamModel
import HornbeamStore
import Testing

/// A reader in another process than the one in which a stage with code runs.
@Suite struct StageReaderTests {
    private static let first = try! ManagedObjectModel { Entity("Note") { Attribute("text", .string, indexed: true) } }
    private static let second = try! ManagedObjectModel {
        Entity("Note") {
            Attribute("text", .string, indexed: true)
            Attribute("length", .integer32, optional: true)
        }
    }

    /// The path of the store that a child process migrates.
    private static func url(ofChildOf process: pid_t) -> URL {
        FileManager.default.temporaryDirectory.appending(path: "hornbeam-staged-\(process).hornbeam")
    }

    private static func exists(_ name: String, beside url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path + "." + name) }

    private static func create(_ name: String, beside url: URL) throws { try Data().write(to: URL(filePath: url.path + "." + name)) }

    /// The child: its stage writes objects, reports that by a file, and waits for the file of its parent or for its parent's end.
    static func migrateParentsStore() throws {
        let url = url(ofChildOf: getppid())
        let plan = try MigrationPlan([
            .custom(from: first, to: second) { migration in
                migration.batchSize = 50
                try migration.forEach("Note") { (_: ManagedObject, new: ManagedObject) in
                    try new.setValue("changed", forKey: "text")
                    try new.setValue(7, forKey: "length")
                }
                try create("written", beside: url)
                let parent = getppid()
                while !exists("read", beside: url), getppid() == parent { usleep(10_000) }
            }
        ])
        let container = try PersistentContainer(name: "child", plan: plan)
        container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
        try container.loadPersistentStores()
        try container.close()
    }

    private static func expectOldVersion(_ reader: PersistentContainer) throws {
        #expect(reader.managedObjectModel.entitiesByName["Note"]?.propertiesByName["length"] == nil)
        let context = reader.newContext()
        #expect(try context.values("Note", "text") == (100 ..< 300).map { .string("\($0)") })
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Note").where("text == '200'")) == 1)
    }

    @Test(
        "MIG-11, PSC-22: during a stage with code readers in other processes open and read the old version; afterwards they keep it until they open again",
        .timeLimit(.minutes(20)))
    func readersKeepTheOldVersionDuringAStage() async throws {
        let url = Self.url(ofChildOf: getpid())
        func clean() { for name in ["", ".written", ".read"] { try? FileManager.default.removeItem(atPath: url.path + name) } }
        clean()
        defer { clean() }
        let container = try await PersistentContainer.open(at: url, model: Self.first)
        let context = container.newContext()
        for number in 100 ..< 300 { try context.insert("Note", ["text": .string("\(number)")]) }
        try context.save()
        try container.close()
        let early = try PersistentContainer.openReadOnly(at: url)
        try Self.expectOldVersion(early)
        // The two processes wait for each other, so the reader does not share a thread with the child's exit. A child that fails ends the
        // wait by cancelling the reader.
        let reading = Task.detached {
            defer { try? Self.create("read", beside: url) }
            while !Self.exists("written", beside: url) { try await Task.sleep(for: .milliseconds(10)) }
            try Self.expectOldVersion(early)
            _ = try early.persistentStoreCoordinator.refreshReadOnlyStores()
            try Self.expectOldVersion(early)
            let late = try PersistentContainer.openReadOnly(at: url)
            try Self.expectOldVersion(late)
            try late.close()
            let other = hornbeamError { _ = try PersistentContainer.open(at: url, model: Self.first) }
            #expect(other?.code == .storeInUse)
        }
        await #expect(processExitsWith: .success) { try StageReaderTests.migrateParentsStore() }
        if !Self.exists("written", beside: url) { reading.cancel() }
        try await reading.value
        try Self.expectOldVersion(early)
        #expect(hornbeamError { _ = try early.persistentStoreCoordinator.refreshReadOnlyStores() }?.code == .modelMismatch)
        try Self.expectOldVersion(early)
        try early.close()
        let again = try PersistentContainer.openReadOnly(at: url)
        #expect(try Set(again.newContext().values("Note", "length")) == [7])
        try again.close()
    }
}
