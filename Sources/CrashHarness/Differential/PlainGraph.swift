/// The object graph as plain values, by the numbers of the objects.
struct PlainGraph: Equatable {
    struct Player: Equatable {
        var name: String
        var score: Int?
        var rating: Double?
        var isActive: Bool
        var team: Int?
        var skills: Set<Int> = []
    }

    var teams: [Int: String] = [:]
    var players: [Int: Player] = [:]
    var skills: Set<Int> = []
    let cascades: Bool

    init(cascades: Bool) { self.cascades = cascades }

    func players(ofTeam team: Int) -> Set<Int> { Set(players.filter { $0.value.team == team }.keys) }
    func players(withSkill skill: Int) -> Set<Int> { Set(players.filter { $0.value.skills.contains(skill) }.keys) }

    mutating func deleteTeam(_ number: Int) {
        teams[number] = nil
        for player in players(ofTeam: number) {
            if cascades { players[player] = nil } else { players[player]!.team = nil }
        }
    }

    mutating func deleteSkill(_ number: Int) {
        skills.remove(number)
        for player in players(withSkill: number) { players[player]!.skills.remove(number) }
    }

    // MARK: Names

    /// Names that differ in case and accents; `foldedNames` has their folded forms.
    static let names = ["Ada", "ada", "Åsa", "asa", "Zoë", "ZOE", "Bo Berg", ""]
    static let foldedNames = ["ada", "ada", "asa", "asa", "zoe", "zoe", "bo berg", ""]

    static func folded(_ name: String) -> String { foldedNames[names.firstIndex(of: name)!] }
}
