import Foundation

/// A prepared comparison of a text with constants: the operators of `StringTest`, IN, BETWEEN and nil.
package struct TextTest: Sendable {
    private enum Kind: Sendable {
        case string(StringTest)
        case member(TextSet)
        case between(StringTest, StringTest)
        case always(Bool)
    }

    private let kind: Kind
    /// True when nil satisfies the comparison.
    package let resultForNil: Bool

    /// - Returns: Nil when the operator with this constant has no prepared test for texts.
    /// - Throws: `HornbeamError` when the pattern of MATCHES is not a regular expression.
    package init?(_ term: PredicateAnalysis.Term) throws {
        guard term.modifier == .direct else { return nil }
        switch term.value {
        case .null where term.comparator == .equal || term.comparator == .notEqual:
            kind = .always(term.comparator == .notEqual)
            resultForNil = term.comparator == .equal
        case .string(let text) where term.comparator == .in:
            // `key IN 'constant'` searches for the value inside the constant. No preparation makes that faster.
            _ = text
            return nil
        case .string(let text):
            guard let test = try StringTest(term.comparator, text, term.options) else { return nil }
            kind = .string(test)
            resultForNil = term.comparator == .notEqual
        case .array(let values) where term.comparator == .in:
            kind = .member(TextSet(values, term.options))
            resultForNil = values.contains(.null)
        case .array(let bounds) where term.comparator == .between:
            guard bounds.count == 2, let low = bounds[0].stringValue, let high = bounds[1].stringValue else { return nil }
            guard let first = try StringTest(.greaterThanOrEqual, low, term.options) else { return nil }
            guard let second = try StringTest(.lessThanOrEqual, high, term.options) else { return nil }
            kind = .between(first, second)
            resultForNil = false
        default: return nil
        }
    }

    package func holds(_ text: String) throws -> Bool {
        if case .string(let test) = kind { return try test.holds(text) }
        if let result = unsafe try text.utf8.withContiguousStorageIfAvailable({ unsafe try holds($0) }) { return result }
        return unsafe try Array(text.utf8).withUnsafeBufferPointer { unsafe try holds($0) }
    }

    package func holds(_ text: UnsafeBufferPointer<UInt8>) throws -> Bool {
        switch kind {
        case .string(let test): unsafe try test.holds(text)
        case .member(let set): unsafe set.contains(text)
        case .between(let low, let high): unsafe try low.holds(text) && high.holds(text)
        case .always(let value): value
        }
    }
}

/// The texts of an IN list, folded and sorted, so that a lookup is a binary search without a copy.
struct TextSet: Sendable {
    private let texts: [[UInt8]]
    private let folding: TextFolding

    init(_ values: [PropertyValue], _ options: FetchPredicate.Options) {
        let folding = TextFolding(options, isOrdering: false)
        self.folding = folding
        texts = values.compactMap { $0.stringValue.map(folding.folded) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    func contains(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe folding == .none ? find(text) : folding.folded(text).withUnsafeBufferPointer(find)
    }

    private func find(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var low = 0
        var high = texts.count
        while low < high {
            let middle = (low + high) / 2
            let candidate = texts[middle]
            let common = min(candidate.count, text.count)
            let order = unsafe common == 0 ? 0 : Int(memcmp(candidate, text.baseAddress!, common))
            let difference = order == 0 ? candidate.count - text.count : order
            if difference == 0 { return true }
            if difference < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
