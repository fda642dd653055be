/// The functions of the predicate language. A format can call no other code, so formats from untrusted
/// sources are safe.
package enum PredicateFunction: String, Hashable, Sendable, CaseIterable {
    case sum = "sum:"
    case count = "count:"
    case min = "min:"
    case max = "max:"
    case average = "average:"
    case median = "median:"
    case mode = "mode:"
    case standardDeviation = "stddev:"
    case add = "add:to:"
    case subtract = "from:subtract:"
    case multiply = "multiply:by:"
    case divide = "divide:by:"
    case modulus = "modulus:by:"
    case squareRoot = "sqrt:"
    case log10 = "log:"
    case naturalLog = "ln:"
    case power = "raise:toPower:"
    case exponential = "exp:"
    case floor = "floor:"
    case ceiling = "ceiling:"
    case absolute = "abs:"
    case truncate = "trunc:"
    case uppercase = "uppercase:"
    case lowercase = "lowercase:"
    case canonical = "canonical:"
    case length = "length:"
    case trim = "trim:"
    case substring = "substring:from:length:"
    case replace = "replace:occurrencesOf:with:"
    case distinct = "distinct:"
    case random = "random"
    case randomBelow = "randomn:"
    case now = "now"
    case bitAnd = "bitwiseAnd:with:"
    case bitOr = "bitwiseOr:with:"
    case bitXor = "bitwiseXor:with:"
    case shiftLeft = "leftshift:by:"
    case shiftRight = "rightshift:by:"
    case onesComplement = "onesComplement:"
    case noIndex = "noindex:"
    case distance = "distanceToLocation:fromLocation:"

    /// Finds a function by its name with colons, or by the part before the first colon.
    package init?(named name: String) {
        guard let found = Self.byName[name] else { return nil }
        self = found
    }

    private static let byName: [String: PredicateFunction] = {
        var names: [String: PredicateFunction] = [:]
        for function in allCases {
            names[function.rawValue] = function
            let first = function.rawValue.prefix { $0 != ":" }
            names[String(first)] = function
            names[function.rawValue.replacing(":", with: "")] = function
        }
        return names
    }()

    private var colons: Int { rawValue.utf8.count { $0 == UInt8(ascii: ":") } }

    /// The allowed numbers of arguments.
    package var argumentCounts: ClosedRange<Int> {
        switch self {
        case .now, .random: 0...0
        case .sum, .count, .min, .max, .average, .median, .mode, .standardDeviation: 1...Int.max
        default: colons...colons
        }
    }

    /// True when equal arguments can give different results at different times.
    package var isVolatile: Bool { self == .now || self == .random || self == .randomBelow }

    /// The operator and precedence of functions that are written between their arguments.
    package var infix: (sign: String, precedence: Int)? {
        switch self {
        case .bitOr: ("|", 2)
        case .bitXor: ("^", 3)
        case .bitAnd: ("&", 4)
        case .shiftLeft: ("<<", 5)
        case .shiftRight: (">>", 5)
        case .add: ("+", 6)
        case .subtract: ("-", 6)
        case .multiply: ("*", 7)
        case .divide: ("/", 7)
        case .power: ("**", 9)
        default: nil
        }
    }
}
