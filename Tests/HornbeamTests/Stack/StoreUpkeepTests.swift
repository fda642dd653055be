import Foundation
import Hornbeam
import Testing

/// Maintenance of stores through the coordinator: size, checks, backups, older states, salvage.
@Suite("Upkeep")
struct StoreUpkeepTests {
    private static let model: ManagedObjectModel = {
        do {
            return try ManagedObjectModel {
                Entity("Note") {
                    Attribute<String>("text")
                    ToOne("folder", to: "Folder", inverse: "notes")
                }
                Entity("Folder") {
                    Attribute<String>("name", unique: true)
                    ToMany("notes", to: "Note", inverse: "folder")
                }
            }
        } catch { fatalError("\(error)") }
    }()

    private func fill(_ container: PersistentContainer, _ count: Int) throws {
        let context = container.newContext()
        let folder = try context.insert(entityNamed: "Folder")
        folder[Attribute<String>("name")] = "folder \(count)"
        for number in 0..<count {
            let note = try context.insert(entityNamed: "Note")
            note[Attribute<String>("text")] = "note \(number) of \(count)"
            try note.setValue(folder, forKey: "folder")
        }
        try context.save()
    }

    private func count(_ container: PersistentContainer) throws -> Int {
        try container.newContext().count(FetchRequest<ManagedObject>(entityName: "Note"))
    }

    private func store(_ container: PersistentContainer) throws -> PersistentStore {
        try #require(container.persistentStoreCoordinator.persistentStores.first)
    }

    @discardableResult
    private func backUp(
        _ container: PersistentContainer, to url: URL, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreBackupReport {
        try container.persistentStoreCoordinator.backUp(store(container), to: url, progress: progress)
    }

    private func check(_ container: PersistentContainer) throws -> StoreCheckReport {
        try container.persistentStoreCoordinator.check(store(container))
    }

    private func loss(_ container: PersistentContainer) throws -> String? {
        try container.persistentStoreCoordinator.openingLoss(of: store(container))
    }

    private func opened(_ url: URL, _ change: (inout PersistentStoreDescription) -> Void = { _ in }) throws -> PersistentContainer {
        var description = PersistentStoreDescription(url: url)
        description.createsIfMissing = false
        change(&description)
        let container = try PersistentContainer(name: "Copy", model: Self.model)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    private func beside(_ stack: Stack) -> URL {
        stack.description.url.deletingLastPathComponent().appending(path: "\(UUID().uuidString).hornbeam")
    }

    @Test(
        "a store reports its space, passes the check, and loses its dead bytes when it is compacted", .refusedByServer(.upkeep),
        arguments: StoreKind.allCases)
    func roomAndCompaction(_ kind: StoreKind) throws {
        let stack = try Stack(kind, Self.model)
        let coordinator = stack.container.persistentStoreCoordinator
        for count in 300..<304 { try fill(stack.container, count) }
        let store = try #require(coordinator.persistentStores.first)
        try coordinator.compact(store)
        let space = try coordinator.space(of: store)
        // A row takes more than a byte.
        #expect(space.liveBytes > 300 + 301 + 302 + 303 && space.fileBytes >= space.pageBytes)
        #expect(space.deadBytes < space.liveBytes / 2, "\(space)")
        #expect(space.description.hasPrefix("\(space.fileBytes) bytes: \(space.liveBytes) live, "))
        var parts: [String] = []
        let report = try coordinator.check(store) { parts.append($0.part) }
        #expect(report.isSound && report.rows == 300 + 301 + 302 + 303 + 4, "\(report)")
        #expect(Set(parts).isSuperset(of: ["pages", "Note", "Folder"]))
        try stack.container.close()
    }

    @Test("PSC-15: a store is backed up while contexts use it; the copy opens alone and has the same IDs")
    func backups() throws {
        let stack = try Stack(.onDisk, Self.model)
        try fill(stack.container, 50)
        let url = beside(stack)
        var fractions: [Double] = []
        let report = try backUp(stack.container, to: url) { fractions.append($0.fraction) }
        #expect(report.files > 0 && report.bytes > 0 && fractions.last == 1)
        try fill(stack.container, 10)
        let copy = try opened(url)
        #expect(try count(copy) == 50)
        let id = try #require(try stack.container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Note")).first?.objectID)
        let found = copy.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation())
        #expect(found?.uriRepresentation() == id.uriRepresentation())
        #expect(throws: HornbeamError.self) { try backUp(stack.container, to: url) }
        #expect(throws: CancellationError.self) {
            try backUp(stack.container, to: beside(stack)) { _ in throw CancellationError() }
        }
        try copy.close()
        try stack.container.close()
    }

    @Test("a store in memory has no files to back up")
    func memoryStoresHaveNoFiles() throws {
        let stack = try Stack(.inMemory, Self.model)
        let error = #expect(throws: HornbeamError.self) {
            try backUp(stack.container, to: beside(stack))
        }
        #expect(error?.code == .unsupportedRequest)
    }

    @Test("a damaged store is salvaged into a new one, and the report names the losses")
    func salvage() throws {
        let stack = try Stack(.onDisk, Self.model)
        try fill(stack.container, 2000)
        try stack.container.close()
        let pages = try #require(
            try FileManager.default.contentsOfDirectory(at: stack.description.url, includingPropertiesForKeys: nil)
                .first { $0.lastPathComponent.hasPrefix("pages-") })
        // The first record of the file is a leaf of the first table.
        let file = try FileHandle(forUpdating: pages)
        try file.seek(toOffset: 50)
        try file.write(contentsOf: Data([0xFF, 0xFF, 0xFF]))
        try file.close()
        let url = beside(stack)
        let report = try PersistentStoreCoordinator.salvageStore(at: stack.description.url, to: url, managedObjectModel: Self.model)
        let rescued = try opened(url)
        #expect(report.objects["Note"] == (try count(rescued)))
        #expect(report.savedObjects + report.lostObjects == 2001, "\(report)")
        #expect(try check(rescued).isSound)
        try rescued.close()
    }

    @Test("a store opens at the checkpoint before the last, and reports the lost transactions")
    func olderStates() throws {
        let stack = try Stack(.onDisk, Self.model)
        try fill(stack.container, 20)
        try stack.container.close()
        let again = try opened(stack.description.url)
        #expect(try loss(again) == nil)
        try fill(again, 30)
        try again.close()
        let older = try opened(stack.description.url) { $0.startingPoint = .previousCheckpoint }
        #expect(try count(older) < 50)
        #expect(try loss(older)?.hasPrefix("The store was opened as transaction ") == true)
        try older.close()
    }

    @Test("readers of a snapshot beyond its age limit get an error, and saves do not")
    func snapshotAges() throws {
        let stack = try Stack(.onDisk, Self.model)
        try fill(stack.container, 20)
        try stack.container.close()
        let container = try opened(stack.description.url) { $0.snapshotAgeMax = .zero }
        let reader = container.newContext()
        let note = try #require(try reader.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
        for number in 1...5 { try fill(container, number) }
        Thread.sleep(forTimeInterval: 0.2)
        #expect(try count(container) == 20 + 15)
        do {
            try note.fire()
        } catch let error as HornbeamError {
            #expect(error.code == .snapshotExpired)
        }
        try reader.refreshAllObjects()
        #expect(try reader.count(FetchRequest<ManagedObject>(entityName: "Note")) == 35)
        try container.close()
    }
}
