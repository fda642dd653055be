import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Deletions in every order and any number of times.
@Suite struct DeletionTests {
    /// Found with a loop over a fetch: the cascade of the first object deleted the second, whose own deletion ended the process.
    @Test("DEL-1, DEL-3: deleting an object that a cascade has deleted does nothing", arguments: Setting.all)
    func deletingWhatACascadeTook(setting: Setting) throws {
        let stack = try Company.stack(setting.kind, employees: .cascade)
        let context = setting.context(of: stack)
        let (owner, member) = (context.department("owner"), context.employee("member"))
        member.department = owner
        try setting.prepare(context)
        context.delete(owner)
        context.delete(member)
        context.delete(owner)
        for object in [owner, member] as [ManagedObject] { context.delete(object) }
        try context.saveToStore()
        context.delete(member)
        #expect(!context.hasChanges)
        #expect(try stack.newContext().count(FetchRequest<Employee>()) == 0)
    }

    /// Found with a validation hook that added a friend to an object that the save deleted: the check of the store found the link.
    @Test("DEL-2, REL-3: no relationship leads to an object that the save deletes, whatever was added to it after the deletion",
          arguments: Setting.saved)
    func relationshipsOfDeletedObjects(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let (gone, friend) = (context.employee("gone"), context.employee("friend"))
        let (department, project, step) = (context.department("d"), context.project("p"), Step(context: context))
        step.name = "s"
        try setting.prepare(context)
        context.delete(gone)
        context.delete(step)
        gone.friends.insert(friend)
        gone.projects.insert(project)
        friend.spouse = gone
        department.employees.insert(gone)
        project.tasks.append(step)
        try context.saveToStore()
        #expect(friend.friends.isEmpty && friend.spouse == nil && department.employees.isEmpty)
        #expect(project.employees.isEmpty && project.tasks.isEmpty)
        #expect(try stack.container.openStore().check().isSound)
        #expect(try stack.newContext().fetch(FetchRequest<Employee>()).map(\.name) == ["friend"])
    }

    @Test("DEL-4: deny holds the save back for objects that were never saved too (delete.004)", arguments: Setting.all)
    func denyHoldsForUnsavedObjects(setting: Setting) throws {
        let stack = try Parity.stack(setting.kind)
        let context = setting.context(of: stack)
        let parent = try context.insert(entityNamed: "PParent")
        let child = try context.insert(entityNamed: "PChild")
        try child.setValue(parent, forKey: "parent")
        if setting.isSaved { try context.saveToStore() }
        #expect(hornbeamError { try parent.validateForDelete() }?.code == .deleteDenied)
        context.delete(parent)
        #expect(parent.isDeleted && context.deletedObjects == [parent])
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "PParent")) == 0)
        let error = hornbeamError { try context.save() }
        #expect(error?.code == .deleteDenied && error?.objectIDs == [parent.objectID] && error?.key == "children")
        context.delete(child)
        try context.saveToStore()
        #expect(!context.hasChanges && parent.managedObjectContext == nil)
        #expect(try stack.newContext().count(FetchRequest<ManagedObject>(entityName: "PParent")) == 0)
    }

    @Test("DEL-4, DEL-7: insert, or moving the related objects, cancels a denied deletion", arguments: Setting.all, [true, false])
    func deniedDeletionsAreTakenBack(setting: Setting, inserts: Bool) throws {
        let stack = try Parity.stack(setting.kind)
        let context = setting.context(of: stack)
        let (parent, other) = (try context.insert(entityNamed: "PParent"), try context.insert(entityNamed: "PParent"))
        let child = try context.insert(entityNamed: "PChild")
        try child.setValue(parent, forKey: "parent")
        if setting.isSaved { try context.saveToStore() }
        context.delete(parent)
        if inserts { context.insert(parent) } else { try child.setValue(other, forKey: "parent") }
        try context.saveToStore()
        #expect(try stack.newContext().count(FetchRequest<ManagedObject>(entityName: "PParent")) == (inserts ? 2 : 1))
        let stored = try stack.newContext().existingObject(with: child.objectID)
        #expect(try stored.value(forKey: "parent") == .objectID(inserts ? parent.objectID : other.objectID))
    }

    @Test("DEL-4, MOC-21: rollback removes a denied deletion of an unsaved object", arguments: StoreKind.allCases)
    func rollbackForgetsDeniedDeletions(kind: StoreKind) throws {
        let context = try Parity.stack(kind).newContext()
        let parent = try context.insert(entityNamed: "PParent")
        try context.insert(entityNamed: "PChild").setValue(parent, forKey: "parent")
        context.delete(parent)
        context.rollback()
        #expect(!context.hasChanges && parent.managedObjectContext == nil && !parent.isDeleted)
        try context.save()
        #expect(try context.count(FetchRequest<ManagedObject>(entityName: "PChild")) == 0)
    }
}
