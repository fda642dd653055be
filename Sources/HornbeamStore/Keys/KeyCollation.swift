internal import HornbeamModel

/// The conversion of text into key bytes. The catalogue stores the raw value.
enum KeyCollation: String, Sendable, Codable, Hashable {
    case binary
    case caseInsensitive
    case diacriticInsensitive
    case caseAndDiacriticInsensitive
    /// Finder-like order for names. For sorting only; no index uses it.
    case localizedStandard

    init(_ collation: IndexCollation) {
        switch collation {
        case .binary: self = .binary
        case .caseInsensitive: self = .caseInsensitive
        case .diacriticInsensitive: self = .diacriticInsensitive
        case .caseAndDiacriticInsensitive: self = .caseAndDiacriticInsensitive
        }
    }
}

extension KeyCollation {
    /// The suffix of a predicate's operator, such as `[cd]`.
    var suffix: String {
        switch self {
        case .binary: ""
        case .caseInsensitive: "[c]"
        case .diacriticInsensitive: "[d]"
        case .caseAndDiacriticInsensitive: "[cd]"
        case .localizedStandard: "[l]"
        }
    }
}

extension KeyCollation {
    /// The options of predicates that compare texts like this collation.
    var options: FetchPredicate.Options {
        switch self {
        case .binary: []
        case .caseInsensitive: .caseInsensitive
        case .diacriticInsensitive: .diacriticInsensitive
        case .caseAndDiacriticInsensitive: [.caseInsensitive, .diacriticInsensitive]
        case .localizedStandard: .localeSensitive
        }
    }

    func folded(_ text: some Collection<UInt8>) -> [UInt8] {
        if self == .localizedStandard { return Folding.localizedStandardKey(text) }
        return Folding.fold(
            text, caseInsensitive: options.contains(.caseInsensitive),
            diacriticInsensitive: options.contains(.diacriticInsensitive))
    }
}
