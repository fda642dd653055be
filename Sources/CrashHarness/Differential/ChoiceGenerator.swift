import HornbeamEngine
import HornbeamSimulation

/// The source of a history's choices: a seed, or the bytes of a fuzzer.
struct ChoiceGenerator: RandomNumberGenerator {
    private var random: SimulationRandom
    private let bytes: [UInt8]
    private var used = 0

    init(seed: UInt64) { (random, bytes) = (SimulationRandom(seed: seed), []) }
    init(bytes: [UInt8]) { (random, self.bytes) = (SimulationRandom(seed: 0), bytes) }

    /// True if all bytes are used; later choices come from a fixed seed. Always true for a generator with a seed.
    var isExhausted: Bool { used >= bytes.count }

    /// The next byte in the upper bits, so that it selects one of a few cases. The lower bits come from a fixed seed.
    mutating func next() -> UInt64 {
        let rest = random.next()
        guard used < bytes.count else { return rest }
        defer { used += 1 }
        return UInt64(bytes[used]) << 56 | rest >> 8
    }
}
