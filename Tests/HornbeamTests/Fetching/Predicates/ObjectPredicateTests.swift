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
}
