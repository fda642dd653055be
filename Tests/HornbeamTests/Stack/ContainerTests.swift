import Foundation
import Hornbeam
import Testing

/// The rows of the inventory about containers (section 1.9).
@Suite struct ContainerTests {
    @Test("CON-1, CON-2, CON-7: a container's first description is a store of its name in the default directory")
    func defaults() throws {
        let container = try PersistentContainer(name: "Company", model: Company.model(), classes: Company.classes)
        #expect(container.name == "Company" && container.persistentStoreCoordinator.persistentStores.isEmpty)
        let description = try #require(container.persistentStoreDescriptions.first)
        #expect(container.persistentStoreDescriptions.count == 1)
        #expect(description.url == PersistentContainer.defaultDirectoryURL().appending(path: "Company.hornbeam"))
        #expect(description.type == .onDisk && !description.isReadOnly && description.createsIfMissing)
        #expect(description.configurationName == nil && description.durability == .full)
    }

    @Test("CON-3: each store is tried, one error has all failures, and open stores are skipped the next time", arguments: StoreKind.allCases)
    func loadingSeveralStores(kind: StoreKind) throws {
        let container = try PersistentContainer(name: "Test", model: Company.model(), classes: Company.classes)
        let good = try Stack.freshDescription(kind)
        var missing = try [Stack.freshDescription(.onDisk), Stack.freshDescription(.onDisk)]
        for index in missing.indices { missing[index].createsIfMissing = false }
        container.persistentStoreDescriptions = [missing[0], good, missing[1]]
        let error = hornbeamError { try container.loadPersistentStores() }
        #expect(error?.code == .multipleErrors && error?.details.map(\.code) == [.notAStore, .notAStore])
        #expect(container.persistentStoreCoordinator.persistentStoreDescriptions == [good])
        let context = container.newContext()
        context.employee("works")
        try context.save()
        for index in missing.indices { missing[index].createsIfMissing = true }
        container.persistentStoreDescriptions = [missing[0], good, missing[1]]
        try container.loadPersistentStores()
        #expect(container.persistentStoreCoordinator.persistentStores.count == 3)
        #expect(try context.count(FetchRequest<Employee>()) == 1)
        try container.close()
    }

    @Test("CON-4: the view context is one, follows the store, and has the error policy", arguments: StoreKind.allCases)
    @MainActor func viewContext(kind: StoreKind) throws {
        let container = try Company.stack(kind).container
        let context = container.viewContext
        #expect(context === container.viewContext && context.parent == nil)
        #expect(context.automaticallyMergesChangesFromParent && context.mergePolicy == .error)
        let other = container.newContext()
        other.employee("seen")
        try other.save()
        #expect(try context.fetch(FetchRequest<Employee>()).map(\.name) == ["seen"])
    }

    @Test("CON-5, CON-8: a background context and the view context show each other's saves", arguments: StoreKind.allCases)
    @MainActor func pairInSync(kind: StoreKind) async throws {
        let container = try Company.stack(kind).container
        let background = container.newBackgroundContext()
        let id = try await background.perform { context in
            let employee = context.employee("from behind")
            try context.save()
            return employee.objectID
        }
        let employee = try container.viewContext.existingObject(Employee.self, with: id)
        #expect(employee.name == "from behind")
        employee.name = "from the front"
        try container.viewContext.save()
        let names = try await background.perform { try $0.fetch(FetchRequest<Employee>()).map(\.name) }
        #expect(names == ["from the front"])
    }

    @Test("CON-6: each background task has a new context, whose unsaved changes end with it", arguments: StoreKind.allCases)
    func backgroundTasks(kind: StoreKind) async throws {
        let container = try Company.stack(kind).container
        try await container.performBackgroundTask { context in
            context.employee("never saved")
            #expect(context.mergePolicy == .error)
        }
        let saved = try await container.performBackgroundTask { context in
            #expect(!context.hasChanges)
            let employee = context.employee("saved")
            try context.save()
            return employee.objectID
        }
        #expect(try container.newContext().fetch(FetchRequest<Employee>()).map(\.objectID) == [saved])
    }

    @Test("STK-8: a container can be emptied and begun again", arguments: StoreKind.allCases)
    func startingAgain(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        context.employee("old")
        try context.save()
        context.reset()
        try stack.container.close()
        try stack.container.persistentStoreCoordinator.destroyPersistentStore(stack.description)
        try stack.container.loadPersistentStores()
        #expect(try stack.container.newContext().count(FetchRequest<Employee>()) == 0)
    }

    @Test("PSC-18: the coordinator may be used from any thread at once", arguments: StoreKind.allCases)
    func anyThread(kind: StoreKind) async throws {
        let container = try Company.stack(kind).container
        let coordinator = container.persistentStoreCoordinator
        await withTaskGroup(of: Void.self) { group in
            for number in 0 ..< 8 {
                group.addTask {
                    guard let store = try? coordinator.addPersistentStore(.inMemory()) else {
                        Issue.record("a store could not be added")
                        return
                    }
                    _ = try? container.performAndWait { context in
                        try context.assign(context.employee("e\(number)"), to: store)
                        try context.save()
                    }
                    #expect((try? coordinator.remove(store)) != nil)
                }
            }
        }
        #expect(coordinator.persistentStores.count == 1)
        #expect(try container.newContext().count(FetchRequest<Employee>()) == 0)
    }
}
