/// The rows of the entity `Event`: the same rows in the same order in each run.
struct EventGenerator: Sequence, IteratorProtocol {
    struct Event {
        var uid: String
        var latitude: Double
        var longitude: Double
        var created: Double
        var name: String
        var magnitude: Int
    }

    private var r: UInt64 = 88_172_645_463_325_252
    private var index = 0
    private let count: Int

    init(count: Int) { self.count = count }

    mutating func next() -> Event? {
        guard index < count else { return nil }
        defer { index += 1 }
        r ^= r << 13
        r ^= r >> 7
        r ^= r << 17
        return Event(
            uid: String(r, radix: 16) + "-\(index)", latitude: Double(r % 18000) / 100 - 90,
            longitude: Double((r >> 20) % 36000) / 100 - 180, created: Double(60 * index),
            name: "Event number \(index) at place \(r % 1000)", magnitude: Int(r % 10))
    }

    /// Rows with longitude > 37 among the first million.
    static let eastOfMillion: UInt64 = 396_931
    /// Rows with magnitude > 5 and a name ending in "7" among the first million.
    static let sevensOfMillion: UInt64 = 100_415
}

/// Small random numbers, the same in each run.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
