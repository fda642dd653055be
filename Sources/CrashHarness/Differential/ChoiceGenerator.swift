import HornbeamEngine

/// Where a history takes its choices from: a seed, or bytes that a fuzzer changes.
struct ChoiceGenerator: RandomNumberGenerator {
    private var random: SimulationRandom
    private let bytes: [UInt8]
    private var used = 0

    init(seed: UInt64) { (random, bytes) = (SimulationRandom(seed: seed), []) }
    init(bytes: [UInt8]) { (random, self.bytes) = (SimulationRandom(seed: 0), bytes) }

    /// Whether all bytes are used up; a seed goes on for ever, and so do choices after the last byte.
    var isExhausted: Bool { used >= bytes.count }

    /// A byte decides which of a few cases is chosen; what is below it follows from a seed that is always the same.
    mutating func next() -> UInt64 {
        let rest = random.next()
        guard used < bytes.count else { return rest }
        defer { used += 1 }
        return UInt64(bytes[used]) << 56 | rest >> 8
    }
}
