import HornbeamEngine
import HornbeamSimulation

/// The source of a history's choices: a seed, or the bytes of a fuzzer.
struct ChoiceGenerator: RandomNumberGenerator {
    private var random: SimulationRandom
    private let bytes: [UInt8]
    private var used = 0

    init(seed: UInt64) { (random, bytes) = (SimulationRandom(seed: seed), []) }
    init(bytes: [UInt8]) { (random, self.bytes) = (SimulationRandom(seed: 0), bytes) }

    /// True when all bytes are used. A seed never ends, and choices after the last byte continue with a seed.
    var isExhausted: Bool { used >= bytes.count }

    /// A byte selects one of a few cases; finer choices come from a fixed seed.
    mutating func next() -> UInt64 {
        let rest = random.next()
        guard used < bytes.count else { return rest }
        defer { used += 1 }
        return UInt64(bytes[used]) << 56 | rest >> 8
    }
}
