import Foundation
import HornbeamEngine
import HornbeamThreads
import Testing

@testable import Hornbeam
@testable import HornbeamStore

/// History, migration and generations of stores that several processes write.
@Suite struct SharedHistoryTests {
    @Test("HIS-2: history of all processes is in one order, with times that do not decrease, and IDs are not used twice", arguments: [0, -86_400, 86_400])
    func historyAndIdentities(clockOffset: Double) throws {
        let pair = try SharedPair(Notebook.model(), [HNote.self, HFolder.self], clockOffset: clockOffset)
        let ids = Guarded<[ManagedObjectID]>([])
        let problems = Guarded<[String]>([])
        Cores.share(4) { part in
            let container = part % 2 == 0 ? pair.here : pair.there
            do {
                for number in 0..<40 {
                    let id = try container.performAndWait { context in
                        context.transactionAuthor = "part \(part)"
                        let note = HNote(context: context)
                        note.uid = "\(part) \(number)"
                        try context.save()
                        return note.objectID
                    }
                    ids.withLock { $0.append(id) }
                }
            } catch { problems.withLock { $0.append("\(error)") } }
        }
        #expect(problems.withLock { $0 } == [])
        #expect(ids.withLock { Set($0).count } == 160)
        for container in [pair.here, pair.there] {
            _ = try container.persistentStoreCoordinator.refreshReadOnlyStores()
            let transactions = try container.history.fetch(after: nil).get()
            #expect(transactions.count == 160)
            #expect(zip(transactions, transactions.dropFirst()).allSatisfy { $0.number < $1.number && $0.timestamp <= $1.timestamp })
            for part in 0..<4 {
                let own = transactions.filter { $0.author == "part \(part)" }.flatMap { $0.changes.map(\.objectID) }
                #expect(own.count == 40)
            }
            #expect(Set(transactions.flatMap { $0.changes.map(\.objectID) }) == ids.withLock { Set($0) })
        }
        try pair.close()
    }

    @Test("HIS-1: history belongs to the store: processes without it record their saves too", arguments: [false, true])
    func historyOfOneSide(historyFirst: Bool) throws {
        var description = try Stack.freshDescription(.onDisk)
        (description.isShared, description.busyTimeout) = (true, .seconds(300))
        var other = description
        if historyFirst { other.history = nil } else { description.history = nil }
        let first = try SharedPair.open([description], Company.model(), Company.classes)
        let id = try first.performAndWait { context in
            let employee = context.employee("a", salary: 1)
            try context.save()
            return employee.objectID
        }
        let second = try SharedPair.open([other], Company.model(), Company.classes)
        let (plain, tracking) = historyFirst ? (second, first) : (first, second)
        try tracking.performAndWait { context in
            context.employee("b")
            try context.save()
        }
        let context = tracking.newContext()
        let employee = try context.existingObject(Employee.self, with: id)
        #expect(employee.salary == 1)
        let before = try tracking.history.fetch(after: nil).get().count
        try plain.performAndWait { context in
            try context.existingObject(Employee.self, with: id).salary = 2
            try context.save()
        }
        _ = try tracking.persistentStoreCoordinator.refreshReadOnlyStores()
        try context.mergeChanges()
        #expect(employee.salary == 2)
        #expect(try tracking.history.fetch(after: nil).get().count == before + 1)
        for container in [first, second] { try container.close() }
    }

    @Test("MOC-12: without history contexts find the changes of another process by comparing their objects")
    func withoutHistory() throws {
        let pair = try SharedPair.company { $0.history = nil }
        let id = try pair.there.performAndWait { context in
            let employee = context.employee("a", salary: 1)
            try context.save()
            return employee.objectID
        }
        let coordinator = pair.here.persistentStoreCoordinator
        _ = try coordinator.refreshReadOnlyStores()
        let context = pair.here.newContext()
        let employee = try context.existingObject(Employee.self, with: id)
        #expect(employee.salary == 1)
        try pair.there.performAndWait { context in
            try context.existingObject(Employee.self, with: id).salary = 2
            context.employee("b")
            try context.save()
        }
        _ = try coordinator.refreshReadOnlyStores()
        try context.mergeChanges()
        #expect(employee.salary == 2)
        #expect(try context.count(FetchRequest<Employee>()) == 2)
        try pair.close()
    }

    @Test("MIG-1: beside a process that migrates the store the others show their last state, and refuse saves until they open it again")
    func migrationBesideOthers() throws {
        func model(hasTitle: Bool) throws -> ManagedObjectModel {
            try ManagedObjectModel {
                Entity("Note") {
                    Attribute<String?>("text")
                    if hasTitle { Attribute<String?>("title") }
                }
            }
        }
        func add(_ context: ManagedObjectContext) throws {
            try context.insert(entityNamed: "Note").setValue("a", forKey: "text")
            try context.save()
        }
        let notes = FetchRequest<ManagedObject>(entityName: "Note")
        let pair = try SharedPair(model(hasTitle: false), [])
        for container in [pair.there, pair.here] { try container.performAndWait(add) }
        let context = pair.here.newContext()
        #expect(try context.count(notes) == 2)
        var description = PersistentStoreDescription(url: pair.url)
        (description.isShared, description.busyTimeout) = (true, .seconds(300))
        let migrated = try SharedPair.open([description], model(hasTitle: true), [])
        try migrated.performAndWait(add)
        #expect(hornbeamError { try add(context) }?.code == .modelMismatch)
        #expect(context.hasChanges)
        context.rollback()
        #expect(try context.count(notes) == 2)
        #expect(hornbeamError { _ = try pair.here.persistentStoreCoordinator.refreshReadOnlyStores() }?.code == .modelMismatch)
        try pair.close()
        let again = try SharedPair.open([description], model(hasTitle: true), [])
        #expect(try again.newContext().count(notes) == 3)
        for container in [migrated, again] { try container.close() }
    }

    @Test("QGN-5: a newer checkpoint of another process ends the retained generations; pinned contexts still read")
    func checkpointEndsRetainedGenerations() throws {
        let pair = try SharedPair.company { $0.retainedGenerations = 100 }
        let (id, number) = try pair.here.performAndWait { context in
            let employee = context.employee("a", salary: 1)
            try context.save()
            return (employee.objectID, try pair.here.openStore().latestTransaction)
        }
        let coordinator = pair.here.persistentStoreCoordinator
        let pinned = pair.here.newContext()
        try pinned.setQueryGeneration(from: coordinator.queryGeneration(at: number))
        _ = try pair.there.persistentStoreCoordinator.refreshReadOnlyStores()
        try pair.there.performAndWait { context in
            try context.existingObject(Employee.self, with: id).salary = 2
            try context.save()
        }
        try pair.there.openStore().checkpoint()
        _ = try coordinator.refreshReadOnlyStores()
        #expect(hornbeamError { _ = try coordinator.queryGeneration(at: number) }?.code == .snapshotExpired)
        #expect(try pinned.existingObject(Employee.self, with: id).salary == 1)
        #expect(try pair.here.newContext().existingObject(Employee.self, with: id).salary == 2)
        try pair.close()
    }
}
