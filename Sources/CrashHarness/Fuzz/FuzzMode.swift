import HornbeamEngine
import HornbeamSimulation

/// Runs every fuzz target with randomly mutated inputs. `Scripts/fuzz` also runs them, guided by coverage,
/// with checks of memory accesses.
enum FuzzMode: Mode {
    static let name = "fuzz"
    static let summary = "randomly mutated bytes for each decoder; Scripts/fuzz does the same guided by coverage"
    static let unit = "executions"
    static let extras = ["target"]

    private static let inputsPerRound = 200

    static func round(_ seed: UInt64, _ run: Run) throws {
        var random = SimulationRandom(seed: seed)
        for target in try targets(run) {
            let seeds = target.seeds
            for number in 0..<inputsPerRound {
                var input = seeds.randomElement(using: &random)!
                for _ in 0..<Int.random(in: 1...6, using: &random) { change(&input, &random) }
                guard run.includes("\(target.rawValue) \(number)") else { continue }
                try run.beginCase("\(target.rawValue) \(number)")
                run.add("executions of \(target.rawValue)")
                try target.run(input)
            }
        }
    }

    private static func targets(_ run: Run) throws -> [FuzzTarget] {
        guard let name = run.options.extras["target"] else { return FuzzTarget.allCases }
        guard let target = FuzzTarget(rawValue: name) else { throw UsageError("there is no target '\(name)'") }
        return [target]
    }

    private static func change(_ input: inout [UInt8], _ random: inout SimulationRandom) {
        guard !input.isEmpty else { return input.append(UInt8.random(in: 0 ... .max, using: &random)) }
        let place = Int.random(in: 0..<input.count, using: &random)
        let end = min(place + Int.random(in: 1...16, using: &random), input.count)
        switch Int.random(in: 0..<7, using: &random) {
        case 0: input[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: input[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random)!
        case 2: for place in place..<end { input[place] = UInt8.random(in: 0 ... .max, using: &random) }
        case 3: input.removeSubrange(place..<end)
        case 4: input.insert(contentsOf: input[place..<end], at: Int.random(in: 0...input.count, using: &random))
        case 5: input.removeLast(input.count - place)
        default: for place in place..<end { input[place] = 0xFF }
        }
    }
}
