import Hornbeam

@Entity final class Team: ManagedObject {
    @Attribute(.unique) var number: Int
    var name: String
    var players: ManagedSet<Player>
}

@Entity final class Player: ManagedObject {
    #Index<Player>([\.score], [\.name])
    @Attribute(.unique) var number: Int
    var name: String
    var score: Int?
    var rating: Double?
    var isActive = true
    var team: Team?
    var skills: ManagedSet<Skill>
}

@Entity final class Skill: ManagedObject {
    @Attribute(.unique) var number: Int
    var players: ManagedSet<Player>
}

/// The model of the object graph in differential tests.
enum TeamModel {
    static let classes: [ManagedObject.Type] = [Team.self, Player.self, Skill.self]

    /// - Parameters:
    ///   - cascades: True if the deletion of a team deletes its players.
    ///   - isIndexed: True to index the properties in the predicates.
    static func make(cascades: Bool, isIndexed: Bool) throws -> ManagedObjectModel {
        var definition = try ManagedObjectModel(for: classes).definition
        for entity in definition.entities.indices {
            if !isIndexed { definition.entities[entity].fetchIndexes = [] }
            for relationship in definition.entities[entity].relationships.indices
            where cascades && definition.entities[entity].relationships[relationship].name == "players"
                && definition.entities[entity].name == "Team" {
                definition.entities[entity].relationships[relationship].deleteRule = .cascade
            }
        }
        return try ManagedObjectModel(definition)
    }
}
