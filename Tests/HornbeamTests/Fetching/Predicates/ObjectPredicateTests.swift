import Foundation
import Hornbeam
import Testing

/// Objects as values in predicates.
struct ObjectPredicateTests {
    @Test func objectsStandForTheirIDs() throws {
        let context = try Company.stack(.inMemory).newContext()
        let (ada, bob) = (context.employee("Ada"), context.employee("Bob"))
        ada.department = context.department("Engines")
        let engines = try #require(ada.department)
        ada.friends.insert(bob)
        try context.save()
        func names(_ predicate: FetchPredicate) throws -> [String] {
            try context.fetch(FetchRequest<Employee>().where(predicate).sorted(by: "name")).map(\.name)
        }
        #expect(try names(FetchPredicate(format: "SELF == %@", ada)) == ["Ada"])
        #expect(try names(FetchPredicate(format: "SELF IN %@", [ada, bob])) == ["Ada", "Bob"])
        #expect(try names(FetchPredicate(format: "department == %@ AND friends CONTAINS %@", engines, bob)) == ["Ada"])
        #expect(try names(Employee.department == engines) == ["Ada"])
        #expect(try names(Employee.department != engines) == ["Bob"])
        #expect(try names(Employee.department == nil) == ["Bob"])
        #expect(try names(Employee.friends.contains(ada)) == ["Bob"])
        #expect(try names(Employee.department[Department.name] == "Engines" && Employee.friends.count == 1) == ["Ada"])
    }

    @Test("PSC-12: IDs that were read from URIs find their objects in fetches and batches", arguments: StoreKind.allCases)
    func idsFromURIsFindTheirObjects(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        let ada = context.employee("Ada")
        let engines = context.department("Engines")
        ada.department = engines
        try context.save()
        let archive = try JSONEncoder().encode([ada.objectID, engines.objectID])
        let ids = try JSONDecoder().decode([ManagedObjectID].self, from: archive)
        let request = FetchRequest<Employee>()
        #expect(try context.fetch(request.where("SELF == %@", ids[0])) == [ada])
        #expect(try context.fetch(request.where("SELF IN %@", [ids[0]])) == [ada])
        #expect(try context.fetch(request.where("department == %@", ids[1])) == [ada])
        #expect(try context.count(FetchRequest<Department>().where("ANY employees == %@", ids[0])) == 1)
        try context.execute(BatchInsertRequest(entityName: "Employee", objects: [["name": "Bob", "department": .objectID(ids[1])]]))
        #expect(try context.count(request.where("department == %@", ids[1])) == 2)
    }
}
