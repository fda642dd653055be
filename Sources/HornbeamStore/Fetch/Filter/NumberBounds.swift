internal import Foundation
internal import HornbeamModel

/// A comparison of a number with a constant, as a range. On integers, `x > 3` is `4 ... max`, and `x != 3` is the negation of `3 ... 3`.
struct NumberBounds {
    var bounds: RangeTest.Bounds
    var isNegated = false

    /// Nil when cell and constant do not compare as numbers. The evaluator then compares them.
    init?(_ comparator: FetchPredicate.Comparator, _ value: PropertyValue, _ type: CellType) {
        if comparator == .between {
            guard case .array(let ends) = value, ends.count == 2,
                let low = NumberBounds(.greaterThanOrEqual, ends[0], type),
                let high = NumberBounds(.lessThanOrEqual, ends[1], type)
            else { return nil }
            bounds = low.bounds.intersection(high.bounds)
            return
        }
        switch type {
        case .int16, .int32, .int64:
            guard let range = Self.integers(comparator, value) else { return nil }
            bounds = RangeTest.Bounds.int(range.0, range.1).intersection(Self.all(type))
        case .double, .float, .date:
            guard let number = Self.double(value, type), let range = Self.doubles(comparator, number) else { return nil }
            bounds = .double(range.0, range.1)
        default: return nil
        }
        isNegated = comparator == .notEqual
    }

    /// The full range of a column of integers.
    static func all(_ type: CellType) -> RangeTest.Bounds {
        switch type {
        case .int16: .int(Int64(Int16.min), Int64(Int16.max))
        case .int32: .int(Int64(Int32.min), Int64(Int32.max))
        default: .int(.min, .max)
        }
    }

    // MARK: Whole numbers

    private static let nothing: (Int64, Int64) = (1, 0)

    /// The integers for which the comparison is true; for `!=`, those for which it is false.
    static func integers(_ comparator: FetchPredicate.Comparator, _ value: PropertyValue) -> (Int64, Int64)? {
        switch value {
        case .int(let number): return integers(comparator, number)
        case .double(let number): return integers(comparator, number)
        default: return nil
        }
    }

    private static func integers(_ comparator: FetchPredicate.Comparator, _ number: Int64) -> (Int64, Int64)? {
        switch comparator {
        case .equal, .notEqual: (number, number)
        case .lessThan: number == .min ? nothing : (.min, number - 1)
        case .lessThanOrEqual: (.min, number)
        case .greaterThan: number == .max ? nothing : (number + 1, .max)
        case .greaterThanOrEqual: (number, .max)
        default: nil
        }
    }

    private static func integers(_ comparator: FetchPredicate.Comparator, _ number: Double) -> (Int64, Int64)? {
        if let whole = Int64(exactly: number) { return integers(comparator, whole) }
        switch comparator {
        case .equal, .notEqual: return nothing
        case .lessThan, .lessThanOrEqual:
            if number.isNaN || number < -0x1p63 { return nothing }
            return number >= 0x1p63 ? (.min, .max) : (.min, Int64(number.rounded(.down)))
        case .greaterThan, .greaterThanOrEqual:
            if number.isNaN || number >= 0x1p63 { return nothing }
            return number < -0x1p63 ? (.min, .max) : (Int64(number.rounded(.up)), .max)
        default: return nil
        }
    }

    // MARK: Doubles

    /// The constant as a double that compares with the same result; nil when there is none.
    private static func double(_ value: PropertyValue, _ type: CellType) -> Double? {
        switch (value, type) {
        case (.date(let date), .date): date.timeIntervalSinceReferenceDate
        case (.double(let number), .double), (.double(let number), .float): number
        case (.int(let number), .double), (.int(let number), .float):
            number.magnitude <= 1 << 53 ? Double(number) : nil
        default: nil
        }
    }

    private static func doubles(_ comparator: FetchPredicate.Comparator, _ number: Double) -> (Double, Double)? {
        if number.isNaN { return comparator.isOrdering || [.equal, .notEqual].contains(comparator) ? (1, 0) : nil }
        switch comparator {
        case .equal, .notEqual: return (number, number)
        case .lessThan: return number == -.infinity ? (1, 0) : (-.infinity, number.nextDown)
        case .lessThanOrEqual: return (-.infinity, number)
        case .greaterThan: return number == .infinity ? (1, 0) : (number.nextUp, .infinity)
        case .greaterThanOrEqual: return (number, .infinity)
        default: return nil
        }
    }
}

extension RangeTest.Bounds {
    /// In an empty intersection the lower end is above the upper end.
    func intersection(_ other: RangeTest.Bounds) -> RangeTest.Bounds {
        switch (self, other) {
        case (.int(let a, let b), .int(let c, let d)):
            let (low, high) = (max(a, c), min(b, d))
            return low <= high ? .int(low, high) : .int(1, 0)
        case (.double(let a, let b), .double(let c, let d)):
            let (low, high) = (max(a, c), min(b, d))
            return low <= high ? .double(low, high) : .double(1, 0)
        default: return self
        }
    }
}
