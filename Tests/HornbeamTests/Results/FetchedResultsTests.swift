import Foundation
import Testing
import Hornbeam

@Suite("Fetched results") struct FetchedResultsTests {
    /// Departments a and b with two employees each: a: 1 and 3, b: 2 and 4.
    private func company(_ setting: Setting) throws -> (ManagedObjectContext, [Employee]) {
        try company(Company.stack(setting.kind), setting)
    }

    private func company(_ stack: Stack, _ setting: Setting = Setting()) throws -> (ManagedObjectContext, [Employee]) {
        let context = setting.context(of: stack)
        var employees: [Employee] = []
        let departments = ["a", "b"].map { name in
            let department = Department(context: context)
            department.name = name
            return department
        }
        for number in 1...4 {
            let employee = Employee(context: context)
            (employee.name, employee.salary) = ("\(number)", number * 10)
            employee.department = departments[(number + 1) % 2]
            employees.append(employee)
        }
        try context.saveToStore()
        return (context, employees)
    }

    private func controller(_ context: ManagedObjectContext, limit: Int = 0) throws -> FetchedResultsController<Employee> {
        let controller = try FetchedResultsController(
            FetchRequest<Employee>().where("salary > 0").sorted(by: "department.name").sorted(by: "name").limit(limit), in: context,
            sectionedBy: "department.name")
        return controller
    }

    /// A change as text.
    private func words(_ changes: FetchedResultsChanges<Employee>) -> [String] {
        changes.deletedSections.map { "section -\($0)" } + changes.insertedSections.map { "section +\($0)" }
            + changes.objects.map { change in
                switch change {
                case .insert(let object, let path): "+\(object.name) \(path[0]).\(path[1])"
                case .delete(let object, let path): "-\(object.name) \(path[0]).\(path[1])"
                case .move(let object, let from, let to): "\(object.name) \(from[0]).\(from[1])>\(to[0]).\(to[1])"
                case .update(let object, let from, let to): "*\(object.name) \(from[0]).\(from[1])=\(to[0]).\(to[1])"
                }
            }
    }

    @Test("FRC-1, FRC-2: a controller needs an order, and has nothing before its fetch", arguments: Setting.contexts)
    func needsOrder(setting: Setting) throws {
        let (context, _) = try company(setting)
        #expect(hornbeamError { _ = try FetchedResultsController(FetchRequest<Employee>(), in: context) }?.code == .unsupportedRequest)
        let controller = try controller(context)
        #expect(controller.fetchedObjects == nil && controller.sections.isEmpty)
        let lost = try FetchedResultsController(FetchRequest<Employee>().sorted(by: "name"), in: context, sectionedBy: "colour")
        #expect(hornbeamError { try lost.performFetch() }?.code == .unknownKey)
    }

    @Test("FRC-3, FRC-4, FRC-5: sections, places and index titles", arguments: Setting.contexts)
    func sectionsAndPlaces(setting: Setting) throws {
        let (context, employees) = try company(setting)
        let controller = try controller(context)
        try controller.performFetch()
        #expect(controller.sections.map(\.name) == ["a", "b"] && controller.sections.map(\.count) == [2, 2])
        #expect(controller.fetchedObjects?.map(\.name) == ["1", "3", "2", "4"])
        #expect(controller.object(at: [1, 0]) === employees[1])
        #expect(controller.indexPath(for: employees[3]) == [1, 1])
        #expect(controller.sectionIndexTitles == ["A", "B"] && controller.section(forIndexTitle: "B") == 1)
        controller.sectionIndexTitle = { _ in "#" }
        #expect(controller.sectionIndexTitles == ["#"])
    }

    @Test("FRC-7: without an observer no changes are tracked", arguments: Setting.contexts)
    func noListenerNoTracking(setting: Setting) throws {
        let (context, employees) = try company(setting)
        let controller = try controller(context)
        try controller.performFetch()
        context.delete(employees[0])
        context.processPendingChanges()
        #expect(controller.fetchedObjects?.count == 4)
    }

    @Test("FRC-8 … FRC-12: inserts, deletes, moves and updates, unsaved ones too", arguments: Setting.contexts)
    func changesAreReported(setting: Setting) throws {
        let (context, employees) = try company(setting)
        let controller = try controller(context)
        var reported: [[String]] = []
        controller.onChange = { reported.append(words($0)) }
        try controller.performFetch()
        let new = Employee(context: context)
        (new.name, new.salary, new.department) = ("0", 1, employees[0].department)
        context.processPendingChanges()
        employees[0].salary = 11
        context.processPendingChanges()
        employees[1].department = employees[0].department
        context.processPendingChanges()
        employees[3].salary = 0
        context.processPendingChanges()
        new.name = "9"
        context.processPendingChanges()
        #expect(reported == [
            ["+0 0.0"], ["*1 0.1=0.1"], ["2 1.0>0.2"], ["section -1", "-4 1.0"], ["9 0.0>0.3"],
        ])
        try context.save()
        #expect(controller.fetchedObjects?.map(\.name) == ["1", "2", "3", "9"])
    }

    @Test("FRC-17: changes of related objects, limits and saves of other contexts update the results", arguments: Setting.contexts)
    func relatedChangesCount(setting: Setting) throws {
        let (context, employees) = try company(setting)
        let controller = try controller(context, limit: 3)
        var reported: [[String]] = []
        controller.onChange = { reported.append(words($0)) }
        try controller.performFetch()
        #expect(controller.fetchedObjects?.map(\.name) == ["1", "3", "2"])
        context.delete(employees[0])
        context.processPendingChanges()
        #expect(reported.last == ["-1 0.0", "+4 1.1"])
        employees[1].department?.name = "0"
        context.processPendingChanges()
        #expect(controller.sections.map(\.name) == ["0", "a"])
        #expect(controller.fetchedObjects?.map(\.name) == ["2", "4", "3"])
    }

    @Test("FRC-10: an unreferenced object becomes a result when another context changes it, by a batch, a save or a generation",
          .refusedByServer(.generations), arguments: StoreKind.allCases)
    func strangersBecomeResults(kind: StoreKind) throws {
        let stack = try Stack(kind, Company.model(), Company.classes) { $0.retainedGenerations = 10 }
        let (context, employees) = try company(stack)
        let ids = employees.map(\.objectID)
        let list = stack.newContext()
        let empty = try FetchedResultsController(FetchRequest<Employee>().where("salary > 100").sorted(by: "salary"), in: list)
        var reported: [[String]] = []
        empty.onChange = { reported.append(words($0)) }
        try empty.performFetch()
        #expect(empty.fetchedObjects == [])
        employees[1].salary = 200
        try context.save()
        try list.mergeChanges()
        #expect(reported == [["section +0", "+2 0.0"]])
        var update = BatchUpdateRequest(Employee.self, predicate: try FetchPredicate(format: "name == '3'"))
        update.set(Employee.salary, to: 150)
        try context.execute(update)
        try list.mergeChanges()
        #expect(reported.last == ["+3 0.0"])
        employees[1].salary = 1
        try context.execute(BatchDeleteRequest(entityName: "Employee", objectIDs: [ids[2]]))
        try context.save()
        let then = try #require(stack.container.history.fetch(after: nil).get().dropLast(2).last)
        try list.mergeChanges()
        #expect(reported.last == ["section -0", "-2 0.1", "-3 0.0"])
        #expect(empty.fetchedObjects == [])
        try list.setQueryGeneration(from: stack.container.persistentStoreCoordinator.queryGeneration(at: then.number))
        #expect(empty.fetchedObjects?.map(\.name) == ["3", "2"])
    }

    @Test("FRC-8, MOC-6: results in a child follow changes and merges of its parent", arguments: StoreKind.withOtherProcess)
    func resultsInChildren(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let (context, employees) = try company(stack)
        let child = context.newChildContext()
        let list = try FetchedResultsController(FetchRequest<Employee>().where("salary > 20").sorted(by: "name"), in: child)
        var reported: [[String]] = []
        list.onChange = { reported.append(words($0)) }
        try list.performFetch()
        employees[0].salary = 21
        try child.mergeChanges()
        #expect(reported == [["+1 0.0"]])
        employees[2].salary = 0
        try context.save()
        try child.mergeChanges()
        #expect(reported.contains { $0.contains("-3 0.1") })
        let other = stack.newOtherContext()
        try other.existingObject(Employee.self, with: employees[1].objectID).salary = 22
        try other.save()
        try child.mergeChanges()
        #expect(list.fetchedObjects?.map(\.name) == ["1", "2", "4"])
    }

    @Test("FRC-10, NOT-1, UND-2: results show reverted changes: by hand, undo, deleting a new object, insert and rollback",
          arguments: Setting.contexts)
    func takenBack(setting: Setting) throws {
        let (context, employees) = try company(setting)
        context.undoStack = UndoStack()
        let controller = try controller(context)
        var reported: [[String]] = []
        controller.onChange = { reported.append(words($0)) }
        try controller.performFetch()
        func step(_ expected: [String]..., change: () -> Void) {
            reported = []
            change()
            context.processPendingChanges()
            #expect(reported == expected)
        }
        step(["-1 0.0"]) { employees[0].salary = 0 }
        step(["+1 0.0"]) { employees[0].salary = 10 }
        step { (employees[0].salary, employees[0].salary) = (0, 10) }
        step(["5 0.0>0.1"]) { employees[0].name = "5" }
        step(["1 0.1>0.0"]) { context.undo() }
        let new = context.employee("0", salary: 1)
        step(["section +0", "+0 0.0"]) {}
        step(["section -0", "-0 0.0"]) { context.delete(new) }
        step(["-2 1.0"]) { context.delete(employees[1]) }
        step(["+2 1.0"]) { context.insert(employees[1]) }
        step(["-2 1.0"]) { context.delete(employees[1]) }
        step(["+2 1.0"]) { context.undo() }
        step { context.delete(employees[1]); context.insert(employees[1]) }
        step(["-3 0.1"]) { context.delete(employees[2]) }
        step(["section -0", "-1 0.0"]) { employees[0].salary = 0 }
        let other = context.employee("9", salary: 1)
        step(["section +0", "+9 0.0"]) {}
        step(["section -0", "section +0", "-9 0.0", "+1 0.0", "+3 0.1"]) { context.rollback() }
        #expect(other.managedObjectContext == nil)
        #expect(controller.fetchedObjects?.map(\.name) == ["1", "3", "2", "4"])
    }

    @Test("NOT-10, BAT-4, FRC-17: results show batches and saves of other contexts as soon as the context merges them", arguments: StoreKind.withOtherProcess)
    func batchesShow(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let (context, employees) = try company(stack)
        let controller = try controller(context)
        var reported: [[String]] = []
        controller.onChange = { reported.append(words($0)) }
        try controller.performFetch()
        var update = BatchUpdateRequest(Employee.self, predicate: try FetchPredicate(format: "name == '3'"))
        update.set(Employee.salary, to: 0)
        try context.execute(update)
        #expect(reported == [["-3 0.1"]])
        try context.execute(BatchDeleteRequest(Employee.self, predicate: FetchPredicate(format: "name == '4'")))
        #expect(reported.last == ["-4 1.1"])
        let other = stack.newOtherContext()
        try other.existingObject(Employee.self, with: employees[0].objectID).name = "7"
        try other.save()
        #expect(reported.count == 2)
        try context.mergeChanges()
        #expect(reported.last == ["*7 0.0=0.0"])
        try context.execute(BatchInsertRequest(entityName: "Employee", objects: [["name": "5", "salary": 5]]))
        #expect(reported.last == ["section +0", "+5 0.0"])
    }

    @Test("FRC-10, FRC-17, MRG-1: results show properties that both sides changed as the merge policy decides",
          arguments: Setting.contested, Setting.policies.indices)
    func contestedResults(setting: Setting, policy: Int) throws {
        let stack = try Company.stack(setting.kind)
        let (context, employees) = try company(stack, setting)
        context.setMergePolicies(Setting.policies[policy].policy)
        let controller = try controller(context)
        controller.onChange = { _ in }
        try controller.performFetch()
        employees[0].name = "mine"
        employees[1].department = employees[0].department
        context.processPendingChanges()
        try setting.contest(stack) { others in
            let theirs = try employees.map { try others.existingObject(Employee.self, with: $0.objectID) }
            theirs[0].name = "theirs"
            theirs[3].department = theirs[0].department
            others.delete(theirs[2])
        }
        try context.saveToStore()
        try context.mergeFromStore()
        if !setting.follows {
            // Remote saves show after a refresh.
            try context.parent?.refreshAllObjects()
            try context.refreshAllObjects()
            try controller.performFetch()
        }
        let name = setting.isContested && !Setting.policies[policy].mineHolds ? "theirs" : "mine"
        #expect(controller.sections.map { $0.objects.map(\.name) } == (setting.isContested ? [["2", "4", name]] : [["2", "3", name], ["4"]]))
        let stored = try stack.newContext().fetch(FetchRequest<Employee>().sorted(by: "department.name").sorted(by: "name"))
        #expect(controller.fetchedObjects?.map(\.objectID) == stored.map(\.objectID) && controller.fetchedObjects?.map(\.name) == stored.map(\.name))
    }

    @Test("FRC-13, FRC-14: a snapshot of names and IDs, and the difference of two", arguments: Setting.contexts)
    func snapshots(setting: Setting) throws {
        let (context, employees) = try company(setting)
        let controller = try controller(context)
        controller.onChange = { _ in }
        try controller.performFetch()
        let before = controller.snapshot
        #expect(before.sections.map(\.name) == ["a", "b"])
        context.delete(employees[2])
        context.processPendingChanges()
        let difference = controller.snapshot.difference(from: before)
        #expect(difference.removals.count == 1 && difference.insertions.isEmpty)
        #expect(before.objectIDs.applying(difference) == controller.snapshot.objectIDs)
    }

    @Test("FRC-15: after a reset there are no results and no calls until the next fetch", arguments: Setting.contexts)
    func resetInvalidates(setting: Setting) throws {
        let (context, _) = try company(setting)
        let controller = try controller(context)
        var calls = 0
        controller.onChange = { _ in calls += 1 }
        try controller.performFetch()
        context.reset()
        #expect(controller.fetchedObjects == nil && calls == 0)
        try controller.performFetch()
        #expect(controller.fetchedObjects?.count == 4)
    }

    @Test("FRC-1: an unreferenced controller is released", arguments: Setting.contexts)
    func controllersGo(setting: Setting) throws {
        let (context, employees) = try company(setting)
        weak var gone: FetchedResultsController<Employee>?
        do {
            let controller = try controller(context)
            controller.onChange = { _ in }
            try controller.performFetch()
            gone = controller
        }
        employees[0].salary = 99
        context.processPendingChanges()
        #expect(gone == nil)
    }
}
