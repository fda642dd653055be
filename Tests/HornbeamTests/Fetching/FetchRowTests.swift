import Foundation
import Hornbeam
import Testing

/// Rows of the table of fetch requests (section 1.19) that have no suite of their own.
@Suite("Rows about fetching") struct FetchRowTests {
    private func stack(_ kind: StoreKind) throws -> (Stack, ManagedObjectContext, [Employee]) {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let employees = (0..<6).map { context.employee("e\($0)", salary: $0 * 10) }
        try context.save()
        return (stack, context, employees)
    }

    @Test("FET-1: the entity is looked up when the request is run, by name or class", arguments: StoreKind.allCases)
    func entityIsLookedUpLate(kind: StoreKind) throws {
        let (_, context, employees) = try stack(kind)
        let unknown = FetchRequest<Employee>(entityName: "Employe")
        #expect(unknown.entityName == "Employe")
        let error = hornbeamError { _ = try context.fetch(unknown) }
        #expect(error?.code == .unknownEntity && error?.entity == "Employe")
        #expect(error?.message.contains("Employee") == true, "the nearest name is suggested")
        #expect(hornbeamError { _ = try context.count(unknown) }?.code == .unknownEntity)
        #expect(hornbeamError { _ = try context.fetchIDs(unknown) }?.code == .unknownEntity)
        #expect(try context.fetch(FetchRequest<Employee>()) == employees)
        #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee")) == employees)
        // The result's class must be that of the entity.
        let other = FetchRequest<Department>(entityName: "Employee").sorted(by: "name")
        #expect(hornbeamError { _ = try context.fetch(other) }?.code == .unboundClass)
        #expect(hornbeamError { _ = try context.fetchLazily(other) }?.code == .unboundClass)
        #expect(try context.fetchLazily(other.where("name == 'none'")).isEmpty)
        let controller = try FetchedResultsController(other.batches(of: 2), in: context)
        #expect(hornbeamError { try controller.performFetch() }?.code == .unboundClass)
    }

    @Test("FET-8, FET-9: a request without values reads IDs only; faults fire afterwards", arguments: StoreKind.allCases)
    func withoutValues(kind: StoreKind) throws {
        let (stack, _, employees) = try stack(kind)
        let fresh = stack.newContext()
        var request = FetchRequest<Employee>(sortedBy: [FetchSort("salary", ascending: false)])
        request.includesPropertyValues = false
        let found = try fresh.fetch(request)
        #expect(found.allSatisfy { $0.isFault })
        #expect(found.map(\.objectID) == employees.reversed().map(\.objectID))
        #expect(found.map(\.salary) == [50, 40, 30, 20, 10, 0])
        request.returnsObjectsAsFaults = false
        #expect(try stack.newContext().fetch(request).count == 6)
    }

    @Test("FET-18 (1.29, 11): a refreshing request updates registered objects to the stored values, except changed objects",
          arguments: StoreKind.allCases)
    func refreshing(kind: StoreKind) throws {
        let (stack, context, employees) = try stack(kind)
        let stale = stack.newStaleContext()
        let mine = try stale.fetch(FetchRequest<Employee>(sortedBy: [FetchSort("name")]))
        #expect(mine.map(\.salary) == [0, 10, 20, 30, 40, 50])
        mine[1].name = "mine"
        for employee in employees { employee.salary += 1 }
        try context.save()
        var request = FetchRequest<Employee>()
        #expect(try stale.fetch(request).map(\.salary) == [0, 10, 20, 30, 40, 50])
        request.shouldRefreshRefetchedObjects = true
        #expect(try stale.fetch(request).map(\.salary) == [1, 10, 21, 31, 41, 51])
        #expect(mine[1].name == "mine" && mine[1].hasChanges)
        stale.rollback()
        #expect(try stale.fetch(request).map(\.salary) == [1, 11, 21, 31, 41, 51])
    }

    @Test("FET-19, FET-24: a request belongs to no context: any context may execute it, also after encoding and decoding", arguments: StoreKind.allCases)
    func requestsAreValues(kind: StoreKind) async throws {
        let (stack, context, employees) = try stack(kind)
        let request = try FetchRequest<Employee>().where("salary BETWEEN {10, 40}").sorted(by: "salary").offset(1).limit(2)
        let expected = employees[2...3].map(\.objectID)
        #expect(try context.fetch(request).map(\.objectID) == expected)
        let coded = try JSONDecoder().decode(FetchRequest<Employee>.self, from: JSONEncoder().encode(request))
        #expect(coded == request)
        let elsewhere = try await stack.container.performBackgroundTask { try $0.fetch(coded).map(\.objectID) }
        #expect(elsewhere == expected)
        var copy = request
        copy.fetchLimit = 1
        #expect(request.fetchLimit == 2 && copy != request)
    }

    @Test("FET-20: a count is that of the results, limit, offset and unsaved changes included", arguments: StoreKind.allCases)
    func counting(kind: StoreKind) throws {
        let (_, context, employees) = try stack(kind)
        let request = try FetchRequest<Employee>().where("salary >= 20")
        #expect(try context.count(request) == 4)
        #expect(try context.count(request.limit(3)) == 3)
        #expect(try context.count(request.offset(3)) == 1)
        #expect(try context.count(request.offset(9)) == 0)
        employees[0].salary = 100
        context.delete(employees[5])
        context.employee("new", salary: 20)
        for changed in [request, request.limit(3), request.offset(3), request.offset(1).limit(2)] {
            #expect(try context.count(changed) == context.fetch(changed).count)
        }
        #expect(try context.count(request) == 5)
        #expect(hornbeamError { _ = try context.count(FetchRequest<Employee>().where("wages > 1")) }?.code == .predicateInvalid)
    }

    @Test("FET-22: a fetch reads the stores even if all objects are registered already", arguments: StoreKind.allCases)
    func storesAreAlwaysRead(kind: StoreKind) throws {
        let (stack, context, employees) = try stack(kind)
        try stack.container.performAndWait { other in
            other.employee("theirs", salary: 70)
            other.delete(try other.existingObject(with: employees[0].objectID))
            try other.save()
        }
        #expect(try context.fetch(FetchRequest<Employee>(sortedBy: [FetchSort("salary")])).map(\.name) == ["e1", "e2", "e3", "e4", "e5", "theirs"])
    }

    @Test("FET-23: fetching all objects, by condition, by a built request, by unique value, and testing existence", arguments: StoreKind.allCases)
    func helpers(kind: StoreKind) throws {
        let (_, context, employees) = try stack(kind)
        #expect(try context.fetch(FetchRequest<Employee>()) == employees)
        #expect(try context.fetch(FetchRequest<Employee>().where("name == %@", "e3")) == [employees[3]])
        let built = try FetchRequest<Employee>().where("salary > 0").where("salary < 30").sorted(by: "name", ascending: false)
        #expect(try context.fetch(built) == [employees[2], employees[1]])
        #expect(try context.count(FetchRequest<Employee>().where("name == 'e9'").limit(1)) == 0)
        #expect(try context.fetchIDs(built) == [employees[2].objectID, employees[1].objectID])
        #expect(try context.fetch(FetchRequest<Employee>().selectingIDs()) == employees.map(\.objectID))
    }
}
