/// What a regular expression costs at most before the engine reports that it is still busy.
///
/// The engine reports each ten thousand steps and says nothing of fewer. How many they may be is guessed from the pattern,
/// high rather than low: with k places at which it can go on in more than one way, each of which ends somewhere in
/// a text of n characters, there are (n + k over k) ways through it; repetitions inside repetitions have no such bound.
struct PatternCost: Sendable {
    /// Ten thousand steps take a fifth of a millisecond, as long as two thousand values do.
    static let unitsInReport = 2_000

    private static let stepsInUnit = 5
    /// The call itself, and one engine for the text.
    private static let unitsInCall = 10
    private static let bytesInUnit = 16

    /// Repetitions and alternatives; nil when some are inside repetitions.
    private let choices: Int?

    /// The units for compiling a pattern.
    static func compiling(_ pattern: String) -> Int { 100 + pattern.utf8.count }

    init(_ pattern: String) {
        var count = 0
        // For each open group the choices before it.
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

    /// The most units that matching a text of so many characters costs without a report.
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
