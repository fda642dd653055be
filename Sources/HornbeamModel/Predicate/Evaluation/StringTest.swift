import Foundation

/// A string operator with a prepared right side, such as `ENDSWITH[c] 'x'`, that tests the bytes of a text.
///
/// The evaluator and the scans of a store both use it, so that they always agree.
/// Texts are UTF-8. nil satisfies only `!=`.
package struct StringTest: Sendable {
    private enum Kind: Sendable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        case begins, ends
        case contains(SubstringSearch)
        case like(LikePattern)
        case matches(BoundedPattern)
        case never
    }

    private let kind: Kind
    private let needle: [UInt8]
    private let folding: TextFolding

    /// True when the test needs the folded text.
    package var needsFoldedText: Bool { folding != .none }

    /// - Returns: Nil when the operator is not a string operator: IN, BETWEEN.
    /// - Throws: `HornbeamError` when the pattern is not a regular expression, or too long.
    package init?(_ comparator: FetchPredicate.Comparator, _ right: String, _ options: FetchPredicate.Options) throws {
        folding = TextFolding(options, isOrdering: comparator.isOrdering)
        needle = comparator == .matches ? [] : folding.folded(right)
        switch comparator {
        case .equal: kind = .equal
        case .notEqual: kind = .notEqual
        case .lessThan: kind = .less
        case .lessThanOrEqual: kind = .lessOrEqual
        case .greaterThan: kind = .greater
        case .greaterThanOrEqual: kind = .greaterOrEqual
        case .beginsWith: kind = needle.isEmpty ? .never : .begins
        case .endsWith: kind = needle.isEmpty ? .never : .ends
        case .contains: kind = needle.isEmpty ? .never : .contains(SubstringSearch(needle))
        case .like: kind = .like(try LikePattern(right, folding))
        case .matches: kind = .matches(try BoundedPattern.cached(right, options))
        case .typeEquals: kind = .equal
        case .in, .between, .typeConformsTo: return nil
        }
    }

    /// - Throws: `HornbeamError` with code `predicateEvaluation` when LIKE or MATCHES exceeds the limit of work.
    package func holds(_ text: String) throws -> Bool {
        var work = EvaluationBudget()
        return try holds(text, &work)
    }

    /// - Throws: The errors of `holds(_: String)`.
    package func holds(_ text: UnsafeBufferPointer<UInt8>) throws -> Bool {
        var work = EvaluationBudget()
        return unsafe try holds(text, &work)
    }

    func holds(_ text: String, _ work: inout EvaluationBudget) throws -> Bool {
        if case .matches(let pattern) = kind { return try pattern.matches(text, &work) }
        if let result = unsafe try text.utf8.withContiguousStorageIfAvailable({ unsafe try holds($0, &work) }) { return result }
        return unsafe try Array(text.utf8).withUnsafeBufferPointer { unsafe try holds($0, &work) }
    }

    private func holds(_ text: UnsafeBufferPointer<UInt8>, _ work: inout EvaluationBudget) throws -> Bool {
        if case .matches(let pattern) = kind { return unsafe try pattern.matches(String(decoding: text, as: UTF8.self), &work) }
        guard needsFoldedText else { return unsafe try holdsFolded(text, &work) }
        if folding == .lowercase, let result = unsafe holdsInASCII(text) { return result }
        return unsafe try folding.folded(text).withUnsafeBufferPointer { unsafe try holdsFolded($0, &work) }
    }

    private func holdsFolded(_ text: UnsafeBufferPointer<UInt8>, _ work: inout EvaluationBudget) throws -> Bool {
        switch kind {
        case .equal: unsafe isEqual(text)
        case .notEqual: unsafe !isEqual(text)
        case .less: unsafe order(text) < 0
        case .lessOrEqual: unsafe order(text) <= 0
        case .greater: unsafe order(text) > 0
        case .greaterOrEqual: unsafe order(text) >= 0
        case .begins: unsafe text.count >= needle.count && memcmp(text.baseAddress!, needle, needle.count) == 0
        case .ends:
            unsafe text.count >= needle.count
                && memcmp(text.baseAddress! + (text.count - needle.count), needle, needle.count) == 0
        case .contains(let search): unsafe search.isFound(in: text)
        case .like(let pattern): unsafe try pattern.matches(text, &work)
        case .matches, .never: false
        }
    }

    private func isEqual(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe text.count == needle.count && (needle.isEmpty || memcmp(text.baseAddress!, needle, needle.count) == 0)
    }

    private func order(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        let common = min(text.count, needle.count)
        let difference = unsafe common == 0 ? 0 : Int(memcmp(text.baseAddress!, needle, common))
        return difference == 0 ? text.count - needle.count : difference
    }

    /// The result for `[c]` at a fixed position of an ASCII text, without a folded copy; nil when a copy is needed.
    private func holdsInASCII(_ text: UnsafeBufferPointer<UInt8>) -> Bool? {
        let start: Int
        switch kind {
        case .equal where text.count == needle.count: start = 0
        case .begins where text.count >= needle.count: start = 0
        case .ends where text.count >= needle.count: start = text.count - needle.count
        default: return nil
        }
        for unsafe byte in unsafe text where byte >= 0x80 { return nil }
        for index in needle.indices where unsafe Folding.lower(text[start + index]) != needle[index] { return false }
        return true
    }
}

/// The folding of texts before a comparison, from the operator's options.
enum TextFolding: Equatable, Sendable {
    case none, lowercase, withoutMarks, both, localized

    init(_ options: FetchPredicate.Options, isOrdering: Bool) {
        let isCaseInsensitive = options.contains(.caseInsensitive)
        let isMarkInsensitive = options.contains(.diacriticInsensitive)
        if options.contains(.normalized) {
            self = .none
        } else if isOrdering, options.contains(.localeSensitive) {
            self = .localized
        } else {
            self = isCaseInsensitive ? (isMarkInsensitive ? .both : .lowercase) : (isMarkInsensitive ? .withoutMarks : .none)
        }
    }

    func folded(_ text: String) -> [UInt8] {
        if self == .none { return Array(text.utf8) }
        if let result = unsafe text.utf8.withContiguousStorageIfAvailable({ unsafe folded($0) }) { return result }
        return unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe folded($0) }
    }

    func folded(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        if self == .localized { return unsafe Folding.localizedStandardKey(text) }
        return unsafe Folding.fold(
            text, caseInsensitive: self == .lowercase || self == .both,
            diacriticInsensitive: self == .withoutMarks || self == .both)
    }
}

extension FetchPredicate.Comparator {
    /// `<`, `<=`, `>`, `>=` and BETWEEN.
    package var isOrdering: Bool {
        switch self {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between: true
        default: false
        }
    }

    /// True when the operator is true for operands in this order. For ordering operators, `==` and `!=`.
    package func holds(for order: ValueOrder) -> Bool {
        switch self {
        case .lessThan: order == .less
        case .lessThanOrEqual: order != .greater
        case .greaterThan: order == .greater
        case .greaterThanOrEqual: order != .less
        case .equal: order == .same
        case .notEqual: order != .same
        default: false
        }
    }

    /// The equivalent operator for exchanged operands; nil when there is no such operator.
    package var mirrored: FetchPredicate.Comparator? {
        switch self {
        case .lessThan: .greaterThan
        case .lessThanOrEqual: .greaterThanOrEqual
        case .greaterThan: .lessThan
        case .greaterThanOrEqual: .lessThanOrEqual
        case .equal, .notEqual: self
        case .in: .contains
        case .contains: .in
        default: nil
        }
    }
}
