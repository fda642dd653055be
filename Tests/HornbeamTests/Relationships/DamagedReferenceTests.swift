import Foundation
import HornbeamEngine
import Testing

@testable import Hornbeam
@testable import HornbeamStore

/// Objects whose rows have damaged references.
@Suite struct DamagedReferenceTests {
    @Test("a reference with the number of an object of another entity leads to a missing object, and that object stays in its context")
    func referenceToAnotherEntity() throws {
        let stack = try Company.stack(.inMemory)
        let setup = stack.newContext()
        let employee = setup.employee("e")
        employee.department = setup.department("d")
        try setup.save()
        let id = employee.objectID
        try damage(employee, "department", key: id.reference, in: stack)
        let context = stack.newContext()
        let read = try #require(try context.fetch(FetchRequest<Employee>()).first)
        let missing = try #require(read.department)
        #expect(missing.entity.name == "Department" && missing.name == "" && missing.managedObjectContext == nil)
        #expect(context.registeredObject(for: id) === read)
        #expect(try context.fetch(FetchRequest<Employee>()) == [read] && read.name == "e")
        #expect(try context.fetch(FetchRequest<Employee>().where("department.name == 'd'")) == [])
    }

    /// Writes another key into the cell of a to-one.
    private func damage(_ object: ManagedObject, _ name: String, key: UInt64, in stack: Stack) throws {
        let store = try #require(stack.container.persistentStoreCoordinator.stack.only)
        let entity = try store.model.entity(named: object.entity.name)
        let table = store.schema.table(entity)
        let column = table.column(try entity.property(named: name))
        let transaction = try store.engine.begin()
        try withUnsafeBytes(of: key.littleEndian) {
            try transaction.patch(column.column, of: [object.objectID.reference], values: $0, in: table.tree)
        }
        _ = try transaction.commit()
    }
}
