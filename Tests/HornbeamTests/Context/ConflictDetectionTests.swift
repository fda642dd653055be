import Foundation
import Hornbeam
import Testing

/// `detectConflicts(for:)`, which decision 031 recommends against write skew.
@Suite struct ConflictDetectionTests {
    /// Found with two contexts, each of which read the other's changes: a merging context took the other's save as its base.
    @Test("MOC-26: if another context changed or deleted a watched object, the save is a conflict",
          arguments: Setting.saved + Setting.shared, [true, false])
    func watchedObjects(setting: Setting, deletes: Bool) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let (watched, mine) = (context.employee("watched"), context.employee("mine"))
        try setting.prepare(context)
        context.detectConflicts(for: watched)
        mine.salary = 1
        let other = stack.newOtherContext()
        let theirs = try other.existingObject(Employee.self, with: watched.objectID)
        if deletes { other.delete(theirs) } else { theirs.salary = 7 }
        try other.save()
        _ = try context.count(FetchRequest<Employee>())
        let error = hornbeamError { try context.saveToStore() }
        #expect(error?.code == .mergeConflict && error?.objectIDs == [watched.objectID])
    }

    @Test("MOC-26: a watched object with changed members only is compared too", arguments: (Setting.saved + Setting.shared).filter { !$0.isChild })
    func watchedObjectsWithChangedMembers(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let (watched, project) = (context.employee("watched"), context.project("Apollo"))
        try setting.prepare(context)
        context.detectConflicts(for: watched)
        watched.projects = [project]
        let other = stack.newOtherContext()
        try other.existingObject(Employee.self, with: watched.objectID).salary = 7
        try other.save()
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .mergeConflict && error?.objectIDs == [watched.objectID])
    }

    @Test("MOC-26: a save succeeds, also a second time, if no other context changed the watched object", arguments: Setting.saved + Setting.shared)
    func unchangedWatchedObjects(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let (watched, mine) = (context.employee("watched"), context.employee("mine"))
        try setting.prepare(context)
        for salary in 1...2 {
            context.detectConflicts(for: watched)
            mine.salary = salary
            let other = stack.newOtherContext()
            other.employee("another")
            try other.save()
            _ = try context.count(FetchRequest<Employee>())
            try context.saveToStore()
        }
        #expect(try stack.newContext().existingObject(Employee.self, with: mine.objectID).salary == 2)
    }

    @Test("MOC-26, MOC-19: refreshing a watched object begins the watch again", arguments: (Setting.saved + Setting.shared).filter { !$0.isChild })
    func refreshingBeginsTheWatchAgain(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let (watched, mine) = (context.employee("watched"), context.employee("mine"))
        try setting.prepare(context)
        context.detectConflicts(for: watched)
        mine.salary = 1
        let other = stack.newOtherContext()
        try other.existingObject(Employee.self, with: watched.objectID).salary = 7
        try other.save()
        #expect(hornbeamError { try context.save() }?.code == .mergeConflict)
        try context.refresh(watched, mergeChanges: true)
        #expect(watched.salary == 7)
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test("MOC-26: a policy other than error keeps the remote change of a watched object",
          arguments: (Setting.saved + Setting.shared).filter { !$0.isChild }, [true, false])
    func policiesLetOthersChangesStand(setting: Setting, deletes: Bool) throws {
        for policy in [MergePolicy.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .rollback] {
            let stack = try Company.stack(setting.kind)
            let context = setting.context(of: stack)
            context.mergePolicy = policy
            let (watched, mine) = (context.employee("watched"), context.employee("mine"))
            try setting.prepare(context)
            context.detectConflicts(for: watched)
            mine.salary = 1
            let other = stack.newOtherContext()
            let theirs = try other.existingObject(Employee.self, with: watched.objectID)
            if deletes { other.delete(theirs) } else { theirs.salary = 7 }
            try other.save()
            try context.save()
            let names = try stack.newContext().fetch(FetchRequest<Employee>().sorted(by: "salary")).map { [$0.name, "\($0.salary)"] }
            #expect(names == (deletes ? [["mine", "1"]] : [["mine", "1"], ["watched", "7"]]))
        }
    }

    /// The write skew of decision 031: each context reads the objects that the other changes.
    @Test("MOC-26: if each of two contexts watches the object that the other changes, one save is a conflict", arguments: [true, false])
    func writeSkewIsDetected(follows: Bool) throws {
        let stack = try Company.stack(.inMemory)
        let maker = stack.newContext()
        let ids = [maker.employee("a", salary: 1), maker.employee("b", salary: 1)].map { $0 }
        try maker.save()
        let contexts = [stack.newContext(), stack.newContext()]
        for context in contexts { context.automaticallyMergesChangesFromParent = follows }
        for (index, context) in contexts.enumerated() {
            let read = try context.existingObject(Employee.self, with: ids[1 - index].objectID)
            context.detectConflicts(for: read)
            try context.existingObject(Employee.self, with: ids[index].objectID).salary -= read.salary
        }
        try contexts[0].save()
        #expect(hornbeamError { try contexts[1].save() }?.code == .mergeConflict)
    }
}
