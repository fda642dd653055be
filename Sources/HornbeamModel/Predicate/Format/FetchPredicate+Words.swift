// The words of the format language for operators and options.

extension FetchPredicate.Comparator {
    /// The printed operator.
    package var word: String {
        switch self {
        case .lessThan: "<"
        case .lessThanOrEqual: "<="
        case .greaterThan: ">"
        case .greaterThanOrEqual: ">="
        case .equal: "=="
        case .notEqual: "!="
        case .matches: "MATCHES"
        case .like: "LIKE"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .in: "IN"
        case .contains: "CONTAINS"
        case .between: "BETWEEN"
        case .typeConformsTo: "UTI-CONFORMS-TO"
        case .typeEquals: "UTI-EQUALS"
        }
    }
}

extension FetchPredicate.Options {
    /// The letters in brackets, such as `[cd]`; empty without options.
    package var letters: String {
        guard !isEmpty else { return "" }
        var letters = ""
        if contains(.caseInsensitive) { letters += "c" }
        if contains(.diacriticInsensitive) { letters += "d" }
        if contains(.normalized) { letters += "n" }
        if contains(.localeSensitive) { letters += "l" }
        return "[\(letters)]"
    }
}
