internal import Foundation

extension PropertyValue {
    /// The order of two comparable values; nil for `nil`, NaN, collections, and values of
    /// different types.
    public func compared(to other: PropertyValue) -> ValueOrder? {
        switch (self, other) {
        case (.string(let a), .string(let b)): return compareUTF8(a, b)
        case (.date(let a), .date(let b)):
            return orderOf(a.timeIntervalSinceReferenceDate, b.timeIntervalSinceReferenceDate)
        case (.data(let a), .data(let b)):
            if a == b { return .same }
            return a.lexicographicallyPrecedes(b) ? .less : .greater
        case (.uuid(let a), .uuid(let b)): return orderOf(a, b)
        case (.uri(let a), .uri(let b)): return compareUTF8(a.absoluteString, b.absoluteString)
        case (.objectID(let a), .objectID(let b)): return a.order(to: b)
        default: return comparedAsNumbers(to: other)
        }
    }

    /// The position of this value relative to another in a sorted list. The order is total. Missing
    /// values come first, then numbers (NaN before the others), texts, dates, data, UUIDs, URIs,
    /// object IDs, collections.
    public func sortOrder(to other: PropertyValue) -> ValueOrder {
        if let order = compared(to: other) { return order }
        if sortRank != other.sortRank { return orderOf(sortRank, other.sortRank) ?? .same }
        switch (self, other) {
        case (.array(let a), .array(let b)):
            for (x, y) in zip(a, b) {
                let order = x.sortOrder(to: y)
                if order != .same { return order }
            }
            return orderOf(a.count, b.count) ?? .same
        case (.set(let a), .set(let b)): return orderOf(a.count, b.count) ?? .same
        case (.dictionary(let a), .dictionary(let b)): return orderOf(a.count, b.count) ?? .same
        default:
            let (a, b) = (isNaN, other.isNaN)
            return a == b ? .same : (a ? .less : .greater)
        }
    }

    var isNaN: Bool {
        switch self {
        case .double(let value): value.isNaN
        case .decimal(let value): value.isNaN
        default: false
        }
    }

    private var sortRank: Int {
        switch self {
        case .null: 0
        case .bool, .int, .double, .decimal: 1
        case .string: 2
        case .date: 3
        case .data: 4
        case .uuid: 5
        case .uri: 6
        case .objectID: 7
        case .array: 8
        case .set: 9
        case .dictionary: 10
        }
    }

    private func comparedAsNumbers(to other: PropertyValue) -> ValueOrder? {
        switch (self, other) {
        case (.double(let a), .double(let b)): return orderOf(a, b)
        case (.decimal(let a), .double(let b)): return orderOf(a.nearestDouble, b)
        case (.double(let a), .decimal(let b)): return orderOf(a, b.nearestDouble)
        case (.decimal(let a), .decimal(let b)): return orderOf(a, b)
        case (.double(let a), _):
            guard let b = other.smallInteger else { return nil }
            return orderOf(integer: b, double: a)?.reversed
        case (.decimal(let a), _):
            guard let b = other.smallInteger else { return nil }
            return orderOf(a, Decimal(b))
        default:
            guard let a = smallInteger else { return nil }
            switch other {
            case .double(let b): return orderOf(integer: a, double: b)
            case .decimal(let b): return orderOf(Decimal(a), b)
            default:
                guard let b = other.smallInteger else { return nil }
                return orderOf(a, b)
            }
        }
    }

    private var smallInteger: Int64? {
        switch self {
        case .int(let value): value
        case .bool(let value): value ? 1 : 0
        default: nil
        }
    }
}

/// The order of two texts by their UTF-8 bytes.
package func compareUTF8(_ a: String, _ b: String) -> ValueOrder {
    let fast = unsafe a.utf8.withContiguousStorageIfAvailable { x -> Int? in
        unsafe b.utf8.withContiguousStorageIfAvailable { y -> Int in
            guard let first = x.baseAddress, let second = y.baseAddress else { return x.count - y.count }
            let common = unsafe memcmp(first, second, min(x.count, y.count))
            return common == 0 ? x.count - y.count : Int(common)
        }
    }
    if case .some(.some(let difference)) = fast {
        return difference < 0 ? .less : (difference == 0 ? .same : .greater)
    }
    if a.utf8.elementsEqual(b.utf8) { return .same }
    return a.utf8.lexicographicallyPrecedes(b.utf8) ? .less : .greater
}

/// The order of an integer and a double. Exact also for integers that a conversion to double would round.
package func orderOf(integer: Int64, double: Double) -> ValueOrder? {
    if double.isNaN { return nil }
    if double >= 0x1p63 { return .less }
    if double < -0x1p63 { return .greater }
    let whole = double.rounded(.towardZero)
    let asInteger = Int64(whole)
    if integer != asInteger { return integer < asInteger ? .less : .greater }
    return orderOf(0, double - whole)
}

private func orderOf<T: Comparable>(_ a: T, _ b: T) -> ValueOrder? {
    a < b ? .less : (a > b ? .greater : (a == b ? .same : nil))
}

/// Nil for NaN, which `Decimal` orders before all numbers.
private func orderOf(_ a: Decimal, _ b: Decimal) -> ValueOrder? {
    if a.isNaN || b.isNaN { return nil }
    return a < b ? .less : (a > b ? .greater : .same)
}

extension Decimal {
    /// The double that is nearest to this number.
    package var nearestDouble: Double {
        isNaN ? .nan : Double(description) ?? .nan
    }
}
