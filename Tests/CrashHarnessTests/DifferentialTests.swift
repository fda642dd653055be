import HornbeamEngine
import HornbeamSimulation
import Testing

@testable import CrashHarness

/// Random operations compared with a plain model.
@Suite struct DifferentialTests {
    @Test func aWrongAnswerIsFound() throws {
        var history = try EngineHistory(choices: ChoiceGenerator(seed: 1))
        while history.now.index.count < 10 { try history.step() }
        let key = try #require(history.now.index.next(from: 0))
        history.now.index[key] = nil
        #expect(throws: Finding.self) { try history.check() }
    }

    @Test func aHistoryFollowsFromItsChoices() throws {
        func operations() throws -> Int {
            var history = try EngineHistory(choices: ChoiceGenerator(bytes: (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
            for _ in 0..<100 { try history.step() }
            return history.operations
        }
        #expect(try operations() == operations())
    }

    @Test func ranksAndPlacesOfThePlainModelAreThoseOfASet() {
        var random = SimulationRandom(seed: 5)
        var tree = PlainTree(keys: 150)
        var keys: Set<Int> = []
        for _ in 0..<600 {
            let key = Int.random(in: 0..<150, using: &random)
            if Bool.random(using: &random) { tree[key] = UInt64(key); keys.insert(key) } else { tree[key] = nil; keys.remove(key) }
            let probe = Int.random(in: 0...150, using: &random)
            #expect(tree.count == keys.count && tree.rank(of: probe) == keys.filter { $0 < probe }.count)
            #expect(tree.next(from: probe) == keys.filter { $0 >= probe }.min())
            let n = Int.random(in: 0...keys.count, using: &random)
            #expect(tree.key(at: n) == keys.sorted().dropFirst(n).first)
        }
    }
}
