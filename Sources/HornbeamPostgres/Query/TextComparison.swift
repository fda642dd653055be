#if Postgres
internal import HornbeamModel

/// Comparisons of a column of texts with a constant text, with Hornbeam's folding.
struct TextComparison {
    /// The longest pattern of LIKE. Hornbeam reports longer ones.
    private static let patternBytesMax = 4096

    private let sql: String
    private let options: FetchPredicate.Options
    private let layout: StoreLayout

    init(_ sql: String, _ options: FetchPredicate.Options, _ layout: StoreLayout) {
        (self.sql, self.options, self.layout) = (sql, options, layout)
    }

    /// The column in the form in which texts are compared.
    private var folded: String { Self.folded(sql, options, layout) }

    /// A text of SQL, folded as the options demand.
    static func folded(_ sql: String, _ options: FetchPredicate.Options, _ layout: StoreLayout) -> String {
        FoldingFunction(options).map { "\($0.name(in: layout.schema))(\(sql))" } ?? sql
    }

    private func folded(_ text: String) -> String { String(decoding: Folding.fold(text, options), as: UTF8.self) }

    /// Nil if SQL compares in another way.
    func sql(_ comparator: StoreComparison.Operator, _ text: String, _ parameters: inout ParameterList) -> String? {
        switch comparator {
        case .equal: return "\(folded) = \(parameters.add(ColumnValue.escaped(folded(text)), as: "text"))"
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard let sign = comparator.sign, !Self.isLocalized(options) else { return nil }
            return "\(folded) COLLATE \"C\" \(sign) \(parameters.add(ColumnValue.escaped(folded(text)), as: "text"))"
        case .beginsWith, .contains, .endsWith: return part(comparator, folded(text), &parameters)
        case .like: return like(text, &parameters)
        default: return nil
        }
    }

    /// True if operators of order compare by numbers in the texts.
    static func isLocalized(_ options: FetchPredicate.Options) -> Bool { options.contains(.localeSensitive) && !options.contains(.normalized) }

    private func part(_ comparator: StoreComparison.Operator, _ text: String, _ parameters: inout ParameterList) -> String? {
        if text.isEmpty { return "FALSE" }
        guard !ColumnValue.needsEscape(text) else { return nil }
        let constant = parameters.add(text, as: "text")
        switch comparator {
        case .beginsWith: return "starts_with(\(folded), \(constant))"
        case .endsWith: return "right(\(folded), length(\(constant))) = \(constant)"
        default: return "strpos(\(folded), \(constant)) > 0"
        }
    }

    // MARK: Patterns

    private func like(_ pattern: String, _ parameters: inout ParameterList) -> String? {
        guard pattern.utf8.count <= Self.patternBytesMax else { return nil }
        var result = ""
        var literal = String.UnicodeScalarView()
        var hasOne = false
        func flush() {
            for scalar in folded(String(literal)).unicodeScalars {
                if ["%", "_", "\\"].contains(scalar) { result.unicodeScalars.append("\\") }
                result.unicodeScalars.append(scalar)
            }
            literal = .init()
        }
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if !isEscaped, scalar == "\\" {
                isEscaped = true
            } else if !isEscaped, scalar == "*" || scalar == "?" {
                flush()
                hasOne = hasOne || scalar == "?"
                result += scalar == "*" ? "%" : "_"
            } else {
                literal.append(scalar)
                isEscaped = false
            }
        }
        if isEscaped { literal.append("\\") }
        flush()
        guard !ColumnValue.needsEscape(result) else { return nil }
        return "\(hasOne ? Self.withoutPairs(folded) : folded) LIKE \(parameters.add(result, as: "text"))"
    }

    /// A text of SQL in which each escaped character is one character, so that `_` stands for it. Patterns have no such characters. The first replacement
    /// makes no U+0001, which could form a pair with the next character.
    private static func withoutPairs(_ sql: String) -> String { "replace(replace(\(sql), E'\\x01\\x01', E'\\x02'), E'\\x01\\x02', E'\\x01')" }
}
#endif
