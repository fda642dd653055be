/// The maximum cost of a regular expression before the engine's first progress report.
///
/// The engine reports every ten thousand steps. The cost of fewer steps is an upper estimate from the
/// pattern: a pattern with k choices, each with up to n positions in
/// a text of n characters, has (n + k over k) paths; nested repetitions have no such bound.
struct PatternCost: Sendable {
    /// The cost of ten thousand steps: a fifth of a millisecond, the time to read two thousand values.
    static let unitsInReport = 2_000

    private static let stepsInUnit = 5
    /// The cost of a call, which creates one engine for the text.
    private static let unitsInCall = 10
    private static let bytesInUnit = 16

    /// The number of repetitions and alternatives; nil when repetitions are nested.
    private let choices: Int?

    /// The cost of compiling a pattern.
    static func compiling(_ pattern: String) -> Int { 100 + pattern.utf8.count }

    init(_ pattern: String) {
        var count = 0
        // For each open group, the number of choices before it.
        var groups: [Int] = []
        var classes = 0
        var isNested = false
        var closed: Int?
        var isEscaped = false
        for byte in pattern.utf8 {
            let before = closed
            closed = nil
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "["): classes += 1
            case UInt8(ascii: "]"): classes = max(0, classes - 1)
            case _ where classes > 0: break
            case UInt8(ascii: "("): groups.append(count)
            case UInt8(ascii: ")"): closed = groups.popLast()
            case UInt8(ascii: "|"): count += 1
            case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"), UInt8(ascii: "{"):
                if let before, count > before { isNested = true }
                count += 1
            default: break
            }
        }
        choices = isNested ? nil : count
    }

    /// The maximum cost of matching a text of this length without a report.
    func units(forLength length: Int) -> Int {
        Self.unitsInCall + length / Self.bytesInUnit + min(steps(length) / Self.stepsInUnit, Self.unitsInReport)
    }

    private func steps(_ length: Int) -> Int {
        let stepsMax = Self.unitsInReport * Self.stepsInUnit
        guard let choices, length < stepsMax else { return stepsMax }
        var ways = 1
        for place in 0..<choices {
            ways = ways * (length + place + 1) / (place + 1)
            if ways >= stepsMax || place > length + 64 { return ways }
        }
        return ways
    }
}
