internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// The conditions on one property, as bounds of its component in an index key.
struct ComponentMatch {
    /// One component for each constant of an equality condition; nil when the conditions are a range.
    var equal: [[UInt8]]?
    /// The conditions that the bounds satisfy exactly, as positions in the list of conjuncts.
    var used: [Int]
    /// A range within the component, as bytes after the key's prefix: the lower bound is inclusive, the upper exclusive.
    var range: (lower: [UInt8], upper: [UInt8]?)?
}

/// Converts conditions into bytes of an index key.
struct IndexBounds {
    typealias Term = PredicateAnalysis.Term

    /// The length of components that a truncated key contains completely. A longer bound does not determine the value.
    static let exactMax = IndexKey.truncatedLength - 16

    let element: ValueIndex.Element
    let origins: StoreIdentities
    /// False for unique constraints, which have no entries for null.
    let containsNulls: Bool

    /// The conditions on the element's property that the index supports; nil when there are none.
    func match(
        _ terms: [(position: Int, term: Term)], _ conjuncts: [PredicateAnalysis.Conjunct]
    ) -> ComponentMatch? {
        guard case .expression(let node) = element.source else { return match(terms.filter { isOwn($0.term) }) }
        // The index contains calculated numbers as rounded doubles, so the rows are tested too.
        var match = match(conjuncts.compactMap { $0.comparison(of: node, isRounded: element.type == .double) }.map { (0, $0) })
        match?.used = []
        return match
    }

    /// True for a condition on the property, or on the element of a composite, that the component contains.
    private func isOwn(_ term: Term) -> Bool {
        guard term.modifier == .direct else { return false }
        if case .part(let steps) = element.source { return term.names == [element.property.name] + steps }
        return term.key == element.property.name
    }

    private func match(_ own: [(position: Int, term: Term)]) -> ComponentMatch? {
        for (position, term) in own {
            if let equal = equalComponents(term) { return ComponentMatch(equal: equal, used: [position]) }
        }
        return range(own)
    }

    // MARK: Equality

    private func equalComponents(_ term: Term) -> [[UInt8]]? {
        let values: [PropertyValue]
        switch (term.comparator, term.value) {
        case (.equal, let value): values = [value]
        case (.in, .array(let list)): values = list
        case (.in, .set(let list)): values = Array(list)
        default: return nil
        }
        guard comparesTextLike(term) else { return nil }
        var components: Set<[UInt8]> = []
        for value in values {
            guard let component = equalComponent(term, value) else { return nil }
            if let component { components.insert(component) }
        }
        return components.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The outer optional is nil when a component cannot express the value, the inner one when no entry equals the value.
    private func equalComponent(_ term: Term, _ value: PropertyValue) -> [UInt8]?? {
        if value.isNull {
            guard containsNulls else { return nil }
            return .some(directed([KeyBytes.null]))
        }
        switch element.type {
        case .int16, .int32, .int64, .double, .float, .date:
            guard let bounds = NumberBounds(.equal, value, element.type) else { return nil }
            let (low, high) = ends(bounds.bounds)
            return low == high ? .some(directed(low)) : .some(nil)
        default:
            guard let component = component(value) else { return nil }
            return .some(directed(component))
        }
    }

    /// True when index and condition compare text in the same way.
    private func comparesTextLike(_ term: Term) -> Bool {
        guard element.type == .string else { return true }
        if element.collation == .binary { return term.options.isEmpty || term.options == .normalized }
        return term.options == element.collation.options
    }

    /// The type byte and content of a value that compares by its bytes, ascending; nil when the value has another type, is too long, or is NaN.
    private func component(_ value: PropertyValue) -> [UInt8]? {
        let coerced: PropertyValue
        if case .decimal(let number) = value, number.isNaN { return nil }
        switch (element.type, value) {
        case (.string, .string), (.uri, .uri), (.data, .data), (.uuid, .uuid), (.decimal, .decimal), (.bool, .bool):
            coerced = value
        case (.decimal, .int(let number)): coerced = .decimal(Decimal(number))
        case (.bool, .int(let number)) where number == 0 || number == 1: coerced = .bool(number == 1)
        case (.reference, .objectID(let id)):
            guard origins.reference(id) != nil else { return nil }
            coerced = value
        default: return nil
        }
        var ascending = element
        ascending.form.isAscending = true
        var key = IndexKey()
        key.append(coerced, ascending)
        return key.bytes.count <= Self.exactMax ? key.bytes : nil
    }

    /// The ends of a range of numbers as components, ascending. For one value they are equal; for an empty range the lower is above the upper.
    private func ends(_ bounds: RangeTest.Bounds) -> ([UInt8], [UInt8]) {
        switch bounds {
        case .int(let low, let high): (number(.int(low)), number(.int(high)))
        case .double(let low, let high):
            switch element.type {
            case .float:
                (
                    number(.double(Double(Float(roundedUp: low)))),
                    number(.double(Double(Float(roundedDown: high))))
                )
            case .date:
                (
                    number(.date(Date(timeIntervalSinceReferenceDate: low))),
                    number(.date(Date(timeIntervalSinceReferenceDate: high)))
                )
            default: (number(.double(low)), number(.double(high)))
            }
        }
    }

    private func number(_ value: PropertyValue) -> [UInt8] {
        var ascending = element
        ascending.form.isAscending = true
        var key = IndexKey()
        key.append(value, ascending)
        return key.bytes
    }

    private func directed(_ component: [UInt8]) -> [UInt8] {
        element.isAscending ? component : component.map { ~$0 }
    }

    // MARK: Ranges

    /// A bound in ascending bytes. An inclusive bound includes every component with this prefix.
    private struct Bound {
        var bytes: [UInt8]
        var isInclusive: Bool
    }

    private func range(_ terms: [(position: Int, term: Term)]) -> ComponentMatch? {
        var lower: [UInt8] = directed([KeyBytes.present])
        var upper = KeyRange.successor(of: lower)
        var used: [Int] = []
        for (position, term) in terms {
            guard comparesTextLike(term), let (low, high) = bounds(term) else { continue }
            used.append(position)
            let (first, last) = element.isAscending ? (low, high) : (complemented(high), complemented(low))
            if let from = first.isInclusive ? first.bytes : KeyRange.successor(of: first.bytes) {
                if lower.lexicographicallyPrecedes(from) { lower = from }
            }
            let to = last.isInclusive ? KeyRange.successor(of: last.bytes) : last.bytes
            if let to, upper == nil || to.lexicographicallyPrecedes(upper!) { upper = to }
        }
        return used.isEmpty ? nil : ComponentMatch(equal: nil, used: used, range: (lower, upper))
    }

    private func complemented(_ bound: Bound) -> Bound {
        Bound(bytes: bound.bytes.map { ~$0 }, isInclusive: bound.isInclusive)
    }

    private func bounds(_ term: Term) -> (Bound, Bound)? {
        let open = Bound(bytes: [KeyBytes.present], isInclusive: true)
        switch element.type {
        case .int16, .int32, .int64, .double, .float, .date:
            guard term.comparator.isOrdering, let range = NumberBounds(term.comparator, term.value, element.type) else {
                return nil
            }
            let (low, high) = ends(range.bounds)
            return (Bound(bytes: low, isInclusive: true), Bound(bytes: high, isInclusive: true))
        case .string, .uri, .data, .uuid, .decimal:
            if term.comparator == .beginsWith { return prefixBounds(term) }
            if term.comparator == .between, case .array(let ends) = term.value, ends.count == 2 {
                guard let low = component(ends[0]), let high = component(ends[1]) else { return nil }
                return (Bound(bytes: low, isInclusive: true), Bound(bytes: high, isInclusive: true))
            }
            guard let bytes = component(term.value) else { return nil }
            // NaN has no order.
            let least = element.type == .decimal ? Bound(bytes: number(.decimal(.nan)), isInclusive: false) : open
            switch term.comparator {
            case .lessThan: return (least, Bound(bytes: bytes, isInclusive: false))
            case .lessThanOrEqual: return (least, Bound(bytes: bytes, isInclusive: true))
            case .greaterThan: return (Bound(bytes: bytes, isInclusive: false), open)
            case .greaterThanOrEqual: return (Bound(bytes: bytes, isInclusive: true), open)
            default: return nil
            }
        case .bool, .objectID, .composite, .reference: return nil
        }
    }

    private func prefixBounds(_ term: Term) -> (Bound, Bound)? {
        guard element.type == .string, case .string(let prefix) = term.value, !prefix.isEmpty else { return nil }
        var ascending = element
        ascending.form.isAscending = true
        var key = IndexKey()
        key.append(prefix: prefix, ascending)
        guard key.bytes.count <= Self.exactMax else { return nil }
        let bound = Bound(bytes: key.bytes, isInclusive: true)
        return (bound, bound)
    }
}

extension PredicateAnalysis.Conjunct {
    /// A comparison of an expression with a constant, as a condition on its value; nil for everything else.
    ///
    /// - Parameter isRounded: The value is stored as the nearest double, so the constant is rounded too and ranges include their ends.
    fileprivate func comparison(of expression: FetchExpression.Node, isRounded: Bool) -> PredicateAnalysis.Term? {
        guard case .other(.comparison(let comparison)) = self, comparison.modifier == .direct,
            comparison.left == expression, case .constant(var value) = comparison.right
        else { return nil }
        var comparator = comparison.comparator
        if isRounded {
            guard let number = value.doubleValue else { return nil }
            value = .double(number)
            if comparator == .lessThan { comparator = .lessThanOrEqual }
            if comparator == .greaterThan { comparator = .greaterThanOrEqual }
        }
        return PredicateAnalysis.Term(
            path: [], comparator: comparator, options: comparison.options, modifier: .direct, value: value)
    }
}
