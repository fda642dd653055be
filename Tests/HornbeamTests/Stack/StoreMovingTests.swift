import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Stores that are shared, moved, replaced and destroyed.
@Suite struct StoreMovingTests {
    static let kinds: [(StoreKind, StoreKind)] = [
        (.onDisk, .onDisk), (.onDisk, .inMemory), (.inMemory, .onDisk), (.inMemory, .inMemory),
    ]

    private func container(_ description: PersistentStoreDescription) throws -> PersistentContainer {
        let container = try PersistentContainer(name: "Test", model: Company.model(), classes: Company.classes)
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    @Test("PSC-14: a moved store continues with its IDs, its objects and their changes", arguments: kinds)
    func migrating(kinds: (StoreKind, StoreKind)) throws {
        let source = try Stack.freshDescription(kinds.0)
        let container = try container(source)
        let coordinator = container.persistentStoreCoordinator
        let context = container.newContext()
        let employees = (0 ..< 500).map { context.employee("e\($0)", salary: $0) }
        employees[1].friends = [employees[2]]
        try context.save()
        try coordinator.setMetadata(["note": "kept"], for: coordinator.persistentStores[0])
        let lazily = try context.fetchLazily(FetchRequest<Employee>(sortedBy: [FetchSort("salary")]))
        employees[0].salary = -1
        let target = try Stack.freshDescription(kinds.1)
        let store = try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: target)
        #expect(coordinator.persistentStores == [store] && store.url == target.url)
        #expect(coordinator.persistentStoreDescriptions == [target])
        #expect(employees[7].salary == 7 && lazily[8].name == "e8" && employees[0].salary == -1)
        try context.save()
        #expect(try container.newContext().existingObject(Employee.self, with: employees[0].objectID).salary == -1)
        #expect(try container.newContext().existingObject(Employee.self, with: employees[1].objectID).friends.count == 1)
        #expect(try coordinator.metadata(for: store)["note"] == "kept")
        #expect(try container.openStore().check().isSound)
        try container.close()
        if kinds.0 == .onDisk {
            let old = try self.container(source)
            #expect(try old.newContext().existingObject(Employee.self, with: employees[0].objectID).salary == 0)
            try old.close()
        }
    }

    @Test("PSC-14: a target path that exists is refused, and the store is not moved", arguments: StoreKind.allCases)
    func migratingOntoAnother(kind: StoreKind) throws {
        let container = try container(try Stack.freshDescription(kind))
        let coordinator = container.persistentStoreCoordinator
        let taken = try Stack.freshDescription(.onDisk)
        try self.container(taken).close()
        #expect(hornbeamError { try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: taken) }?.code
            == (kind == .onServer ? .unsupportedRequest : .notAStore))
        let context = container.newContext()
        context.employee("goes on")
        try context.save()
        #expect(try context.count(FetchRequest<Employee>()) == 1)
    }

    @Test("PSC-15: a copy of one store takes the place of another, also of an open one and of none")
    func replacing() throws {
        let (source, target) = (try Stack.freshDescription(.onDisk), try Stack.freshDescription(.onDisk))
        let container = try container(source)
        let context = container.newContext()
        context.employee("first")
        try context.save()
        let coordinator = container.persistentStoreCoordinator
        try coordinator.replacePersistentStore(target, with: source)
        context.employee("second")
        try context.save()
        func names() throws -> [String] {
            let copy = try self.container(target)
            defer { try? copy.close() }
            return try copy.newContext().fetch(FetchRequest<Employee>(sortedBy: [FetchSort("name")])).map(\.name)
        }
        #expect(try names() == ["first"])
        try coordinator.replacePersistentStore(target, with: source)
        #expect(try names() == ["first", "second"])
        #expect(hornbeamError { try coordinator.replacePersistentStore(source, with: target) }?.code == .storeInUse)
        let missing = try Stack.freshDescription(.onDisk)
        #expect(hornbeamError { try coordinator.replacePersistentStore(target, with: missing) }?.code == .notAStore)
        #expect(try names() == ["first", "second"])
        let folder = target.url.deletingLastPathComponent()
        let leftovers = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".replace") }
        #expect(leftovers.isEmpty)
    }

    @Test("PSC-16: a store that another container has open is not destroyed")
    func destroyingWhatOthersUse() throws {
        let description = try Stack.freshDescription(.onDisk)
        let (first, second) = (try container(description), try container(description))
        try first.close()
        let error = hornbeamError { try first.persistentStoreCoordinator.destroyPersistentStore(description) }
        #expect(error?.code == .storeInUse)
        try second.close()
        try first.persistentStoreCoordinator.destroyPersistentStore(description)
        #expect(!FileManager.default.fileExists(atPath: description.url.path))
    }

    @Test("PSC-15, PSC-16: a file, and a folder with other files, are neither destroyed nor replaced", arguments: [true, false])
    func pathsOfOtherFiles(isFolder: Bool) throws {
        let source = try Stack.freshDescription(.onDisk)
        let existing = try container(source)
        try existing.close()
        let description = try Stack.freshDescription(.onDisk)
        let note = isFolder ? description.url.appending(path: "note.txt") : description.url
        try FileManager.default.createDirectory(at: note.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("kept".utf8).write(to: note)
        let coordinator = existing.persistentStoreCoordinator
        #expect(hornbeamError { try coordinator.destroyPersistentStore(description) }?.code == .notAStore)
        #expect(hornbeamError { try coordinator.replacePersistentStore(description, with: source) }?.code == .notAStore)
        #expect(try Data(contentsOf: note) == Data("kept".utf8))
    }

    @Test("PSC-16: a destroyed store is empty when it is added again, although a context still reads the former one", arguments: StoreKind.allCases)
    func destroyingBesideReaders(kind: StoreKind) throws {
        let description = try Stack.freshDescription(kind)
        let former = try container(description)
        try former.write { $0.employee("Ada") }
        let reader = former.newContext()
        #expect(try reader.fetch(FetchRequest<Employee>()).map(\.name) == ["Ada"])
        if kind == .inMemory {
            #expect(hornbeamError { try former.persistentStoreCoordinator.destroyPersistentStore(description) }?.code == .storeInUse)
        }
        try former.close()
        try former.persistentStoreCoordinator.destroyPersistentStore(description)
        let next = try container(description)
        #expect(try next.newContext().count(FetchRequest<Employee>()) == 0)
        withExtendedLifetime(reader) {}
    }

    @Test(
        "PSC-22: two containers of one process share a store, and each sees the other's saves at once", .refusedByServer(.sharedDescriptions),
        arguments: StoreKind.allCases)
    func sharing(kind: StoreKind) throws {
        let description = try Stack.freshDescription(kind)
        let (first, second) = (try container(description), try container(description))
        let (writer, reader) = (first.newContext(), second.newContext())
        let employee = writer.employee("shared")
        try writer.save()
        let read = try reader.existingObject(Employee.self, with: employee.objectID)
        #expect(read.name == "shared")
        read.name = "renamed"
        try reader.save()
        try writer.mergeChanges()
        #expect(employee.name == "renamed")
        try first.close()
        read.name = "again"
        try reader.save()
        #expect(try second.newContext().count(FetchRequest<Employee>()) == 1)
        try second.close()
    }

    @Test("PSC-22: containers of one process that share a store have one model", arguments: StoreKind.allCases)
    func sharingWithAnotherModel(kind: StoreKind) throws {
        let description = try Stack.freshDescription(kind)
        let first = try container(description)
        let other = try PersistentContainer(name: "Test", model: Parity.model(), classes: Parity.classes)
        other.persistentStoreDescriptions = [description]
        #expect(hornbeamError { try other.loadPersistentStores() }?.code == (kind == .onServer ? .storeInUse : .modelMismatch))
        try first.close()
    }

    @Test(
        "PSC-22: a reader shares the open store of a writer in its process; without a writer it acquires no lock", .refusedByServer(.sharedDescriptions),
        arguments: StoreKind.allCases)
    func readersAndWriters(kind: StoreKind) throws {
        let description = try Stack.freshDescription(kind)
        let writer = try container(description)
        var reading = description
        reading.isReadOnly = true
        let reader = try container(reading)
        let context = writer.newContext()
        context.employee("e")
        try context.save()
        #expect(try reader.newContext().count(FetchRequest<Employee>()) == 1)
        let other = reader.newContext()
        other.employee("x")
        #expect(hornbeamError { try other.save() }?.code == .readOnly)
        try writer.close()
        #expect(try reader.newContext().count(FetchRequest<Employee>()) == 1)
        try reader.close()
    }

    @Test("PSC-10: a store is found by its URL and by the ID of one of its objects", arguments: StoreKind.allCases)
    func findingStores(kind: StoreKind) throws {
        let description = try Stack.freshDescription(kind)
        let container = try container(description)
        let coordinator = container.persistentStoreCoordinator
        let store = coordinator.persistentStores[0]
        #expect(coordinator.persistentStore(for: description.url) == store)
        #expect(coordinator.persistentStore(for: URL(filePath: "/nowhere")) == nil)
        #expect(store.type == description.type && store.configurationName == nil && !store.isReadOnly)
        let context = container.newContext()
        let employee = context.employee("e")
        #expect(coordinator.persistentStore(for: employee.objectID) == nil)
        try context.save()
        #expect(coordinator.persistentStore(for: employee.objectID) == store)
    }

    @Test("PSC-17, NOT-6: adding, moving and removing stores is announced with their values", .refusedByServer(.moving), arguments: StoreKind.allCases)
    func announcingStores(kind: StoreKind) throws {
        let container = try PersistentContainer(name: "Test", model: Company.model(), classes: Company.classes)
        let coordinator = container.persistentStoreCoordinator
        let heard = HeardStores(coordinator)
        let store = try coordinator.addPersistentStore(Stack.freshDescription(kind))
        let moved = try coordinator.migratePersistentStore(store, to: Stack.freshDescription(kind))
        try coordinator.remove(moved)
        #expect(heard.changes == [
            "did +\(store)", "did \(store) -> \(moved)", "will -\(moved)", "did -\(moved)",
        ])
    }
}

/// The published changes of a coordinator, as text.
private final class HeardStores: @unchecked Sendable {  // only used on the test's own thread
    private(set) var changes: [String] = []
    private var tokens: [any NSObjectProtocol] = []

    init(_ coordinator: PersistentStoreCoordinator) {
        let names = [
            (PersistentStoreCoordinator.willRemoveStoreNotification, "will"), (PersistentStoreCoordinator.storesDidChangeNotification, "did"),
        ]
        for (name, word) in names {
            tokens.append(
                NotificationCenter.default.addObserver(forName: name, object: coordinator, queue: nil) { [weak self] in
                    guard let change = $0.storesChange else { return }
                    let moved = change.moved.map { "\($0.from) -> \($0.to)" }
                    self?.changes.append(
                        word + " " + (change.added.map { "+\($0)" } + change.removed.map { "-\($0)" } + moved).joined(separator: ", "))
                })
        }
    }

    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
}
