import Foundation
import Hornbeam
import Testing

/// Each change is published once.
///
/// Found with a list that redrew each row twice: a merged save was published when it was merged, and again with the next event.
@Suite struct SingleAnnouncementTests {
    @Test("NOT-1, NOT-5: a merged save is notified once, to observers, sequences and fetched results", arguments: StoreKind.withOtherProcess, [false, true])
    func mergedSavesAreAnnouncedOnce(kind: StoreKind, onRequest: Bool) async throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let employee = context.employee("e")
        try context.save()
        let heard = Heard(ManagedObjectContext.didChangeObjectsNotification, of: context)
        let merges = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context)
        let controller = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context)
        var updates = 0
        controller.onChange = { updates += $0.objects.count }
        try controller.performFetch()
        let sequence = context.changes()
        let other = stack.newOtherContext()
        try other.existingObject(Employee.self, with: employee.objectID).salary = 9
        try other.save()
        if onRequest {
            try context.mergeChanges(from: ObjectChanges(updated: [employee.objectID]))
        } else {
            try context.mergeChanges()
        }
        var first = sequence.makeAsyncIterator()
        #expect(await first.next()?.refreshed == [employee.objectID])
        context.processPendingChanges()
        _ = try context.count(FetchRequest<Employee>())
        context.department("last")
        context.processPendingChanges()
        #expect(await first.next()?.refreshed == [])
        #expect(updates == 1)
        #expect(heard.changes.map(\.refreshed) == [[employee.objectID], []])
        #expect(merges.changes.map(\.refreshed) == [[employee.objectID]])
        #expect(employee.salary == 9)
    }

    @Test("QGN-3: moving to another generation is notified once", .refusedByServer(.generations), arguments: StoreKind.withOtherProcess)
    func generationsAreAnnouncedOnce(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let employee = context.employee("e")
        try context.save()
        try context.setQueryGeneration(from: .current)
        let then = context.queryGenerationToken
        let other = stack.newOtherContext()
        try other.existingObject(Employee.self, with: employee.objectID).salary = 9
        try other.save()
        try context.mergeChanges()
        let heard = Heard(ManagedObjectContext.didChangeObjectsNotification, of: context)
        let controller = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context)
        var updates = 0
        controller.onChange = { updates += $0.objects.count }
        try controller.performFetch()
        try context.setQueryGeneration(from: then)
        context.processPendingChanges()
        #expect(employee.salary == 0 && updates == 1)
        #expect(heard.changes.map(\.refreshed) == [[employee.objectID]])
    }

    @Test("FRC-8, MOC-6: results in a child are notified once of changes that its parent merged", arguments: StoreKind.withOtherProcess)
    func childrenHearOnce(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let parent = stack.newContext()
        let employee = parent.employee("e")
        try parent.save()
        let child = parent.newChildContext()
        let controller = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: child)
        var updates = 0
        controller.onChange = { updates += $0.objects.count }
        try controller.performFetch()
        let other = stack.newOtherContext()
        try other.existingObject(Employee.self, with: employee.objectID).salary = 9
        try other.save()
        _ = try child.count(FetchRequest<Employee>())
        child.processPendingChanges()
        #expect(updates == 1 && controller.fetchedObjects?.first?.salary == 9)
    }
}
