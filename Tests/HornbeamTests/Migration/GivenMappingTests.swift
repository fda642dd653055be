import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Mapping models that an app writes itself: they are checked like inferred ones, before a store is opened.
@Suite struct GivenMappingTests {
    private static func model(_ attributes: [AttributeDescription], _ more: [Entity] = []) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [Entity("Item", attributes: attributes)] + more)
    }

    private static func problems(_ first: ManagedObjectModel, _ second: ManagedObjectModel, _ mappings: [EntityMapping]) -> [String] {
        let error = hornbeamError { _ = try MigrationPlan([.mapping(MappingModel(from: first, to: second, entityMappings: mappings))]) }
        #expect(error?.code == .invalidMigrationPlan)
        return error?.details.map { $0.message.replacing(/Stage 1, .*?: Item/, with: "Item") } ?? []
    }

    private static func transform(_ first: ManagedObjectModel, _ second: ManagedObjectModel, _ mappings: [PropertyMapping]) -> EntityMapping {
        EntityMapping(
            .transform, from: first.entitiesByName["Item"], to: second.entitiesByName["Item"], attributeMappings: mappings)
    }

    @Test(
        "MIG-6: a value is not read as another type",
        arguments: [
            (.integer64, .double), (.integer64, .date), (.string, .binary), (.string, .uri), (.decimal, .string), (.string, .integer64),
        ] as [(AttributeType, AttributeType)])
    func typesAreEqual(before: AttributeType, after: AttributeType) throws {
        let first = try Self.model([AttributeDescription("n", before, optional: true)])
        let second = try Self.model([AttributeDescription("n", after, optional: true)])
        let problems = Self.problems(first, second, [Self.transform(first, second, [PropertyMapping("n", from: .property("n"))])])
        #expect(problems.count == 1 && problems[0].contains("Item.n: Its type was \(before) and is \(after) now"))
    }

    @Test("MIG-6: two mappings do not keep the objects of one entity, and no entity is left out; all problems are listed")
    func entitiesAreMappedOnce() throws {
        let name = [AttributeDescription("name", .string, optional: true)]
        let first = try Self.model(name, [Entity("Tag", attributes: name)])
        let second = try Self.model(name, [Entity("Copy", attributes: name)])
        let source = first.entitiesByName["Item"]
        let keep = [PropertyMapping("name", from: .property("name"))]
        let problems = Self.problems(
            first, second,
            second.entities.map { EntityMapping(.transform, from: source, to: $0, attributeMappings: keep) })
        #expect(problems.count == 2)
        #expect(problems.contains { $0.contains("it keeps the objects of “Item”, and so does Item->Item") })
        #expect(problems.contains { $0.contains("“Tag” has no mapping") })
    }

    @Test("MIG-6: a required attribute has a source; a default value exists; a derivation belongs to a derived attribute")
    func requiredAttributesHaveSources() throws {
        let first = try Self.model([AttributeDescription("name", .string, optional: true)])
        let second = try Self.model(["name", "isbn", "code", "left"].map { AttributeDescription($0, .string) })
        let problems = Self.problems(
            first, second,
            [
                Self.transform(
                    first, second,
                    [
                        PropertyMapping("name", from: .property("name")), PropertyMapping("isbn", from: .defaultValue),
                        PropertyMapping("code", from: .derivation),
                    ])
            ])
        #expect(problems.count == 4, "\(problems)")
        for key in ["Item.name:", ", isbn:", ", code:", ", left:"] { #expect(problems.count { $0.contains(key) } == 1, "\(key) \(problems)") }
        let inferred = hornbeamError {
            _ = try MappingModel(
                from: first, to: Self.model([AttributeDescription("name", .string, optional: true), AttributeDescription("isbn", .string)]),
                changing: [EntityMapping(to: "Item", [PropertyMapping("isbn", from: .defaultValue)])])
        }
        #expect(inferred?.details.map(\.message) == ["Item->Item, isbn: it is required and has no default value; name another source."])
        let derived = hornbeamError {
            _ = try MappingModel(
                from: first, to: first, changing: [EntityMapping(to: "Item", [PropertyMapping("name", from: .derivation)])])
        }
        #expect(derived?.details.map(\.message) == ["Item->Item, name: the attribute is not derived; name another source."])
    }

    @Test("MIG-6: a mapping that fits is executed: renamed, converted, added, removed")
    func fittingMappingIsExecuted() throws {
        let first = try Self.model(
            [AttributeDescription("n", .integer64), AttributeDescription("t", .string, optional: true)], [Entity("Tag", attributes: [])])
        let second = try Self.model(
            [AttributeDescription("m", .double), AttributeDescription("u", .string, optional: true), AttributeDescription("d", .integer16, default: 7)],
            [Entity("Shelf", attributes: [])])
        let mapping = MappingModel(
            from: first, to: second,
            entityMappings: [
                Self.transform(
                    first, second,
                    [
                        PropertyMapping("m", from: .converted("n")), PropertyMapping("u", from: .property("t")),
                        PropertyMapping("d", from: .defaultValue),
                    ]),
                EntityMapping(.add, from: nil, to: second.entitiesByName["Shelf"]), EntityMapping(.remove, from: first.entitiesByName["Tag"], to: nil),
            ])
        let store = try MigratedStore()
        try store.with(first) { (context) throws in try context.insert("Item", ["n": 3, "t": "x"]) }
        try store.with(MigrationPlan([.mapping(mapping)])) { (context) throws in
            #expect(try context.values("Item", "m") == [3.0])
            #expect(try context.values("Item", "u") == ["x"])
            #expect(try context.values("Item", "d") == [7])
        }
    }
}
