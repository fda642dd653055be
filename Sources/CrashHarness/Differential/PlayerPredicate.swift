import Hornbeam
import HornbeamEngine
import HornbeamSimulation

/// A predicate for players, and a function that computes its result for plain players.
struct PlayerPredicate {
    let predicate: FetchPredicate
    let matches: (Int, PlainGraph.Player, PlainGraph) -> Bool

    private init(_ predicate: FetchPredicate, _ matches: @escaping (Int, PlainGraph.Player, PlainGraph) -> Bool) {
        (self.predicate, self.matches) = (predicate, matches)
    }

    private static func ask(
        _ format: String, _ arguments: (any PredicateArgument)?..., matches: @escaping (Int, PlainGraph.Player, PlainGraph) -> Bool
    ) throws -> PlayerPredicate {
        PlayerPredicate(try FetchPredicate(format: format, arguments: arguments), matches)
    }

    /// A random predicate with one or two parts.
    static func random(_ random: inout SimulationRandom) throws -> PlayerPredicate {
        let first = try part(&random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            let second = try part(&random)
            return PlayerPredicate(first.predicate && second.predicate) { first.matches($0, $1, $2) && second.matches($0, $1, $2) }
        case 1:
            let second = try part(&random)
            return PlayerPredicate(first.predicate || second.predicate) { first.matches($0, $1, $2) || second.matches($0, $1, $2) }
        case 2: return PlayerPredicate(!first.predicate) { !first.matches($0, $1, $2) }
        default: return first
        }
    }

    private static func part(_ random: inout SimulationRandom) throws -> PlayerPredicate {
        let number = Int.random(in: 0..<10, using: &random)
        return Bool.random(using: &random) ? try ofValues(number, &random) : try ofTextAndRelationships(number, &random)
    }

    private static func ofValues(_ number: Int, _ random: inout SimulationRandom) throws -> PlayerPredicate {
        let ratio = Double(number) / 4
        switch Int.random(in: 0..<9, using: &random) {
        case 0: return try ask("score > %d", number) { _, player, _ in player.score.map { $0 > number } ?? false }
        case 1: return try ask("score == %d", number) { _, player, _ in player.score == number }
        case 2: return try ask("score != %d", number) { _, player, _ in player.score != number }
        case 3: return try ask("score == nil") { _, player, _ in player.score == nil }
        case 4:
            return try ask("score BETWEEN {%d, %d}", number - 2, number) { _, player, _ in
                player.score.map { (number - 2...number).contains($0) } ?? false
            }
        case 5:
            return try ask("score IN {1, 3, %d}", number) { _, player, _ in
                player.score.map { [1, 3, number].contains($0) } ?? false
            }
        case 6: return try ask("rating <= %f", ratio) { _, player, _ in player.rating.map { $0 <= ratio } ?? false }
        case 7: return try ask("isActive == YES") { _, player, _ in player.isActive }
        default: return try ask("number < %d", number * 20) { key, _, _ in key < number * 20 }
        }
    }

    private static func ofTextAndRelationships(_ number: Int, _ random: inout SimulationRandom) throws -> PlayerPredicate {
        let name = PlainGraph.names[number % PlainGraph.names.count]
        let folded = PlainGraph.folded(name)
        switch Int.random(in: 0..<9, using: &random) {
        case 0: return try ask("name == %@", name) { _, player, _ in player.name == name }
        case 1: return try ask("name ==[cd] %@", name) { _, player, _ in PlainGraph.folded(player.name) == folded }
        case 2:
            let first = String(name.prefix(1))
            // No text begins with the empty text.
            return try ask("name BEGINSWITH %@", first) { _, player, _ in
                !first.isEmpty && player.name.hasPrefix(first)
            }
        case 3: return try ask("name CONTAINS[cd] 'o'") { _, player, _ in PlainGraph.folded(player.name).contains("o") }
        case 4: return try ask("team == nil") { _, player, _ in player.team == nil }
        case 5: return try ask("team.number == %d", number) { _, player, _ in player.team == number }
        case 6:
            return try ask("team.name == %@", name) { _, player, graph in player.team.map { graph.teams[$0] == name } ?? false }
        case 7: return try ask("ANY skills.number == %d", number % 5) { _, player, _ in player.skills.contains(number % 5) }
        default: return try ask("skills.@count > %d", number % 3) { _, player, _ in player.skills.count > number % 3 }
        }
    }
}
