import Foundation
import Hornbeam
import Testing

/// One container with two stores: fetches read both, and each object stays in its own.
@Suite struct SeveralStoresTests {
    /// A container of two stores; the second accepts only projects and steps.
    private func pair(_ kinds: (StoreKind, StoreKind), secondIsFor configuration: String? = nil) throws -> StorePair {
        try StorePair(kinds, configuration)
    }

    static let kinds: [(StoreKind, StoreKind)] = [
        (.onDisk, .onDisk), (.inMemory, .inMemory), (.onDisk, .inMemory), (.inMemory, .onDisk),
    ]

    @Test("PSC-2: fetches, counts and orders include all stores that hold the entity", arguments: kinds)
    func fetchesGoOverAllStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        for number in 0 ..< 20 {
            let employee = context.employee("e\(number)", salary: number)
            try context.assign(employee, to: pair.stores[number % 2])
        }
        try context.save()
        let fresh = pair.container.newContext()
        var request = FetchRequest<Employee>(sortedBy: [FetchSort("salary", ascending: false)])
        #expect(try fresh.fetch(request).map(\.salary) == Array((0 ..< 20).reversed()))
        #expect(try fresh.count(request) == 20)
        request.fetchOffset = 3
        request.fetchLimit = 4
        #expect(try fresh.fetch(request).map(\.salary) == [16, 15, 14, 13])
        #expect(try fresh.count(request) == 4)
        fresh.employee("new", salary: 15)
        #expect(try fresh.fetch(request).map(\.name) == ["e16", "e15", "new", "e14"])
        fresh.rollback()
        let unordered = try fresh.fetch(FetchRequest<Employee>())
        #expect(unordered.prefix(10).allSatisfy { $0.objectID.storeIdentifier == pair.stores[0].identifier })
        #expect(unordered.count == 20)
        #expect(try fresh.fetch(FetchRequest<Employee>(predicate: FetchPredicate(format: "salary IN {3, 4}"))).count == 2)
    }

    @Test("PSC-2, FET-17: affectedStores limits a fetch to the named stores", arguments: kinds)
    func onlyAffectedStoresAreRead(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        for number in 0 ..< 10 { try context.assign(context.employee("e\(number)", salary: number), to: pair.stores[number % 2]) }
        try context.save()
        var request = FetchRequest<Employee>(sortedBy: [FetchSort("salary")])
        request.affectedStores = [pair.stores[1].identifier]
        #expect(try context.fetch(request).map(\.salary) == [1, 3, 5, 7, 9])
        try context.fetch(request)[0].salary = 11
        try context.assign(context.employee("other", salary: 2), to: pair.stores[0])
        #expect(try context.fetch(request).map(\.salary) == [3, 5, 7, 9, 11])
        request.affectedStores = []
        #expect(try context.fetch(request).isEmpty)
        #expect(try context.count(request) == 0)
        request.affectedStores = [UUID()]
        #expect(try context.fetch(request).isEmpty)
    }

    @Test("PSC-4: a new object is stored in its assigned store, else with its related objects, else in the first store of its entity")
    func newObjectsFindTheirStore() throws {
        let pair = try pair((.onDisk, .inMemory))
        let context = pair.container.newContext()
        let told = context.department("told")
        try context.assign(told, to: pair.stores[1])
        let related = context.employee("related")
        related.department = told
        let friend = context.employee("friend of the related")
        friend.friends = [related]
        let alone = context.employee("alone")
        try context.save()
        #expect(pair.place(of: told) == 1 && pair.place(of: related) == 1 && pair.place(of: friend) == 1)
        #expect(pair.place(of: alone) == 0)
        let later = context.employee("later")
        later.department = told
        try context.obtainPermanentIDs(for: [later])
        #expect(pair.place(of: later) == 1)
        try context.save()
        #expect(try pair.container.newContext().existingObject(Employee.self, with: later.objectID).department?.name == "told")
    }

    @Test("PSC-4: assigning a stored object, an object of another context, and an entity that the store lacks are errors")
    func badAssignments() throws {
        let pair = try pair((.inMemory, .inMemory), secondIsFor: "Work")
        let context = pair.container.newContext()
        let stored = context.employee("stored")
        try context.save()
        #expect(hornbeamError { try context.assign(stored, to: pair.stores[0]) }?.code == .unsupportedRequest)
        let other = try StorePair((.inMemory, .inMemory), nil)
        let fresh = context.employee("fresh")
        #expect(hornbeamError { try context.assign(fresh, to: other.stores[0]) }?.code == .closed)
        let error = hornbeamError { try context.assign(fresh, to: pair.stores[1]) }
        #expect(error?.code == .readOnly || error?.code == .saveFailed)
        #expect(hornbeamError { try context.assign(other.container.newContext().employee("x"), to: pair.stores[0]) }?.code == .unsupportedRequest)
    }

    @Test("PSC-1, MDL-2: a configuration names the entities of a store", arguments: kinds)
    func configurationsDivideEntities(kinds: (StoreKind, StoreKind)) throws {
        let container = try PersistentContainer(name: "Test", model: StorePair.model(), classes: Company.classes)
        let coordinator = container.persistentStoreCoordinator
        let people = try coordinator.addPersistentStore(StorePair.description(kinds.0, "People"))
        let context = container.newContext()
        let project = context.project("p")
        let error = hornbeamError { try context.save() }
        #expect(error?.description == """
            Error 134030 (saveFailed) at Project: No store accepts new objects of Project: no store's configuration has the entity. Add a store \
            for writing whose configuration has Project.
            """)
        let work = try coordinator.addPersistentStore(StorePair.description(kinds.1, "Work"))
        let employee = context.employee("e")
        try context.save()
        #expect(project.objectID.storeIdentifier == work.identifier && employee.objectID.storeIdentifier == people.identifier)
        #expect(hornbeamError { try coordinator.addPersistentStore(StorePair.description(.inMemory, "Wrok")) }?.code == .unknownName)
        project.employees.insert(employee)
        let across = hornbeamError { try context.save() }
        #expect(across?.code == .relationshipAcrossStores)
        context.rollback()
        #expect(!context.hasChanges && employee.name == "e")
    }

    @Test("SAV-11: a save over two stores is visible in both at once, with its IDs", arguments: kinds)
    func savesOverTwoStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let (writer, reader) = (pair.container.newContext(), pair.container.newContext())
        let (left, right) = (writer.employee("left", salary: 1), writer.employee("right", salary: 1))
        try writer.assign(left, to: pair.stores[0])
        try writer.assign(right, to: pair.stores[1])
        try writer.save()
        #expect(!left.objectID.isTemporaryID && pair.place(of: left) == 0 && pair.place(of: right) == 1)
        let read = try [left, right].map { try reader.existingObject(Employee.self, with: $0.objectID) }
        #expect(read.map(\.name) == ["left", "right"])
        left.salary = 2
        right.salary = 3
        try writer.save()
        try reader.mergeChanges()
        #expect(read.map(\.salary) == [2, 3])
        writer.delete(left)
        right.salary = 4
        try writer.save()
        try reader.mergeChanges()
        #expect(read[0].isDeleted && read[1].salary == 4)
    }

    @Test("MRG-1: a conflict in one store refuses the save in all stores, and the context stays usable", arguments: kinds)
    func conflictsOverTwoStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let writer = pair.container.newContext()
        let (left, right) = (writer.employee("left"), writer.employee("right"))
        try writer.assign(right, to: pair.stores[1])
        try writer.save()
        let stale = pair.container.newContext()
        stale.automaticallyMergesChangesFromParent = false
        let mine = try [left, right].map { try stale.existingObject(Employee.self, with: $0.objectID) }
        #expect(mine.map(\.salary) == [0, 0])
        right.salary = 5
        try writer.save()
        for object in mine { object.salary = 7 }
        let error = hornbeamError { try stale.save() }
        #expect(error?.code == .mergeConflict && error?.objectIDs == [right.objectID])
        #expect(try pair.container.newContext().existingObject(Employee.self, with: left.objectID).salary == 0)
        stale.mergePolicy = .mergeByPropertyObjectTrump
        try stale.save()
        #expect(try pair.container.newContext().fetch(FetchRequest<Employee>()).map(\.salary) == [7, 7])
    }

    @Test("PSC-12: URIs find the right store, or none if the store is not loaded", arguments: kinds)
    func identitiesAcrossStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        let employees = try pair.stores.map { store in
            let employee = context.employee("in \(store.url.lastPathComponent)")
            try context.assign(employee, to: store)
            return employee
        }
        try context.save()
        let coordinator = pair.container.persistentStoreCoordinator
        for (employee, store) in zip(employees, pair.stores) {
            let uri = employee.objectID.uriRepresentation()
            #expect(coordinator.managedObjectID(forURIRepresentation: uri) == employee.objectID)
            #expect(coordinator.managedObjectID(for: uri.absoluteString) == employee.objectID)
            #expect(coordinator.persistentStore(for: employee.objectID) == store)
            #expect(context.object(with: employee.objectID) === employee)
        }
        #expect(coordinator.persistentStore(for: context.employee("new").objectID) == nil)
        try coordinator.remove(pair.stores[1])
        #expect(coordinator.managedObjectID(forURIRepresentation: employees[1].objectID.uriRepresentation()) == nil)
        #expect(coordinator.persistentStore(for: employees[1].objectID) == nil)
    }

    @Test("PSC-12: a URI whose number has the slot of another store names no object, and the object of that store stays in its context", arguments: kinds)
    func uriWithTheSlotOfAnotherStore(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        let (left, right) = (context.employee("left"), context.employee("right"))
        try context.assign(right, to: pair.stores[1])
        try context.save()
        let number = try #require(UInt64(right.objectID.uriRepresentation().lastPathComponent.dropFirst()))
        let text = left.objectID.uriRepresentation().deletingLastPathComponent().appending(path: "p\(1 << 48 | number)").absoluteString
        #expect(pair.container.persistentStoreCoordinator.managedObjectID(for: text) == nil)
        let id = try #require(URL(string: text).flatMap(ManagedObjectID.init(uriRepresentation:)))
        #expect(hornbeamError { _ = try context.existingObject(with: id) }?.code == .objectNotFound)
        #expect(context.registeredObject(for: right.objectID) === right)
    }

    @Test("PSC-3: objects of a removed store leave their contexts and keep their last known values; the store can be added again", arguments: kinds)
    func removingAStore(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        let (left, right) = (context.employee("left"), context.employee("right"))
        try context.assign(right, to: pair.stores[1])
        try context.save()
        let id = right.objectID
        right.salary = 9
        let heard = Heard(ManagedObjectContext.didChangeObjectsNotification, of: context)
        let coordinator = pair.container.persistentStoreCoordinator
        let keeper = try pair.keepOpen(1)
        try coordinator.remove(pair.stores[1])
        #expect(coordinator.persistentStores == [pair.stores[0]])
        #expect(try context.fetch(FetchRequest<Employee>()) == [left])
        #expect(right.name == "right" && right.managedObjectContext == nil)
        #expect(heard.changes.contains { $0.invalidated == [id] })
        #expect(context.registeredObject(for: id) == nil)
        #expect(hornbeamError { _ = try context.existingObject(with: id) }?.code == .objectNotFound)
        left.salary = 1
        try context.save()
        try coordinator.addPersistentStore(pair.descriptions[1])
        #expect(try context.existingObject(Employee.self, with: id).salary == 0)
        #expect(try context.fetch(FetchRequest<Employee>()).count == 2)
        try keeper.close()
    }

    @Test("PSC-1: contexts in use see a store that is added later", arguments: kinds)
    func addingAStoreLater(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        let right = context.employee("right")
        try context.assign(right, to: pair.stores[1])
        try context.save()
        let coordinator = pair.container.persistentStoreCoordinator
        let keeper = try pair.keepOpen(1)
        try coordinator.remove(pair.stores[1])
        let other = pair.container.newContext()
        #expect(try other.count(FetchRequest<Employee>()) == 0)
        try coordinator.addPersistentStore(pair.descriptions[1])
        #expect(other.object(with: right.objectID).objectID == right.objectID)
        #expect((other.object(with: right.objectID) as? Employee)?.name == "right")
        #expect(try other.count(FetchRequest<Employee>()) == 1)
        try keeper.close()
    }

    @Test("PSC-7: a store added for reading only refuses changed and new objects", arguments: kinds)
    func readOnlyStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        let right = context.employee("right")
        try context.assign(right, to: pair.stores[1])
        try context.save()
        let keeper = try pair.keepOpen(1)
        let coordinator = pair.container.persistentStoreCoordinator
        try coordinator.remove(pair.stores[1])
        var description = pair.descriptions[1]
        description.isReadOnly = true
        let store = try coordinator.addPersistentStore(description)
        #expect(store.isReadOnly)
        let fresh = pair.container.newContext()
        let read = try fresh.existingObject(Employee.self, with: right.objectID)
        read.salary = 1
        #expect(hornbeamError { try fresh.save() }?.code == .readOnly)
        fresh.rollback()
        #expect(hornbeamError { try fresh.assign(fresh.employee("x"), to: store) }?.code == .readOnly)
        try fresh.save()
        try keeper.close()
    }

    @Test("PSC-8: each store has its own notes", arguments: kinds)
    func metadataOfEach(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let coordinator = pair.container.persistentStoreCoordinator
        for (number, store) in pair.stores.enumerated() { try coordinator.setMetadata(["number": .int(Int64(number))], for: store) }
        for (number, store) in pair.stores.enumerated() {
            let metadata = try coordinator.metadata(for: store)
            #expect(metadata["number"] == .int(Int64(number)) && metadata["HornbeamStoreUUID"] == .uuid(store.identifier))
        }
    }

    @Test("FET-10, FET-14: groups and totals go over all stores, unsaved changes included", arguments: kinds)
    func groupsOverAllStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        for number in 0 ..< 8 { try context.assign(context.employee("n\(number % 2)", salary: number), to: pair.stores[number / 4]) }
        try context.save()
        context.employee("n0", salary: 100)
        var request = FetchRequest<Employee>(sortedBy: [FetchSort("name")]).selecting("name", .sum(of: "salary", as: "total"))
        request.propertiesToGroupBy = ["name"]
        #expect(try context.fetch(request) == [["name": "n0", "total": 112], ["name": "n1", "total": 16]])
    }

    @Test("SAV-6: children of a context over two stores save into it, and new objects keep their store", arguments: kinds)
    func childrenOverTwoStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        let child = context.newChildContext()
        let employee = child.employee("child's")
        try child.assign(employee, to: pair.stores[1])
        try child.save()
        try context.save()
        #expect(employee.objectID.storeIdentifier == pair.stores[1].identifier)
        #expect(try child.fetch(FetchRequest<Employee>()) == [employee])
    }

    @Test("BAT-1, BAT-2, BAT-3, FET-17: batches go to the stores that they name, else to all", arguments: kinds)
    func batchesOverTwoStores(kinds: (StoreKind, StoreKind)) throws {
        let pair = try pair(kinds)
        let context = pair.container.newContext()
        for number in 0 ..< 2 {
            let rows: [[String: PropertyValue]] = (0 ..< 4).map { ["name": .string("e\($0)\(number)")] }
            var insert = BatchInsertRequest(entityName: "Employee", objects: rows)
            insert.resultType = .objectIDs
            if number == 1 { insert.affectedStores = [pair.stores[1].identifier] }
            let ids = try context.execute(insert).objectIDs
            #expect(ids.count == 4 && ids.allSatisfy { $0.storeIdentifier == pair.stores[number].identifier })
        }
        let all = FetchRequest<Employee>(sortedBy: [FetchSort("name")])
        #expect(try context.count(all) == 8)
        var update = BatchUpdateRequest(Employee.self, predicate: nil)
        update.set(Employee.salary, to: 5)
        #expect(try context.execute(update).count == 8)
        update.affectedStores = [pair.stores[0].identifier]
        update.set(Employee.salary, to: 6)
        #expect(try context.execute(update).count == 4)
        #expect(try context.fetch(all).map(\.salary) == [6, 5, 6, 5, 6, 5, 6, 5])
        var delete = BatchDeleteRequest(Employee.self)
        delete.fetch.sortDescriptors = [FetchSort("name")]
        delete.fetch.fetchLimit = 3
        #expect(try context.execute(delete).count == 3)
        #expect(try context.fetch(all).map(\.name) == ["e11", "e20", "e21", "e30", "e31"])
        #expect(try pair.container.newContext().execute(BatchDeleteRequest(Employee.self)).count == 5)
        #expect(try context.count(all) == 0)
    }
}
