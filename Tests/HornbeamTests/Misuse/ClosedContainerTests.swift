import Foundation
import Hornbeam
import Testing

/// Every call on a container that was closed, its contexts and their objects.
@Suite struct ClosedContainerTests {
    private struct Scene {
        let stack: Stack
        let context: ManagedObjectContext
        let employee: Employee
        let fault: Employee
        let department: Department

        /// A context with a read object, a fault and a department, whose container was closed.
        init(_ setting: Setting) throws {
            stack = try Company.stack(setting.kind)
            context = setting.context(of: stack)
            employee = context.employee("ada", salary: 3)
            department = context.department("d")
            department.employees.insert(employee)
            let other = context.employee("other")
            try context.saveToStore()
            try context.refresh(other, mergeChanges: false)
            fault = other
            if setting.isBusy { department.budget = 7 }
            try stack.container.close()
        }
    }

    @Test("Fetches, counts, saves, batches and new stores' calls of a closed container throw closed", arguments: Setting.saved)
    func callsThrow(setting: Setting) throws {
        let scene = try Scene(setting)
        let context = scene.context
        #expect(hornbeamError { _ = try context.fetch(FetchRequest<Employee>()) }?.code == .closed)
        #expect(hornbeamError { _ = try context.count(FetchRequest<Employee>()) }?.code == .closed)
        #expect(hornbeamError { _ = try context.first(Employee.self, where: Employee.name, equals: "ada") }?.code == .closed)
        #expect(hornbeamError { _ = try context.execute(BatchDeleteRequest(Employee.self)) }?.code == .closed)
        scene.employee.name = "changed"
        #expect(hornbeamError { try context.saveToStore() }?.code == .closed)
        #expect(hornbeamError { try scene.stack.container.write { _ = $0.employee("x") } }?.code == .closed)
        #expect(hornbeamError { try scene.stack.container.read { _ = try $0.count(FetchRequest<Employee>()) } }?.code == .closed)
        context.rollback()
        context.reset()
        #expect(!context.hasChanges)
    }

    @Test("OBJ-19: getters of objects of a closed container return read values or zeros, and setters do not end the process", arguments: Setting.saved)
    func objectsAreReadable(setting: Setting) throws {
        let scene = try Scene(setting)
        #expect(["ada", ""].contains(scene.employee.name) && ["other", ""].contains(scene.fault.name))
        _ = (scene.employee.department, scene.fault.department, scene.department.employees.count, Array(scene.department.employees))
        _ = (scene.employee.description, scene.fault.isFault, scene.fault.hasChanges, scene.employee.changedValues)
        scene.fault.name = "x"
        scene.employee.department = nil
        scene.department.employees = [scene.fault]
        scene.context.delete(scene.employee)
        scene.context.delete(scene.employee)
        scene.context.undo()
        try? scene.context.refresh(scene.fault, mergeChanges: true)
        try? scene.context.refresh(scene.fault, mergeChanges: false)
        try? scene.fault.fire()
        scene.context.rollback()
    }

    @Test("Closing twice, and opening the store again, work", arguments: StoreKind.allCases)
    func closingTwice(kind: StoreKind) throws {
        let scene = try Scene(Setting(kind: kind))
        try scene.stack.container.close()
        #expect(throws: HornbeamError.self) { try scene.context.fetch(FetchRequest<Employee>()) }
    }
}
