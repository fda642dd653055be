import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Derived attributes whose expression stays while a migration changes the values that it reads.
@Suite struct DerivedSourcesTests {
    /// A change of the sources of derived attributes.
    enum Change: String, CaseIterable {
        case nothing, numberGetsDefault, indexedNumberGetsDefault, numberOfToOneGetsDefault, ownNumberGetsDefault, textOfToOneGetsDefault
        case membersAreRemoved, destinationIsRemoved, sourceComesFromAnother, sourceIsComputed, sourceIsConverted, sourceMovesUp
        case codeRunsBefore, codeRunsAfter
    }

    private static func definition() throws -> ModelDefinition {
        func attribute(_ name: String, _ type: AttributeType, _ derivation: String? = nil) -> AttributeDescription {
            AttributeDescription(name, type, optional: true, derivation: derivation)
        }
        var definition = ModelDefinition()
        definition.entities = [
            Entity(
                "Team",
                attributes: [
                    AttributeDescription("name", .string), attribute("level", .integer32), attribute("title", .integer32, "level"),
                    attribute("total", .integer64, "players.points.@sum"), attribute("size", .integer32, "players.@count"),
                    attribute("coachRank", .integer32, "coach.rank"), attribute("coachName", .string, "uppercase:(coach.name)"),
                    attribute("saved", .date, "now()"),
                ],
                relationships: [
                    RelationshipDescription("players", to: "Player", inverse: "team", toMany: true),
                    RelationshipDescription("coach", to: "Person"),
                ]),
            Entity("Person", attributes: [attribute("name", .string), attribute("rank", .integer32)]),
            Entity("Veteran", parent: "Person"),
            Entity(
                "Player", parent: "Person", attributes: [attribute("points", .integer32), attribute("bonus", .integer32)],
                relationships: [RelationshipDescription("team", to: "Team", inverse: "players")]),
            Entity("Substitute", parent: "Player"),
        ]
        return definition
    }

    private static func fill(_ context: ManagedObjectContext) throws {
        for number in 0 ..< 4 {
            let team = try context.insert("Team", ["name": .string("team \(number)"), "level": number == 2 ? .null : .int(Int64(number))])
            let coach = try context.insert(number == 1 ? "Veteran" : "Person", ["name": number == 2 ? .null : "Ada", "rank": number == 0 ? .null : 3])
            try team.setValue(coach, forKey: "coach")
            for player in 0 ..< number {
                let points: PropertyValue = player % 2 == 0 ? .null : .int(Int64(10 + player))
                let object = try context.insert(
                    player == 2 ? "Substitute" : "Player", ["name": "x", "points": points, "bonus": .int(Int64(100 * player))])
                try object.setValue(team, forKey: "team")
            }
        }
        try context.save()
    }

    /// The new version, and the stage that leads to it; nil for an inferred migration.
    private static func version(_ change: Change) throws -> (model: ManagedObjectModel, plan: MigrationPlan?) {
        let old = try ManagedObjectModel(definition())
        var definition = try definition()
        func edit(_ entity: Int, _ name: String, _ body: (inout AttributeDescription) -> Void) {
            guard let place = definition.entities[entity].attributes.firstIndex(where: { $0.name == name }) else { return }
            body(&definition.entities[entity].attributes[place])
        }
        func require(_ entity: Int, _ name: String, _ value: PropertyValue) {
            edit(entity, name) { ($0.isOptional, $0.defaultValue) = (false, value) }
        }
        var mapping: [EntityMapping] = []
        switch change {
        case .nothing, .codeRunsBefore, .codeRunsAfter: definition.entities[0].versionHashModifier = "2"
        case .numberGetsDefault: require(3, "points", 5)
        case .indexedNumberGetsDefault:
            require(3, "points", 5)
            definition.entities[3].fetchIndexes = [FetchIndexDescription("points", [FetchIndexElement("points")])]
        case .numberOfToOneGetsDefault: require(1, "rank", 8)
        case .ownNumberGetsDefault: require(0, "level", 9)
        case .textOfToOneGetsDefault: require(1, "name", "nobody")
        case .membersAreRemoved: definition.entities.remove(at: 4)
        case .destinationIsRemoved: definition.entities.remove(at: 2)
        case .sourceComesFromAnother:
            definition.entities[3].attributes = [AttributeDescription("points", .integer32, optional: true, renamedFrom: "bonus")]
        case .sourceIsComputed:
            mapping = [EntityMapping(to: "Player", [try PropertyMapping("points", "bonus * 2")])]
            definition.entities[3].versionHashModifier = "2"
        case .sourceIsConverted:
            edit(3, "points") { $0.type = .integer64 }
            mapping = [EntityMapping(to: "Player", [PropertyMapping("points", from: .converted("bonus"))])]
        case .sourceMovesUp:
            definition.entities[1].attributes.append(definition.entities[3].attributes.removeFirst())
        }
        let new = try ManagedObjectModel(definition)
        switch change {
        case .codeRunsBefore:
            let stage = MigrationStage.lightweight(from: old, to: new) { context in
                for player in try context.all("Player") { try player.setValue(50, forKey: "points") }
            }
            return (new, try MigrationPlan([stage]))
        case .codeRunsAfter:
            let stage = MigrationStage.custom(from: old, to: new) { migration in
                try migration.forEach("Player") { (_: ManagedObject, new: ManagedObject) in try new.setValue(60, forKey: "points") }
            }
            return (new, try MigrationPlan([stage]))
        default:
            return (new, mapping.isEmpty ? nil : try MigrationPlan([.lightweight(from: old, to: new, changing: mapping)]))
        }
    }

    /// The derived values of the teams, and those that their sources give.
    private static func derived(_ context: ManagedObjectContext) throws -> (found: [[PropertyValue]], expected: [[PropertyValue]]) {
        let keys = ["title", "total", "size", "coachRank", "coachName"]
        let teams = try context.all("Team", sortedBy: "name")
        let found = try teams.map { team in try keys.map { try team.value(forKey: $0) } }
        let expected = try teams.map { team -> [PropertyValue] in
            let players = try Array(team.objects(forKey: "players"))
            let points = try players.map { try $0.value(forKey: "points") }.compactMap { if case .int(let number) = $0 { number } else { nil } }
            let coach = try team.object(forKey: "coach")
            var name = try coach?.value(forKey: "name") ?? .null
            if case .string(let text) = name { name = .string(text.uppercased()) }
            return [
                try team.value(forKey: "level"), .int(points.reduce(0, +)), .int(Int64(players.count)), try coach?.value(forKey: "rank") ?? .null, name,
            ]
        }
        return (found, expected)
    }

    @Test("ATT-11, MIG-2: a derivation that stays is right after every kind of change of its sources", arguments: Change.allCases)
    func unchangedDerivationsFollowTheirSources(change: Change) throws {
        let store = try MigratedStore()
        let saved = try store.with(ManagedObjectModel(Self.definition())) { (context) throws in
            try Self.fill(context)
            return try context.values("Team", "saved", sortedBy: "name")
        }
        let (model, plan) = try Self.version(change)
        if change == .nothing { #expect(try store.plan(model)?.takesConstantTime == true) }
        if let plan { try store.with(plan) { _ in } }
        try store.with(model) { (context) throws in
            let values = try Self.derived(context)
            #expect(values.found == values.expected)
            for value in values.found {
                let request = FetchRequest<ManagedObject>(entityName: "Team", predicate: try FetchPredicate(format: "total == %@", value[1]))
                #expect(try context.count(request) == values.found.count { $0[1] == value[1] })
            }
            if plan == nil { #expect(try context.values("Team", "saved", sortedBy: "name") == saved) }
        }
    }
}
