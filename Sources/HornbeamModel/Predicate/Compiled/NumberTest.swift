import Foundation

/// A comparison of a number with constants, prepared for integers and for doubles.
///
/// The comparison becomes a closed range of integers and an equivalent range of doubles. Numbers inside the range satisfy it or,
/// for `!=`, numbers outside.
package struct NumberTest: Sendable {
    /// True when nil satisfies the comparison.
    package let resultForNil: Bool
    private let isComplement: Bool
    private let integers: ClosedRange<Int64>?
    private let low: Double
    private let high: Double
    private let excludesLow: Bool
    private let excludesHigh: Bool

    /// The test for a term; nil for a term without a range: IN, or a constant that is not a number.
    package init?(_ term: PredicateAnalysis.Term) {
        guard term.modifier == .direct else { return nil }
        self.init(term.comparator, term.value) { value in
            switch value {
            case .int, .double: value
            // A large decimal with a fraction is between two integers that are equal as doubles.
            case .decimal(let number): value.intValue != nil || abs(number) < 0x1p50 ? value : nil
            default: nil
            }
        }
    }

    /// The test for a term with dates, which are compared as seconds since 2001.
    package init?(dates term: PredicateAnalysis.Term) {
        guard term.modifier == .direct else { return nil }
        self.init(term.comparator, term.value) { $0.dateValue.map { .double($0.timeIntervalSinceReferenceDate) } }
    }

    private init?(
        _ comparator: FetchPredicate.Comparator, _ value: PropertyValue, _ number: (PropertyValue) -> PropertyValue?
    ) {
        if value == .null {
            guard comparator == .equal || comparator == .notEqual else { return nil }
            self.init(between: nil, nil, isComplement: comparator == .notEqual, resultForNil: comparator == .equal)
            return
        }
        if comparator == .between {
            guard case .array(let bounds) = value, bounds.count == 2 else { return nil }
            guard let low = number(bounds[0]), let high = number(bounds[1]) else { return nil }
            self.init(between: Bound(low, excluded: false), Bound(high, excluded: false), isComplement: false, resultForNil: false)
            return
        }
        guard let constant = number(value) else { return nil }
        let closed = Bound(constant, excluded: false)
        let open = Bound(constant, excluded: true)
        let (least, greatest) = (Bound.least, Bound.greatest)
        switch comparator {
        case .equal: self.init(between: closed, closed, isComplement: false, resultForNil: false)
        case .notEqual: self.init(between: closed, closed, isComplement: true, resultForNil: true)
        case .lessThan: self.init(between: least, open, isComplement: false, resultForNil: false)
        case .lessThanOrEqual: self.init(between: least, closed, isComplement: false, resultForNil: false)
        case .greaterThan: self.init(between: open, greatest, isComplement: false, resultForNil: false)
        case .greaterThanOrEqual: self.init(between: closed, greatest, isComplement: false, resultForNil: false)
        default: return nil
        }
    }

    private struct Bound {
        var value: PropertyValue
        var excluded: Bool

        init(_ value: PropertyValue, excluded: Bool) {
            self.value = value
            self.excluded = excluded
        }

        static let least = Bound(.double(-.infinity), excluded: false)
        static let greatest = Bound(.double(.infinity), excluded: false)

        /// The bound for doubles. If the exact value is not a double, the nearest double with the same doubles inside.
        func double(isLow: Bool) -> (value: Double, excluded: Bool) {
            guard case .int(let integer) = value else { return (value.doubleValue ?? .nan, excluded) }
            let near = Double(integer)
            switch orderOf(integer: integer, double: near) {
            case .less: return (near, isLow ? false : true)
            case .greater: return (near, isLow ? true : false)
            default: return (near, excluded)
            }
        }

        /// The least or greatest integer inside the bound; nil when there is no such integer.
        func integer(isLow: Bool) -> Int64? {
            if let whole = value.intValue {
                guard excluded else { return whole }
                let (next, overflow) = whole.addingReportingOverflow(isLow ? 1 : -1)
                return overflow ? nil : next
            }
            let number = value.doubleValue ?? .nan
            if number.isNaN { return nil }
            if number >= 0x1p63 { return isLow ? nil : .max }
            if number < -0x1p63 { return isLow ? .min : nil }
            return Int64(number.rounded(isLow ? .up : .down))
        }
    }

    private init(between low: Bound?, _ high: Bound?, isComplement: Bool, resultForNil: Bool) {
        self.isComplement = isComplement
        self.resultForNil = resultForNil
        guard let low, let high else {
            (integers, self.low, self.high, excludesLow, excludesHigh) = (nil, .nan, .nan, false, false)
            return
        }
        (self.low, excludesLow) = low.double(isLow: true)
        (self.high, excludesHigh) = high.double(isLow: false)
        if let first = low.integer(isLow: true), let last = high.integer(isLow: false), first <= last {
            integers = first...last
        } else {
            integers = nil
        }
    }

    @inline(__always)
    package func holds(_ number: Int64?) -> Bool {
        guard let number else { return resultForNil }
        guard let integers else { return isComplement }
        return (number >= integers.lowerBound && number <= integers.upperBound) != isComplement
    }

    /// NaN is outside every range.
    @inline(__always)
    package func holds(_ number: Double?) -> Bool {
        guard let number else { return resultForNil }
        let isAbove = excludesLow ? number > low : number >= low
        let isBelow = excludesHigh ? number < high : number <= high
        return (isAbove && isBelow) != isComplement
    }
}
