import Foundation
import Hornbeam
import HornbeamStore
import Synchronization
import Testing

/// Stages with explicit mappings.
@Suite struct EntityMappingTests {
    private static let first = try! ManagedObjectModel {
        Entity("Item") {
            Attribute("name", .string)
            Attribute("price", .double, optional: true)
            Attribute("count", .string, optional: true)
            Attribute("isOld", .boolean, default: false)
            ToMany("parts", to: "Part", inverse: "item")
        }
        Entity("Part") {
            Attribute("name", .string)
            Attribute("weight", .integer32, default: 1)
            ToOne("item", to: "Item", inverse: "parts")
        }
    }

    private static func fill(_ store: MigratedStore) throws {
        try store.with(first) { (context) throws in
            for (name, price, count) in [("chair", 12.5, "4"), ("lamp", 80, "2"), ("table", 250.25, nil as String?)] {
                let item = try context.insert("Item", ["name": .string(name), "price": .double(price), "count": count.map { .string($0) } ?? .null])
                try item.setValue(.bool(name == "lamp"), forKey: "isOld")
                for number in 1 ... 2 {
                    let part = try context.insert("Part", ["name": .string("\(name) \(number)"), "weight": .int(Int64(number))])
                    try part.setValue(item, forKey: "item")
                }
            }
        }
    }

    @Test("MIG-6, MIG-7: expressions, conversions and closures make values from old objects while rows are rewritten")
    func valuesAreComputed() throws {
        let second = try ManagedObjectModel {
            Entity("Item") {
                Attribute("name", .string)
                Attribute("price", .decimal, optional: true)
                Attribute("count", .integer16, default: 1)
                Attribute("total", .double)
                Attribute("weight", .integer64, indexed: true)
                Attribute("label", .string, unique: true)
                Attribute("partNames", .integer16)
                ToMany("parts", to: "Part", inverse: "item")
            }
            Entity("Part") {
                Attribute("name", .string)
                Attribute("itemName", .string, optional: true)
                ToOne("item", to: "Item", inverse: "parts")
            }
        }
        let mapping = try MappingModel(
            from: Self.first, to: second,
            changing: [
                EntityMapping(
                    to: "Item",
                    [
                        PropertyMapping("price", from: .converted("price")), PropertyMapping("count", from: .converted("count")),
                        try PropertyMapping("total", "price * 2 + 1"), try PropertyMapping("weight", "$source.parts.@sum.weight"),
                        try PropertyMapping("partNames", "parts.@count"),
                        PropertyMapping("label") { item in
                            guard case .object(let item) = item, case .value(.string(let name)) = try item.evaluatedValue(forKey: "name") else { return .null }
                            return .string(name.uppercased())
                        },
                    ]),
                EntityMapping(to: "Part", [try PropertyMapping("itemName", "item.name")]),
            ])
        #expect(
            mapping.description == """
                Item: changed
                  ~ price, converted
                  ~ count, converted
                  + total, computed: price * 2 + 1
                  + weight, computed: $source.parts.@sum.weight
                  + label, computed by a closure
                  + partNames, computed: parts.@count
                  - isOld, removed
                Part: changed
                  + itemName, computed: item.name
                  - weight, removed
                """)
        let store = try MigratedStore()
        try Self.fill(store)
        try store.with(MigrationPlan([.mapping(mapping)])) { (context) throws in
            #expect(try context.values("Item", "price", sortedBy: "name") == [.decimal(12.5), .decimal(80), .decimal(250.25)])
            #expect(try context.values("Item", "count", sortedBy: "name") == [4, 2, 1])
            #expect(try context.values("Item", "total", sortedBy: "name") == [26.0, 161.0, 501.5])
            #expect(try context.values("Item", "weight", sortedBy: "name") == [3, 3, 3])
            #expect(try context.values("Item", "label", sortedBy: "name") == ["CHAIR", "LAMP", "TABLE"])
            #expect(try context.values("Item", "partNames") == [2, 2, 2])
            #expect(try context.values("Part", "itemName", sortedBy: "name") == ["chair", "chair", "lamp", "lamp", "table", "table"])
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Item").where("weight == 3 AND ANY parts.name == 'lamp 2'")) == 1)
        }
    }

    @Test("MIG-6: values that an expression cannot compute are reported with their objects, and nothing changes")
    func valuesThatCannotBeComputedAreNamed() throws {
        var definition = Self.first.definition
        definition.entities[0].attributes += [AttributeDescription("size", .integer16), AttributeDescription("code", .integer16, optional: true)]
        let second = try ManagedObjectModel(definition)
        let mapping = try MappingModel(
            from: Self.first, to: second,
            changing: [EntityMapping(to: "Item", [try PropertyMapping("size", "CAST(count, 'NSNumber')"), try PropertyMapping("code", "name")])])
        let store = try MigratedStore()
        try Self.fill(store)
        let error = try #require(hornbeamError { _ = try store.open(MigrationPlan([.mapping(mapping)])) })
        #expect(error.code == .migrationConstraintViolation)
        #expect(error.details.filter { $0.key == "size" }.map(\.code) == [.missingRequiredValue])
        #expect(error.details.filter { $0.key == "code" }.map(\.value) == ["chair", "lamp", "table"])
        #expect(error.details.allSatisfy { $0.objectIDs.count == 1 })
        try store.with(Self.first) { (context) throws in #expect(try context.values("Item", "name") == ["chair", "lamp", "table"]) }
    }

    /// Splits items into new and old ones, and records the hooks.
    private final class Recording: EntityMigrationPolicy {
        static let calls = Mutex<[String]>([])
        private func note(_ name: String) { Self.calls.withLock { $0.append(name) } }

        override func begin(_ mapping: EntityMapping, _ migration: CustomMigration) throws { note("begin") }

        override func createDestinationInstances(
            for source: ManagedObject, in mapping: EntityMapping, _ migration: CustomMigration
        ) throws {
            note("create")
            try super.createDestinationInstances(for: source, in: mapping, migration)
        }

        override func endInstanceCreation(_ mapping: EntityMapping, _ migration: CustomMigration) throws { note("end of creation") }

        override func createRelationships(
            from source: ManagedObject, to destination: ManagedObject, in mapping: EntityMapping, _ migration: CustomMigration
        ) throws {
            note("relate")
            try super.createRelationships(from: source, to: destination, in: mapping, migration)
        }

        override func endRelationshipCreation(_ mapping: EntityMapping, _ migration: CustomMigration) throws { note("end of relationships") }
        override func performCustomValidation(_ mapping: EntityMapping, _ migration: CustomMigration) throws { note("validate") }
        override func end(_ mapping: EntityMapping, _ migration: CustomMigration) throws { note("end") }
    }

    private final class Refusing: EntityMigrationPolicy {
        struct Reason: Error {}

        override func performCustomValidation(_ mapping: EntityMapping, _ migration: CustomMigration) throws { throw Reason() }
    }

    private static func split() throws -> MappingModel {
        let second = try ManagedObjectModel {
            Entity("Item") {
                Attribute("name", .string)
                Attribute("price", .double, optional: true)
                Attribute("count", .string, optional: true)
                ToMany("parts", to: "Part", inverse: "item")
            }
            Entity("Antique") {
                Attribute("title", .string)
                Attribute("value", .decimal)
                ToMany("pieces", to: "Part", inverse: "antique")
            }
            Entity("Part") {
                Attribute("name", .string)
                Attribute("weight", .integer32, default: 1)
                ToOne("item", to: "Item", inverse: "parts")
                ToOne("antique", to: "Antique", inverse: "pieces")
            }
        }
        return try MappingModel(
            from: first, to: second,
            changing: [
                EntityMapping(to: "Item", where: try FetchPredicate(format: "isOld == NO")),
                EntityMapping(
                    to: "Antique", from: "Item", kind: .custom, where: try FetchPredicate(format: "isOld == YES"),
                    [
                        PropertyMapping("title", from: .property("name")), try PropertyMapping("value", "price * 10"),
                        try PropertyMapping("pieces", "parts"),
                    ]),
            ])
    }

    @Test("MIG-6, MIG-8, MIG-9: an entity is split by predicates and policies; hooks are called in three passes")
    func entitiesAreSplitByPolicies() throws {
        let store = try MigratedStore()
        try Self.fill(store)
        Recording.calls.withLock { $0 = [] }
        let plan = try MigrationPlan([.mapping(Self.split(), policies: ["Item->Antique": Recording.self], label: "antiques")])
        try store.with(plan) { (context) throws in
            #expect(try context.values("Item", "name") == ["chair", "table"])
            #expect(try context.values("Antique", "title") == ["lamp"])
            #expect(try context.values("Antique", "value") == [.decimal(800)])
            let lamp = try #require(try context.all("Antique").first)
            #expect(try lamp.objects(forKey: "pieces").count == 2)
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Part").where("item == nil AND antique != nil")) == 2)
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Part").where("item != nil AND antique == nil")) == 4)
        }
        #expect(
            Recording.calls.withLock(\.self) == [
                "begin", "create", "end of creation", "relate", "end of relationships", "validate", "end",
            ])
    }

    @Test("MIG-8: a policy that refuses is named with its mapping, and nothing changes")
    func policiesRefuse() throws {
        let store = try MigratedStore()
        try Self.fill(store)
        let plan = try MigrationPlan([.mapping(Self.split(), policies: ["Item->Antique": Refusing.self])])
        let error = try #require(hornbeamError { _ = try store.open(plan) })
        #expect(error.code == .entityMigrationPolicy)
        #expect(error.message.contains("“Item->Antique”") && error.underlyingError is Refusing.Reason)
        try store.with(Self.first) { (context) throws in
            #expect(try context.values("Item", "isOld", sortedBy: "name") == [false, true, false])
            #expect(try context.all("Part").count == 6)
        }
    }

    @Test("MIG-6: names that the models do not have, and expressions that do not fit, are all named")
    func mappingsThatDoNotFitAreRefused() throws {
        let error = hornbeamError {
            _ = try MappingModel(
                from: Self.first, to: Self.first,
                changing: [
                    EntityMapping(to: "Itm"), EntityMapping(to: "Part", from: "Item", where: try FetchPredicate(format: "born > 3")),
                    EntityMapping(
                        to: "Item",
                        [
                            PropertyMapping("title", from: .property("name")), PropertyMapping("price", from: .converted("prize")),
                            try PropertyMapping("name", "nam"), PropertyMapping("count", from: .empty), PropertyMapping("count", from: .code),
                            PropertyMapping("parts", from: .defaultValue),
                        ]),
                ])
        }
        #expect(error?.code == .invalidMigrationPlan)
        #expect(
            error?.details.map(\.message) == [
                "Itm->Itm: the new model has no entity “Itm” (did you mean “Item”?).",
                "Item->Part: The predicate does not fit the entity “Item”: “Item” has no property “born”.",
                "Item->Item: it keeps the objects of “Item”, and so does Item->Part; make one of them custom.",
                "Item->Item, title: the new entity stores no property of that name.",
                "Item->Item, price: “Item” stores no property “prize” (did you mean “price”?).",
                "Item->Item, name: The expression does not fit the entity “Item”: “Item” has no property “nam” (did you mean “name”?).",
                "Item->Item, count: an attribute has no inverse and is not empty; use its default value.",
                "Item->Item, count: the property is named twice.",
                "Item->Item, parts: a relationship has neither default value nor derivation.",
            ])
    }
}
