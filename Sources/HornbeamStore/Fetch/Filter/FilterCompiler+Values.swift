internal import Foundation
internal import HornbeamModel

/// Comparisons of one column with a constant.
extension FilterCompiler {
    /// The longest list that is compiled to one comparison for each value. The evaluator tests longer lists that have no set test.
    private static let listMax = 64

    func compile(_ term: Term, _ column: StoredColumn) -> Filter? {
        if term.value.isNull { return compileNull(term, column) }
        guard let nullResult = term.holds(.null) else { return nil }
        switch column.type {
        case .int16, .int32, .int64, .double, .float, .date:
            if let bounds = NumberBounds(term.comparator, term.value, column.type) {
                return .range(
                    RangeTest(
                        column: column.column, type: column.type, bounds: bounds.bounds, isNegated: bounds.isNegated,
                        nullResult: nullResult))
            }
            return compileNumbers(term, column, nullResult) ?? compileList(term, column)
        case .bool: return compileFlag(term, column, nullResult)
        case .string, .uri: return compileText(term, column, nullResult) ?? compileList(term, column)
        case .decimal, .uuid, .data: return compileBytes(term, column, nullResult) ?? compileList(term, column)
        case .reference: return compileReference(term, column, nullResult)
        case .objectID, .composite: return nil
        }
    }

    private func compileNull(_ term: Term, _ column: StoredColumn) -> Filter {
        switch term.comparator {
        case .equal: .null(NullTest(column: column.column, matchesNull: true))
        case .notEqual: .null(NullTest(column: column.column, matchesNull: false))
        // Ordering comparisons, IN and CONTAINS with nil are false.
        default: .constant(false)
        }
    }

    /// A list of whole numbers.
    private func compileNumbers(_ term: Term, _ column: StoredColumn, _ nullResult: Bool) -> Filter? {
        guard [.int16, .int32, .int64].contains(column.type), let values = list(term) else { return nil }
        var numbers: Set<Int64> = []
        for value in values where !value.isNull {
            guard case .int(let number) = value else { return nil }
            numbers.insert(number)
        }
        return .numbers(NumberSetTest(column: column, numbers: numbers, nullResult: nullResult))
    }

    private func compileFlag(_ term: Term, _ column: StoredColumn, _ nullResult: Bool) -> Filter? {
        guard let no = term.holds(.bool(false)), let yes = term.holds(.bool(true)) else { return nil }
        return .flag(FlagTest(column: column.column, falseResult: no, trueResult: yes, nullResult: nullResult))
    }

    private func compileText(_ term: Term, _ column: StoredColumn, _ nullResult: Bool) -> Filter? {
        if term.options.isEmpty, column.type == .string, let values = list(term), values.allSatisfy(\.isTextOrNull) {
            let texts = values.compactMap { value -> [UInt8]? in
                if case .string(let text) = value { Array(text.utf8) } else { nil }
            }
            return .texts(TextSetTest(column: column.column, texts: ByteSet(Set(texts)), nullResult: nullResult))
        }
        let text: String
        switch (column.type, term.value) {
        case (.string, .string(let value)): text = value
        // URIs compare as texts. Other string operators do not apply to them.
        case (.uri, .uri(let url)) where term.comparator.isOrdering || [.equal, .notEqual].contains(term.comparator):
            text = url.absoluteString
        default: return nil
        }
        let options = column.type == .uri ? [] : term.options
        guard let test = try? StringTest(term.comparator, text, options) else { return nil }
        return .text(
            TextTest(column: column.column, test: test, nullResult: nullResult, pattern: BytePattern(term.comparator, text, options)))
    }

    private func compileBytes(_ term: Term, _ column: StoredColumn, _ nullResult: Bool) -> Filter? {
        guard [.equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual]
            .contains(term.comparator)
        else { return nil }
        var bytes: [UInt8] = []
        switch (column.type, term.value) {
        case (.decimal, .int(let number)): DecimalCode.append(Decimal(number), to: &bytes)
        case (.decimal, .decimal(let number)):
            if number.isNaN { return nil }
            DecimalCode.append(number, to: &bytes)
        case (.uuid, .uuid(let uuid)): unsafe withUnsafeBytes(of: uuid.uuid) { unsafe bytes.append(contentsOf: $0) }
        case (.data, .data(let data)): bytes.append(contentsOf: data)
        default: return nil
        }
        func test(_ comparator: FetchPredicate.Comparator, _ bytes: [UInt8]) -> Filter {
            .bytes(
                BytesTest(
                    column: column.column, isUUID: column.type == .uuid, constant: bytes, comparator: comparator, nullResult: nullResult))
        }
        guard column.type == .decimal, [.lessThan, .lessThanOrEqual].contains(term.comparator) else { return test(term.comparator, bytes) }
        // The bytes of NaN are less than those of all numbers.
        return .and([test(.greaterThan, DecimalCode.notANumber), test(term.comparator, bytes)])
    }

    private func compileReference(_ term: Term, _ column: StoredColumn, _ nullResult: Bool) -> Filter? {
        guard [.equal, .notEqual, .in].contains(term.comparator), let objects = objectKeys(term) else { return nil }
        return .reference(
            ReferenceTest(
                column: column.column, keys: objects.keys, isNegated: term.comparator == .notEqual,
                nullResult: nullResult))
    }

    /// A list as a sequence of comparisons.
    private func compileList(_ term: Term, _ column: StoredColumn) -> Filter? {
        guard let values = list(term), values.count <= Self.listMax else { return nil }
        var filters: [Filter] = []
        for value in values {
            var single = term
            single.comparator = .equal
            single.value = value
            guard let filter = compile(single, column) else { return nil }
            filters.append(filter)
        }
        return filters.isEmpty ? .constant(false) : .or(filters)
    }

    private func list(_ term: Term) -> [PropertyValue]? {
        guard term.comparator == .in else { return nil }
        switch term.value {
        case .array(let values): return values
        case .set(let values): return Array(values)
        default: return nil
        }
    }
}

extension PropertyValue {
    fileprivate var isTextOrNull: Bool {
        switch self {
        case .string, .null: true
        default: false
        }
    }
}
