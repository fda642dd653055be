internal import HornbeamEngine
internal import HornbeamModel

/// A predicate compiled for the rows of one table. It reads cells directly where possible and calls the evaluator otherwise.
///
/// As in predicates, the logic has two values: a filter is true or false for every row, even if a value is null.
indirect enum Filter: Sendable {
    case constant(Bool)
    case range(RangeTest)
    case flag(FlagTest)
    case null(NullTest)
    case reference(ReferenceTest)
    case numbers(NumberSetTest)
    case text(TextTest)
    case texts(TextSetTest)
    case bytes(BytesTest)
    case keys(Set<UInt64>)
    case path(PathTest)
    case members(MembersTest)
    case and([Filter])
    case or([Filter])
    case not(Filter)
    case general(GeneralTest)

    /// The approximate cost of testing a row, in comparisons of numbers. AND and OR test their cheapest parts first.
    var cost: Int {
        switch self {
        case .constant: 0
        case .range, .flag, .null: 1
        case .reference, .numbers, .keys: 2
        case .text, .texts, .bytes: 8
        case .path(let test): 20 + test.cost
        case .members: 60
        case .and(let filters), .or(let filters): filters.reduce(0) { $0 + $1.cost }
        case .not(let filter): filter.cost
        case .general: 200
        }
    }

    /// The kind of the filter in the text of a plan.
    var kind: Kind {
        switch self {
        case .constant, .range, .flag, .null, .reference, .numbers, .keys: .columns
        case .text, .texts, .bytes: .texts
        case .path, .members: .relationships
        case .and(let filters), .or(let filters): filters.map(\.kind).max() ?? .columns
        case .not(let filter): filter.kind
        case .general: .evaluator
        }
    }

    enum Kind: Int, Comparable {
        case columns, texts, relationships, evaluator
        static func < (a: Kind, b: Kind) -> Bool { a.rawValue < b.rawValue }
    }
}

/// A test of a boolean column: the results for false, true and null.
struct FlagTest: Sendable {
    let column: Int
    let falseResult: Bool
    let trueResult: Bool
    let nullResult: Bool

    func holds(_ row: RowView) -> Bool {
        row.isNull(column) ? nullResult : (row.bit(column) ? trueResult : falseResult)
    }
}

/// `x == nil` and `x != nil`.
struct NullTest: Sendable {
    let column: Int
    let matchesNull: Bool

    func holds(_ row: RowView) -> Bool { row.isNull(column) == matchesNull }
}

/// Tests whether a to-one refers to one of the objects or, if `isNegated`, to another object.
struct ReferenceTest: Sendable {
    let column: Int
    let keys: Set<UInt64>
    let isNegated: Bool
    let nullResult: Bool

    func holds(_ row: RowView) -> Bool {
        if row.isNull(column) { return nullResult }
        return keys.contains(row.load(column, as: UInt64.self)) != isNegated
    }
}

/// Tests whether an integer is in a list.
struct NumberSetTest: Sendable {
    let column: StoredColumn
    let numbers: Set<Int64>
    let nullResult: Bool

    func holds(_ row: RowView) -> Bool {
        row.isNull(column.column) ? nullResult : numbers.contains(column.int(in: row))
    }
}

/// A comparison of text with an operator.
struct TextTest: Sendable {
    let column: Int
    let test: StringTest
    let nullResult: Bool
    /// `test` on the bytes of the leaf, for operators that do not fold text. It avoids a call for each row.
    var pattern: BytePattern?

    func holds(_ row: RowView, _ context: FilterContext) throws(EngineError) -> Bool {
        if row.isNull(column) { return nullResult }
        var failure: (any Error)?
        let result = unsafe try row.withBytes(column) { bytes in
            do {
                return unsafe try test.holds(bytes.assumingMemoryBound(to: UInt8.self))
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw context.fail(failure) }
        return result
    }
}

/// Tests whether a text is in a list, byte for byte.
struct TextSetTest: Sendable {
    let column: Int
    let texts: ByteSet
    let nullResult: Bool

    func holds(_ row: RowView) throws(EngineError) -> Bool {
        unsafe row.isNull(column) ? nullResult : try row.withBytes(column) { unsafe texts.contains($0) }
    }
}

/// Compares the bytes of a UUID, data or decimal cell with a constant.
struct BytesTest: Sendable {
    let column: Int
    let isUUID: Bool
    let constant: [UInt8]
    let comparator: FetchPredicate.Comparator
    let nullResult: Bool

    func holds(_ row: RowView) throws(EngineError) -> Bool {
        if row.isNull(column) { return nullResult }
        if isUUID {
            let cell = row.load(column, as: CellOf16.self)
            return unsafe withUnsafeBytes(of: cell) { unsafe comparator.holds(for: order($0)) }
        }
        return unsafe try row.withBytes(column) { unsafe comparator.holds(for: order($0)) }
    }

    private func order(_ cell: UnsafeRawBufferPointer) -> ValueOrder {
        if unsafe cell.elementsEqual(constant) { return .same }
        return unsafe cell.lexicographicallyPrecedes(constant) ? .less : .greater
    }
}

/// Sixteen bytes in the format of a cell.
struct CellOf16: BitwiseCopyable {
    var first: UInt64 = 0
    var second: UInt64 = 0
}

/// A test that needs the evaluator.
struct GeneralTest: Sendable {
    let predicate: FetchPredicate
}
