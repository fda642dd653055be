import Hornbeam

final class Team: ManagedObject {
    static let number = Attribute<Int>("number", unique: true)
    static let name = Attribute<String>("name")
    static let players = ToMany<Player>("players", inverse: "team")

    var number: Int { get { self[Self.number] } set { self[Self.number] = newValue } }
    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var players: ManagedSet<Player> { get { self[Self.players] } set { self[Self.players] = newValue } }
}

final class Player: ManagedObject {
    static let number = Attribute<Int>("number", unique: true)
    static let name = Attribute<String>("name")
    static let score = Attribute<Int?>("score")
    static let rating = Attribute<Double?>("rating")
    static let isActive = Attribute<Bool>("isActive", default: true)
    static let team = ToOne<Team>("team", inverse: "players")
    static let skills = ToMany<Skill>("skills", inverse: "players")

    var number: Int { get { self[Self.number] } set { self[Self.number] = newValue } }
    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var score: Int? { get { self[Self.score] } set { self[Self.score] = newValue } }
    var rating: Double? { get { self[Self.rating] } set { self[Self.rating] = newValue } }
    var isActive: Bool { get { self[Self.isActive] } set { self[Self.isActive] = newValue } }
    var team: Team? { get { self[Self.team] } set { self[Self.team] = newValue } }
    var skills: ManagedSet<Skill> { get { self[Self.skills] } set { self[Self.skills] = newValue } }
}

final class Skill: ManagedObject {
    static let number = Attribute<Int>("number", unique: true)
    static let players = ToMany<Player>("players", inverse: "skills")

    var number: Int { get { self[Self.number] } set { self[Self.number] = newValue } }
    var players: ManagedSet<Player> { get { self[Self.players] } set { self[Self.players] = newValue } }
}

/// The model of the object graph in differential tests.
enum TeamModel {
    static let classes: [ManagedObject.Type] = [Team.self, Player.self, Skill.self]

    /// - Parameters:
    ///   - cascades: True when deleting a team deletes its players.
    ///   - isIndexed: True to add indexes for the predicates.
    static func make(cascades: Bool, isIndexed: Bool) throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Team") {
                Team.number
                Team.name
                ToMany<Player>("players", inverse: "team", deleteRule: cascades ? .cascade : .nullify)
            }
            Entity("Player") {
                Player.number
                Player.name
                Player.score
                Player.rating
                Player.isActive
                Player.team
                Player.skills
                if isIndexed {
                    Indexed("score")
                    Indexed("name")
                }
            }
            Entity("Skill") {
                Skill.number
                Skill.players
            }
        }
    }
}
