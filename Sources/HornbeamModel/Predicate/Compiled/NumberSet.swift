import Foundation

/// The numbers of an IN list, sorted as integers and as doubles. Other elements are omitted, because they never equal a number.
package struct NumberSet: Sendable {
    /// True when the list contains nil.
    package let resultForNil: Bool
    private let integers: [Int64]
    private let doubles: [Double]

    /// The numbers of a term; nil when the term is not an IN with a list.
    package init?(_ term: PredicateAnalysis.Term) {
        guard term.modifier == .direct, term.comparator == .in, case .array(let values) = term.value else { return nil }
        self.init(values)
    }

    /// The dates of a term, as seconds since 2001; nil when the term is not an IN with a list.
    package init?(dates term: PredicateAnalysis.Term) {
        guard term.modifier == .direct, term.comparator == .in, case .array(let values) = term.value else { return nil }
        self.init(values.compactMap { value in
            if value == .null { return value }
            return value.dateValue.map { .double($0.timeIntervalSinceReferenceDate) }
        })
    }

    private init(_ values: [PropertyValue]) {
        resultForNil = values.contains(.null)
        let numbers = values.filter { $0.doubleValue != nil }
        integers = numbers.compactMap(\.intValue).sorted()
        // Omits a number without an equal double, such as 2⁵³ + 1.
        doubles = numbers.compactMap { number in
            number.doubleValue.flatMap { PropertyValue.double($0).isEqual(to: number) ? $0 : nil }
        }.sorted()
    }

    package func holds(_ number: Int64?) -> Bool {
        guard let number else { return resultForNil }
        return Self.find(number, in: integers)
    }

    package func holds(_ number: Double?) -> Bool {
        guard let number else { return resultForNil }
        return Self.find(number, in: doubles)
    }

    private static func find<Number: Comparable>(_ number: Number, in sorted: [Number]) -> Bool {
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] == number { return true }
            if sorted[middle] < number { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
