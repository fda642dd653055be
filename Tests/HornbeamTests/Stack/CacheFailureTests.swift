import Foundation
import HornbeamConformance
import HornbeamEngine
import HornbeamSimulation
import Testing

@testable import Hornbeam
@testable import HornbeamStore

/// Commits of the cache that fail after the custom store has written the changes: nothing is lost, and nothing is written twice.
@Suite struct CacheFailureTests {
    /// A failing call of the cache's commit. After a failed sync the cache refuses all changes.
    enum Fault: CaseIterable {
        case write, sync

        var rule: FaultRule {
            switch self {
            case .write: FaultRule(.fail(.full), calls: [.write], kind: .log)
            case .sync: FaultRule(.fail(.inputOutput), calls: [.sync], kind: .log)
            }
        }
    }

    private let store = AnsweringStore()

    /// A container whose cache is on a disk that can fail.
    private func container(_ disk: FaultInjector) throws -> PersistentContainer {
        var options = Store.Options()
        options.fileSystem = disk
        options.backgroundCheckpoints = false
        return try PersistentContainer.over(Store.open(StoreBacking(store), model: StoreConformance.model(), options: options))
    }

    private func fresh() throws -> ManagedObjectContext {
        let container = try PersistentContainer(name: "Test", model: StoreConformance.model())
        container.persistentStoreDescriptions = [.custom(AnsweringStore(sharing: store))]
        try container.loadPersistentStores()
        return container.newContext()
    }

    private func names(_ context: ManagedObjectContext) throws -> [String] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Author", sortedBy: [FetchSort("name")])).map { "\(try $0.value(forKey: "name"))" }
    }

    private var stored: [String] { store.database.read { $0.rows.values.compactMap { $0.values["name"] }.map { "\($0)" }.sorted() } }

    private func author(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
        let author = try context.insert(entityNamed: "Author")
        try author.setValue(.string(name), forKey: "name")
        return author
    }

    @Test("SAV-8: a save that only the cache has not taken is reported, and writes nothing twice", arguments: Fault.allCases)
    func save(fault: Fault) throws {
        let disk = FaultInjector(MemoryFileSystem())
        let container = try container(disk)
        let context = container.newContext()
        let (kept, gone) = (try author("kept", in: context), try author("gone", in: context))
        try context.save()
        let new = try author("new", in: context)
        try kept.setValue(.string("renamed"), forKey: "name")
        context.delete(gone)
        disk.add(fault.rule)
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .storeOperationFailed)
        #expect(error?.message.contains("has written the save") == true, "\(error?.message ?? "")")
        let names = ["\(PropertyValue.string("new"))", "\(PropertyValue.string("renamed"))"]
        #expect(stored == names)
        disk.removeRules()
        guard fault == .write else {
            // The cache stays closed for changes. The save stays in doubt, and is not repeated.
            #expect(hornbeamError { try context.save() } != nil)
            #expect(stored == names)
            return #expect(try self.names(fresh()) == names)
        }
        try context.save()
        #expect(!context.hasChanges && !new.objectID.isTemporaryID)
        #expect(stored == names)
        #expect(try self.names(context) == names)
        #expect(try self.names(container.newContext()) == names)
        try new.setValue(.string("changed"), forKey: "name")
        try context.save()
        #expect(stored.contains("\(PropertyValue.string("changed"))") && stored.count == 2)
    }

    @Test("BAT-1 … BAT-3: a batch that only the cache has not taken is reported, and the next fetch has its rows", arguments: Fault.allCases, 0 ..< 3)
    func batch(fault: Fault, kind: Int) throws {
        let disk = FaultInjector(MemoryFileSystem())
        let container = try container(disk)
        let context = container.newContext()
        for name in ["a", "b"] { _ = try author(name, in: context) }
        try context.save()
        var update = BatchUpdateRequest(entityName: "Author", predicate: try FetchPredicate(format: "name == 'a'"))
        update.propertiesToUpdate["name"] = try FetchExpression(format: "'c'")
        disk.add(fault.rule)
        let error = hornbeamError {
            switch kind {
            case 0: _ = try context.execute(BatchInsertRequest(entityName: "Author", objects: [["name": .string("c")]]))
            case 1: _ = try context.execute(update)
            default: _ = try context.execute(BatchDeleteRequest(entityName: "Author", predicate: try FetchPredicate(format: "name == 'a'")))
            }
        }
        #expect(error?.code == .storeOperationFailed)
        #expect(error?.message.contains("has executed the batch") == true, "\(error?.message ?? "")")
        let names = [["a", "b", "c"], ["b", "c"], ["b"]][kind].map { "\(PropertyValue.string($0))" }
        #expect(stored == names)
        disk.removeRules()
        #expect(try self.names(fault == .write ? container.newContext() : fresh()) == names)
    }
}
