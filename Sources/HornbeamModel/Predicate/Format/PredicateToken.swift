/// One token of a predicate format: its kind and its bytes.
struct PredicateToken {
    var kind: Kind
    var start: Int
    var end: Int

    enum Kind: Equatable {
        case end
        case identifier
        case keyword(Keyword)
        case number
        case string
        /// `$name`
        case variable
        /// `@name`
        case collectionOperator
        /// `#name`
        case escapedName
        /// `%@`
        case argument
        /// `%K`
        case keyPathArgument
        /// `%d`, `%f` and other placeholders of C for numbers
        case numberArgument
        case sign(Sign)
        case unterminatedString
        case invalid
    }

    enum Keyword: UInt8 {
        case and, or, not, `in`, all, any, some, none
        case like, matches, contains, beginsWith, endsWith, between, typeConformsTo, typeEquals
        case null, yes, no, `self`, anyKey, truePredicate, falsePredicate
        case subquery, function, cast, ternary, fetch
        case first, last, size, union, intersect, minus

        /// True for a keyword that is an ordinary name wherever the grammar does not expect it.
        var isContextual: Bool { rawValue >= Keyword.subquery.rawValue }
    }

    enum Sign: UInt8 {
        case openParenthesis, closeParenthesis, openBrace, closeBrace, openBracket, closeBracket
        case comma, dot, assign
        case plus, hyphen, star, slash, percent, power, bar, caret, ampersand, tilde, shiftLeft, shiftRight
        case doubleAmpersand, doubleBar, exclamation
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    }
}

extension PredicateToken.Keyword {
    /// Finds a keyword, ignoring case.
    @inline(__always)
    init?(_ bytes: [UInt8], _ range: Range<Int>) {
        let length = range.count
        guard length >= 2, length <= 14 else { return nil }
        var low: UInt64 = 0
        var high: UInt64 = 0
        for (place, index) in range.enumerated() {
            let byte = UInt64(bytes[index] | 0x20)
            if place < 8 { low |= byte << UInt64(place * 8) } else { high |= byte << UInt64((place - 8) * 8) }
        }
        for entry in Self.table[length] where entry.low == low && entry.high == high {
            self = entry.keyword
            return
        }
        return nil
    }

    private struct Entry {
        var low: UInt64
        var high: UInt64
        var keyword: PredicateToken.Keyword
    }

    private static let table: [[Entry]] = {
        let words: [(String, PredicateToken.Keyword)] = [
            ("and", .and), ("or", .or), ("not", .not), ("in", .in), ("all", .all), ("any", .any),
            ("some", .some), ("none", .none), ("like", .like), ("matches", .matches),
            ("contains", .contains), ("beginswith", .beginsWith), ("endswith", .endsWith),
            ("between", .between), ("null", .null), ("nil", .null), ("true", .yes), ("yes", .yes),
            ("false", .no), ("no", .no), ("self", .self), ("anykey", .anyKey),
            ("truepredicate", .truePredicate), ("falsepredicate", .falsePredicate),
            ("subquery", .subquery), ("function", .function), ("cast", .cast), ("ternary", .ternary),
            ("fetch", .fetch), ("first", .first), ("last", .last), ("size", .size),
            ("union", .union), ("intersect", .intersect), ("minus", .minus),
        ]
        var table = [[Entry]](repeating: [], count: 15)
        for (word, keyword) in words {
            var entry = Entry(low: 0, high: 0, keyword: keyword)
            for (place, byte) in word.utf8.enumerated() {
                if place < 8 {
                    entry.low |= UInt64(byte) << UInt64(place * 8)
                } else {
                    entry.high |= UInt64(byte) << UInt64((place - 8) * 8)
                }
            }
            table[word.utf8.count].append(entry)
        }
        return table
    }()
}
