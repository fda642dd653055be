import Foundation
import Hornbeam
import Testing

/// Pairs of versions made for the rules that no pair of the real apps' models has: each change alone, and its verdict.
@Suite struct MadePairTests {
    /// A change of the first version, and the reasons why its mapping cannot be inferred; none when it can.
    struct Pair: Sendable, CustomStringConvertible {
        let description: String
        var obstacles: [String] = []
        let change: @Sendable (inout ModelDefinition) -> Void
    }

    private static func first() -> ModelDefinition {
        var definition = ModelDefinition()
        definition.composites = [CompositeDescription("Place", [AttributeDescription("lat", .double, optional: true)])]
        definition.entities = [
            Entity(
                "Person",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("size", .integer32, optional: true),
                    AttributeDescription("place", .composite, optional: true, composite: "Place"),
                ],
                relationships: [RelationshipDescription("houses", to: "House", inverse: "owner", toMany: true)]),
            Entity(
                "House", attributes: [AttributeDescription("street", .string, optional: true)],
                relationships: [
                    RelationshipDescription("owner", to: "Person", inverse: "houses"), RelationshipDescription("shed", to: "Shed"),
                    RelationshipDescription("twins", to: "House", toMany: true),
                ]),
            Entity("Shed", attributes: ["street", "color"].map { AttributeDescription($0, .string, optional: true) }),
        ]
        return definition
    }

    private static let pairs: [Pair] = [
        Pair(description: "an attribute is added, removed and made optional") {
            $0.entities[0].attributes = [AttributeDescription("name", .string, optional: true), AttributeDescription("age", .integer16, optional: true)]
        },
        Pair(description: "optional becomes required with a default") {
            ($0.entities[0].attributes[1].isOptional, $0.entities[0].attributes[1].defaultValue) = (false, 7)
        },
        Pair(description: "a to-one becomes a to-many") { $0.entities[1].relationships[1].isToMany = true; $0.entities[1].relationships[1].maxCount = 0 },
        Pair(description: "a to-many gets an order") { $0.entities[1].relationships[2].isOrdered = true },
        Pair(description: "a relationship gets an inverse to-many") {
            $0.entities[1].relationships[1].inverseName = "houses"
            $0.entities[2].relationships = [RelationshipDescription("houses", to: "House", inverse: "shed", toMany: true)]
        },
        Pair(description: "an entity gets a parent") { $0.entities[2].superentityName = "House"; $0.entities[2].attributes = [] },
        Pair(description: "an entity and a property get other names") {
            ($0.entities[2].name, $0.entities[2].renamingIdentifier) = ("Hut", "Shed")
            ($0.entities[2].attributes[0].name, $0.entities[2].attributes[0].renamingIdentifier) = ("lane", "street")
            $0.entities[1].relationships[1].destinationEntityName = "Hut"
        },
        Pair(description: "two attributes exchange their names") {
            ($0.entities[2].attributes[0].renamingIdentifier, $0.entities[2].attributes[1].renamingIdentifier) = ("color", "street")
        },
        Pair(
            description: "the type of an attribute",
            obstacles: [
                "Person.size: Its type was integer32 and is string now. Values are not converted automatically: give the new attribute another name, and "
                    + "convert in code."
            ]
        ) { $0.entities[0].attributes[1].type = .string },
        Pair(
            description: "a new required attribute",
            obstacles: [
                "Person.age: Existing objects may have no value for it: it is new, and required. Give it a default value, or make it optional."
            ]
        ) { $0.entities[0].attributes.append(AttributeDescription("age", .integer16)) },
        Pair(
            description: "optional becomes required",
            obstacles: [
                "House.street: Existing objects may have no value for it: it was optional and is required now. Give it a default value, or make it optional."
            ]
        ) { $0.entities[1].attributes[0].isOptional = false },
        Pair(
            description: "a to-many becomes a to-one",
            obstacles: ["House.twins: It was to many and is to one now: code must choose the object that remains."]
        ) { ($0.entities[1].relationships[2].isToMany, $0.entities[1].relationships[2].maxCount) = (false, 1) },
        Pair(
            description: "an attribute becomes a relationship",
            obstacles: ["House.street: It was an attribute and is a relationship now. Give it another name."]
        ) {
            $0.entities[1].attributes = []
            $0.entities[1].relationships.append(RelationshipDescription("street", to: "Shed"))
        },
        Pair(
            description: "a relationship becomes an attribute",
            obstacles: ["House.shed: It was a relationship and is an attribute now. Give it another name."]
        ) {
            $0.entities[1].relationships.remove(at: 1)
            $0.entities[1].attributes.append(AttributeDescription("shed", .string, optional: true))
        },
        Pair(
            description: "an entity is split by names",
            obstacles: [
                "Tent: “Tent” is renamed from “Shed”, and so is another entity. One entity has one successor; splitting it requires code."
            ]
        ) {
            ($0.entities[2].name, $0.entities[2].renamingIdentifier) = ("Hut", "Shed")
            $0.entities[1].relationships[1].destinationEntityName = "Hut"
            $0.entities.append(Entity("Tent", renamedFrom: "Shed"))
        },
        Pair(
            description: "a property is split by names",
            obstacles: [
                "Shed.way: “way” is renamed from “street”, and so is another property. Only one of them can be."
            ]
        ) {
            $0.entities[2].attributes = ["lane", "way"].map { AttributeDescription($0, .string, optional: true, renamedFrom: "street") }
        },
        Pair(
            description: "a relationship leads elsewhere",
            obstacles: ["House.shed: It led to Shed and leads to Person now, which objects of Shed are not."]
        ) { $0.entities[1].relationships[1].destinationEntityName = "Person" },
        Pair(
            description: "a new inverse to one",
            obstacles: ["House.shed: Its inverse “house” is new and to one: code must choose its object."]
        ) {
            $0.entities[1].relationships[1].inverseName = "house"
            $0.entities[2].relationships = [RelationshipDescription("house", to: "House", inverse: "shed")]
        },
        Pair(
            description: "the type of an element of a composite",
            obstacles: ["Person.place.lat: The element's type was double and is string now. Give the new element another name, and convert in code."]
        ) { $0.composites = [CompositeDescription("Place", [AttributeDescription("lat", .string, optional: true)])] },
    ]

    @Test("MIG-2, MIG-3: each change alone is migrated with its data, or refused with its reason and the store unchanged", arguments: pairs)
    func everyRuleHasItsVerdict(pair: Pair) throws {
        let old = try ManagedObjectModel(Self.first())
        var definition = Self.first()
        pair.change(&definition)
        let new = try ManagedObjectModel(definition)
        let store = TemporaryStore()
        let before = try store.with(old) { (context) throws in
            try FilledObjects.insert(into: context, old)
            return try PlainObjects(context, old)
        }
        if pair.obstacles.isEmpty {
            let mapping = try MappingModel.inferred(from: old, to: new)
            let after = try store.with(new) { (context) throws in try PlainObjects(context, new) }
            #expect(after.objects.count == before.objects.count)
            var expected = before.migrated(by: mapping)
            if pair.description.contains("inverse") { expected = try expected.withInverse("shed", "houses") }
            #expect(after == expected)
            return
        }
        let error = #expect(throws: HornbeamError.self) { try MappingModel.inferred(from: old, to: new) }
        #expect(error?.details.map(\.message) == pair.obstacles)
        let refusal = #expect(throws: HornbeamError.self) { try store.with(new) { _ in } }
        #expect(refusal?.code == .inferredMappingFailed)
        #expect(refusal?.details.map(\.message) == pair.obstacles)
        try store.with(old) { (context) throws in #expect(try PlainObjects(context, old) == before) }
    }
}

extension PlainObjects {
    /// With a new inverse that is made from its relationship.
    fileprivate func withInverse(_ relationship: String, _ inverse: String) throws -> PlainObjects {
        var result = self
        for (name, object) in objects.sorted(by: { $0.key < $1.key }) where object.entity == "House" {
            for target in object.links[relationship] ?? [] { result.objects[target]?.links[inverse, default: []].append(name) }
        }
        return result
    }
}
