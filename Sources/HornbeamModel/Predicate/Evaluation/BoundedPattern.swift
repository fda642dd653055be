import Foundation
internal import HornbeamThreads

/// The pattern of MATCHES: an ICU regular expression that must match the whole text. The work is limited,
/// so that `(a+)+b` against a long text ends with an error.
struct BoundedPattern: Sendable {
    /// The maximum number of progress reports of the regular expression engine. It reports every ten thousand steps, about a
    /// fifth of a millisecond. After some thousand reports its stack is full, and it returns “no match” instead of
    /// an error, so the limit must be far lower.
    private static let reportsMax = 500

    /// The cost of the steps between two reports, in values read.
    private static let unitsInReport = PatternCost.unitsInReport

    /// The maximum length of a pattern in bytes. Practical patterns are far shorter.
    private static let lengthMax = 16_384

    private let expression: NSRegularExpression
    private let pattern: String
    private let cost: PatternCost

    /// - Throws: `HornbeamError` with code `predicateEvaluation` when `pattern` is not a regular expression.
    init(_ pattern: String, _ options: FetchPredicate.Options) throws {
        guard pattern.utf8.count <= Self.lengthMax else {
            throw HornbeamError(
                .predicateEvaluation,
                "The right side of MATCHES has \(pattern.utf8.count) bytes, and may have \(Self.lengthMax). Pass long lists to IN.")
        }
        self.pattern = pattern
        cost = PatternCost(pattern)
        let isFolding = options.contains(.caseInsensitive) && !options.contains(.normalized)
        do {
            // Compile the bare pattern first: `a)|(?:b` is invalid, but would become valid inside parentheses.
            _ = try NSRegularExpression(pattern: pattern)
            expression = try NSRegularExpression(
                pattern: "\\A(?:\(pattern))\\z", options: isFolding ? [.caseInsensitive] : [])
        } catch {
            throw HornbeamError(
                .predicateEvaluation,
                "The right side of MATCHES is not a regular expression: \(pattern.debugDescription). "
                    + "Check its brackets and escapes; a backslash in a format is written twice.")
        }
    }

    private static let cache = Guarded<[String: BoundedPattern]>([:])

    /// The compiled pattern, from a cache of some hundred patterns.
    static func cached(_ pattern: String, _ options: FetchPredicate.Options) throws -> BoundedPattern {
        var work = EvaluationBudget()
        return try cached(pattern, options, &work)
    }

    /// The compiled pattern, from the cache. Charges the cost of compiling if the cache does not contain it.
    static func cached(
        _ pattern: String, _ options: FetchPredicate.Options, _ work: inout EvaluationBudget
    ) throws -> BoundedPattern {
        let key = "\(options.rawValue):\(pattern)"
        if let known = cache.withLock({ $0[key] }) { return known }
        try work.charge(PatternCost.compiling(pattern))
        let made = try BoundedPattern(pattern, options)
        cache.withLock {
            if $0.count >= 200 { $0.removeAll() }
            $0[key] = made
        }
        return made
    }

    /// - Throws: `HornbeamError` with code `predicateEvaluation` when the match needs too many steps.
    func matches(_ text: String) throws -> Bool {
        var work = EvaluationBudget()
        return try matches(text, &work)
    }

    /// - Throws: `HornbeamError` with code `predicateEvaluation` when the match needs too many steps, or exceeds the limit of work.
    func matches(_ text: String, _ work: inout EvaluationBudget) throws -> Bool {
        var isFound = false
        var reports = 0
        let range = NSRange(location: 0, length: text.utf16.count)
        try work.charge(cost.units(forLength: range.length))
        unsafe expression.enumerateMatches(in: text, options: [.reportProgress], range: range) { match, _, stop in
            if match != nil {
                isFound = true
                unsafe stop.pointee = true
            } else {
                reports += 1
                if reports > Self.reportsMax { unsafe stop.pointee = true }
            }
        }
        try work.charge(reports * Self.unitsInReport)
        guard isFound || reports <= Self.reportsMax else {
            throw HornbeamError(
                .predicateEvaluation,
                "MATCHES stopped evaluating the regular expression \(pattern.debugDescription), which needs too many steps. "
                    + "Rewrite it without repetitions inside repetitions.")
        }
        return isFound
    }
}
