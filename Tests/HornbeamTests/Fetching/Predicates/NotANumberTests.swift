import Foundation
import Hornbeam
import Testing

/// Values that are not a number in predicates.
@Suite struct NotANumberTests {
    @Test("ATT-20: a decimal that is not a number has no order and equals nothing, with an index and without, stored or not", arguments: [false, true])
    func decimals(isIndexed: Bool) throws {
        let container = try PersistentContainer(
            name: "Test",
            model: ManagedObjectModel {
                Entity("Row") {
                    Attribute("id", .integer64, default: 0)
                    Attribute("number", .decimal, optional: true, indexed: isIndexed)
                }
            })
        container.persistentStoreDescriptions = [.inMemory()]
        try container.loadPersistentStores()
        let context = container.newContext()
        let numbers: [Decimal?] = [nil, .nan, -1, 0, 2]
        for (id, number) in numbers.enumerated() {
            let row = try context.insert(entityNamed: "Row")
            try row.setValue(.int(Int64(id)), forKey: "id")
            try row.setValue(number.map { .decimal($0) } ?? .null, forKey: "number")
        }
        for isStored in [false, true] {
            if isStored { try context.save() }
            func ids(_ comparator: FetchPredicate.Comparator, _ constant: PropertyValue) throws -> [PropertyValue] {
                let node = FetchPredicate.Node.comparison(.init(.keyPath(.evaluatedObject, [.name("number")]), comparator, .constant(constant)))
                return try context.fetch(FetchRequest<ManagedObject>(entityName: "Row", predicate: FetchPredicate(node: node), sortedBy: [FetchSort("id")]))
                    .map { try $0.value(forKey: "id") }
            }
            #expect(try ids(.lessThan, .decimal(2)) == [2, 3])
            #expect(try ids(.lessThanOrEqual, .int(0)) == [2, 3])
            #expect(try ids(.greaterThan, .decimal(-1)) == [3, 4])
            #expect(try ids(.notEqual, .decimal(0)) == [0, 1, 2, 4])
            for comparator in [.equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual] as [FetchPredicate.Comparator] {
                #expect(try ids(comparator, .decimal(.nan)) == [], "\(comparator)")
            }
            #expect(try ids(.notEqual, .decimal(.nan)) == [0, 1, 2, 3, 4])
            #expect(try ids(.between, .array([.decimal(-5), .decimal(5)])) == [2, 3, 4])
        }
    }
}
