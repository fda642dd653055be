/// The rows of the entity `Event`: the same rows in the same order in each run.
struct EventGenerator: Sequence, IteratorProtocol {
    struct Event {
        var uid: String
        var latitude: Double
        var longitude: Double
        var created: Double
        var name: String
        var magnitude: Int

        /// The value that the loops compute from an event.
        var digest: UInt64 { Array(name.utf8).withUnsafeBytes { eventDigest(latitude, $0) } }
    }

    private var r: UInt64 = 88_172_645_463_325_252
    private var index = 0
    private let count: Int

    init(count: Int) { self.count = count }

    mutating func next() -> Event? {
        guard index < count else { return nil }
        defer { index += 1 }
        advance()
        return Event(
            uid: String(r, radix: 16) + "-\(index)", latitude: Double(r % 18000) / 100 - 90,
            longitude: longitude, created: Double(60 * index),
            name: "Event number \(index) at place \(r % 1000)", magnitude: Int(r % 10))
    }

    private var longitude: Double { Double((r >> 20) % 36000) / 100 - 180 }

    private mutating func advance() {
        r ^= r << 13
        r ^= r >> 7
        r ^= r << 17
    }

    /// Continues with the event of a later number, without making the ones before.
    mutating func skip(to number: Int) {
        for _ in index..<number { advance() }
        index = number
    }

    /// The next events, at most `most`.
    mutating func next(_ most: Int) -> [Event] {
        var events: [Event] = []
        while events.count < most, let event = next() { events.append(event) }
        return events
    }

    /// The events of these numbers.
    static func events(at numbers: some Sequence<Int>) -> [Int: Event] {
        var generator = EventGenerator(count: .max)
        var events: [Int: Event] = [:]
        for number in Set(numbers).sorted() {
            generator.skip(to: number)
            events[number] = generator.next()
        }
        return events
    }

    /// The number of the first `count` events with longitude > 37.
    static func countEast(of count: Int) -> UInt64 {
        var generator = EventGenerator(count: count)
        var found: UInt64 = 0
        for _ in 0..<count {
            generator.advance()
            if generator.longitude > 37 { found += 1 }
        }
        return found
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
