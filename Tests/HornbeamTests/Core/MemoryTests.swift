import Foundation
import Hornbeam
import Testing

/// Unused objects are released, with the memory of their values. `crash-harness release` measures a million.
@Suite struct MemoryTests {
    private func stack(_ kind: StoreKind, _ count: Int) throws -> Stack {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        try context.execute(
            BatchInsertRequest(Employee.self, from: 0..<count) { number, row in
                row.set(Employee.name, "employee \(number)")
                row.set(Employee.salary, number)
            })
        return stack
    }

    @Test("MOC-16: a hundred thousand objects are registered while held, and none afterwards", arguments: StoreKind.allCases)
    func objectsAreReleased(kind: StoreKind) throws {
        let count = 100_000
        let stack = try stack(kind, count)
        let context = stack.newContext()
        for round in 0..<3 {
            let objects = try context.fetch(FetchRequest<Employee>())
            let sum = objects.reduce(0) { $0 + $1.salary }
            #expect(sum == count * (count - 1) / 2)
            if round == 0 { #expect(context.registeredObjects.count == count) }
            withExtendedLifetime(objects) {}
        }
        #expect(context.registeredObjects.isEmpty)
    }

    @Test("MOC-16: walking everything without holding it keeps few objects at a time", arguments: StoreKind.allCases)
    func walkingHoldsFew(kind: StoreKind) throws {
        let stack = try stack(kind, 40_000)
        let context = stack.newContext()
        var most = 0
        for (number, employee) in try context.fetchLazily(FetchRequest<Employee>()).enumerated() {
            _ = employee.salary
            if number % 1_000 == 0 { most = max(most, context.registeredCount) }
        }
        #expect(most <= 10_000, "\(most) objects were registered at once")
    }

    @Test("MOC-16: unused objects of a small store stay registered until `registeredObjects` is read, those of a larger one do not",
          arguments: StoreKind.allCases, [1_000, 20_000])
    func unusedObjectsOfASmallStore(kind: StoreKind, count: Int) throws {
        let stack = try stack(kind, count)
        let context = stack.newContext()
        let ids = try context.fetchIDs(FetchRequest<Employee>())
        for id in ids { _ = try context.existingObject(Employee.self, with: id).salary }
        #expect(count == 1_000 ? context.registeredCount == count : context.registeredCount < 1_000)
        #expect(context.registeredObjects.isEmpty)
        let more = try stack.newContext().execute(BatchInsertRequest(Employee.self, from: 0..<20_000) { number, row in
            row.set(Employee.name, "another \(number)")
            row.set(Employee.salary, number)
        })
        #expect(more.count == 20_000)
        for id in try context.fetchIDs(FetchRequest<Employee>()) { _ = try context.existingObject(Employee.self, with: id).salary }
        #expect(context.registeredCount < 1_000, "the store has grown")
    }

    @Test("MOC-16: changed objects stay until they are saved; all objects stay if the context retains registered objects", arguments: StoreKind.allCases)
    func changedObjectsStay(kind: StoreKind) throws {
        let stack = try stack(kind, 100)
        let context = stack.newContext()
        for employee in try context.fetch(FetchRequest<Employee>().limit(10)) { employee.salary = -1 }
        #expect(context.registeredObjects.count == 10)
        try context.save()
        #expect(context.registeredObjects.isEmpty)
        context.retainsRegisteredObjects = true
        _ = try context.fetch(FetchRequest<Employee>())
        #expect(context.registeredObjects.count == 100)
        context.retainsRegisteredObjects = false
        #expect(context.registeredObjects.isEmpty)
    }

    @Test("a context and its objects go together, children, undo steps and relationships notwithstanding", arguments: StoreKind.allCases)
    func nothingKeepsAContext(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        weak var parent: ManagedObjectContext?
        weak var child: ManagedObjectContext?
        weak var object: ManagedObject?
        func use() throws {
            let context = stack.newContext()
            context.undoStack = UndoStack()
            let nested = context.newChildContext()
            let (ada, department) = (nested.employee("ada"), nested.department("d"))
            ada.department = department
            ada.friends.insert(ada)
            ada.spouse = ada
            try nested.save()
            try context.save()
            context.undo()
            context.redo()
            (parent, child, object) = (context, nested, try context.fetch(FetchRequest<Employee>()).first)
            #expect(object != nil)
        }
        try use()
        #expect(parent == nil && child == nil && object == nil)
    }
}
