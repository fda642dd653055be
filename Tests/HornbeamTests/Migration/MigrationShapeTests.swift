import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Changes that need no change of rows: composites, derivations, modifiers.
@Suite struct MigrationShapeTests {
    private static func place(
        _ elements: [AttributeDescription], renamedFrom identifier: String? = nil, named name: String = "place"
    ) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.composites = [CompositeDescription("Place", elements)]
        definition.entities = [
            Entity(
                "Shop",
                attributes: [
                    AttributeDescription("name", .string),
                    AttributeDescription(name, .composite, optional: true, composite: "Place", renamedFrom: identifier),
                ])
        ]
        return try ManagedObjectModel(definition)
    }

    @Test("ATT-13, MIG-2: elements of a composite are added, removed and renamed; the attribute is renamed")
    func compositesMigrate() throws {
        let first = try Self.place([
            AttributeDescription("lat", .double), AttributeDescription("lon", .double), AttributeDescription("note", .string, optional: true),
        ])
        let second = try Self.place(
            [
                AttributeDescription("latitude", .double, renamedFrom: "lat"), AttributeDescription("lon", .double),
                AttributeDescription("height", .integer32, default: 7), AttributeDescription("city", .string, optional: true),
            ], renamedFrom: "place", named: "site")
        let store = try MigratedStore()
        try store.with(first) { (context) throws in
            try context.insert("Shop", ["name": "a", "place": .dictionary(["lat": 1.5, "lon": 2.5, "note": "x"])])
            try context.insert("Shop", ["name": "b"])
        }
        try store.with(second) { (context) throws in
            #expect(try context.values("Shop", "site", sortedBy: "name") == [.dictionary(["latitude": 1.5, "lon": 2.5, "height": 7]), .null])
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Shop").where("site.latitude == 1.5 AND site.height == 7")) == 1)
            try context.all("Shop", sortedBy: "name")[1].setValue(.dictionary(["latitude": 3.0, "lon": 4.0, "height": 1, "city": "Ulm"]), forKey: "site")
        }
        try store.with(second) { (context) throws in
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Shop").where("site.city == 'Ulm'")) == 1)
        }
    }

    @Test("ATT-13, MIG-3: the type of an element needs code, which reads the old composite and writes the new one")
    func elementTypesNeedCode() throws {
        let first = try Self.place([AttributeDescription("lat", .string, optional: true)])
        let second = try Self.place([AttributeDescription("lat", .double, optional: true)])
        let store = try MigratedStore()
        try store.with(first) { (context) throws in try context.insert("Shop", ["name": "a", "place": .dictionary(["lat": "1.5"])]) }
        #expect(hornbeamError { _ = try store.open(second) }?.details.map(\.key) == ["place.lat"])
        let plan = try MigrationPlan([
            .custom(from: first, to: second) { migration in
                try migration.forEach("Shop") { (old: ManagedObject, new: ManagedObject) in
                    guard case .dictionary(let place) = try old.value(forKey: "place") else { return }
                    try new.setValue(.dictionary(["lat": place["lat"]?.converted(to: .double) ?? .null]), forKey: "place")
                }
            }
        ])
        try store.with(plan) { (context) throws in #expect(try context.values("Shop", "place", sortedBy: "name") == [.dictionary(["lat": 1.5])]) }
    }

    private static func team(_ derivations: [AttributeDescription], _ change: (inout ModelDefinition) -> Void = { _ in }) throws -> ManagedObjectModel {
        var definition = try ManagedObjectModel {
            Entity("Team") {
                Attribute("name", .string)
                ToMany("players", to: "Player", inverse: "team")
            }
            Entity("Player") {
                Attribute("name", .string)
                Attribute("points", .integer32, default: 0)
                ToOne("team", to: "Team", inverse: "players")
            }
        }.definition
        definition.entities[0].attributes += derivations
        change(&definition)
        return try ManagedObjectModel(definition)
    }

    private static func fillTeam(_ context: ManagedObjectContext) throws {
        let team = try context.insert("Team", ["name": "Ärzte"])
        try context.insert("Team", ["name": "none"])
        for (name, points) in [("a", 3), ("b", 4)] {
            try context.insert("Player", ["name": .string(name), "points": .int(Int64(points))]).setValue(team, forKey: "team")
        }
    }

    private static func derived(_ name: String, _ type: AttributeType, _ derivation: String) throws -> AttributeDescription {
        AttributeDescription(name, type, optional: true, derivation: derivation)
    }

    @Test("ATT-11, MIG-2: derivations are added, changed, renamed and removed; values follow")
    func derivationsMigrate() throws {
        let store = try MigratedStore()
        let first = try Self.team([Self.derived("size", .integer32, "players.@count"), Self.derived("key", .string, "lowercase:(name)")])
        try store.with(first, Self.fillTeam)
        var total = try Self.derived("total", .integer64, "players.points.@sum")
        total.isOptional = true
        let second = try Self.team([total, try Self.derived("key", .string, "canonical:(name)")])
        try store.with(second) { (context) throws in
            #expect(Set(try context.values("Team", "total")) == [0, 7])
            #expect(Set(try context.values("Team", "key")) == ["arzte", "none"])
            try context.all("Player", sortedBy: "name")[0].setValue(10, forKey: "points")
        }
        try store.with(second) { (context) throws in
            #expect(try context.count(FetchRequest<ManagedObject>(entityName: "Team").where("total == 14")) == 1)
        }
        try store.with(Self.team([])) { (context) throws in #expect(try context.all("Team").count == 2) }
    }

    @Test("ATT-11, MIG-11: a custom stage that writes values updates the derived attributes of the new version")
    func derivationsFollowCustomStages() throws {
        let store = try MigratedStore()
        let first = try Self.team([])
        try store.with(first, Self.fillTeam)
        let second = try Self.team([Self.derived("total", .integer64, "players.points.@sum")])
        let plan = try MigrationPlan([
            .custom(from: first, to: second) { migration in
                try migration.forEach("Player") { (old: ManagedObject, new: ManagedObject) in
                    guard case .int(let points) = try old.value(forKey: "points") else { return }
                    try new.setValue(.int(points * 100), forKey: "points")
                }
            }
        ])
        try store.with(plan) { (context) throws in
            #expect(Set(try context.values("Team", "total")) == [700, 0])
        }
    }

    @Test("MOD-12, MDL-9: a version hash modifier alone makes another version, which touches no row", arguments: ["entity", "attribute", "relationship"])
    func modifiersMakeVersions(of part: String) throws {
        let store = try MigratedStore()
        let first = try Self.team([])
        try store.with(first, Self.fillTeam)
        let second = try Self.team([]) { definition in
            switch part {
            case "entity": definition.entities[0].versionHashModifier = "2"
            case "attribute": definition.entities[1].attributes[1].versionHashModifier = "2"
            default: definition.entities[0].relationships[0].versionHashModifier = "2"
            }
        }
        #expect(first.versionChecksum != second.versionChecksum)
        let plan = try #require(try store.plan(second))
        #expect(plan.takesConstantTime && plan.steps.allSatisfy { $0.way == .unchanged || $0.way == .altered })
        try store.with(second) { (context) throws in #expect(try context.values("Player", "points") == [3, 4]) }
        #expect(hornbeamError { _ = try store.open(first) }?.code == .stagedMigrationBackwards)
        // The same change with code: the version tells the store that the stage is complete.
        let third = try Self.team([]) { $0.entities[0].versionHashModifier = "3" }
        let staged = try MigrationPlan([
            .custom(from: second, to: third) { migration in
                try migration.forEach("Player") { (_: ManagedObject, new: ManagedObject) in try new.setValue(9, forKey: "points") }
            }
        ])
        try store.with(staged) { (context) throws in #expect(try context.values("Player", "points") == [9, 9]) }
        try store.with(third) { (context) throws in try context.all("Player")[0].setValue(1, forKey: "points") }
        try store.with(staged) { (context) throws in #expect(try context.values("Player", "points") == [1, 9]) }
    }
}
