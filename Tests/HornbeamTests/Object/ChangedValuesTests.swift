import Foundation
import Hornbeam
import Testing

@Suite struct ChangedValuesTests {
    @Test("OBJ-10, OBJ-14: of a new object the properties that were set are changed, not those that were not (object.010)",
          arguments: Setting.all.filter { !$0.isSaved })
    func newObjects(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let employee = Employee(context: context)
        try setting.prepare(context)
        #expect(employee.changedValues.isEmpty && !employee.hasPersistentChangedValues && employee.hasChanges)
        employee.name = "Ada"
        let department = context.department("d")
        employee.department = department
        #expect(employee.changedValues == ["name": "Ada", "department": .objectID(department.objectID)])
        #expect(department.changedValues == ["name": "d", "employees": .set([.objectID(employee.objectID)])])
        #expect(employee.hasPersistentChangedValues)
        try context.save()
        #expect(employee.changedValues.isEmpty && !employee.hasPersistentChangedValues)
    }

    @Test("OBJ-8, OBJ-10: primitive values are no changes, and are stored with the next change (object.011)", arguments: Setting.all)
    func primitiveValues(setting: Setting) throws {
        let stack = try Company.stack(setting.kind)
        let context = setting.context(of: stack)
        let employee = context.employee("e")
        try setting.prepare(context)
        let before = employee.changedValues
        employee.setPrimitiveValue(7, Employee.salary)
        #expect(employee.salary == 7 && employee.changedValues == before)
        employee.name = "f"
        #expect(employee.changedValues["salary"] == before["salary"] && employee.changedValues["name"] == "f")
        try context.saveToStore()
        #expect(try stack.newContext().existingObject(Employee.self, with: employee.objectID).salary == 7)
    }
}
