/// One comparison of two values, options applied.
struct ComparisonTest {
    let comparator: FetchPredicate.Comparator
    let options: FetchPredicate.Options

    func holds(_ left: EvaluatedValue, _ right: EvaluatedValue) throws -> Bool {
        switch comparator {
        case .equal: return isEqual(left, right)
        case .notEqual: return !isEqual(left, right)
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            return order(left, right).map(comparator.holds) ?? false
        case .between: return isBetween(left, right)
        case .in: return isMember(left, of: right)
        case .contains: return isMember(right, of: left)
        case .beginsWith, .endsWith, .like, .matches, .typeEquals:
            guard case .value(.string(let text)) = left, case .value(.string(let other)) = right else { return false }
            return try StringTest(comparator, other, options)?.holds(text) ?? false
        case .typeConformsTo:
            throw HornbeamError(
                .predicateEvaluation,
                "UTI-CONFORMS-TO needs a registry of type identifiers, which this platform has not; list the types with IN.")
        }
    }

    // MARK: Equality

    func isEqual(_ left: EvaluatedValue, _ right: EvaluatedValue) -> Bool {
        switch (left, right) {
        case (.value(.string(let a)), .value(.string(let b))): return isEqual(a, b)
        case (.value(.dictionary(let a)), .value(.dictionary(let b))): return a == b
        default: break
        }
        if let a = left.elements, let b = right.elements {
            return isEqual(a, b, inOrder: left.isOrderedCollection && right.isOrderedCollection)
        }
        switch (left, right) {
        case (.value(let a), .value(let b)): return a.isEqual(to: b)
        case (.object, .object), (.object, .value), (.value, .object):
            return left.equalityKey == right.equalityKey
        case (.collection, _), (_, .collection): return false
        }
    }

    private func isEqual(_ a: String, _ b: String) -> Bool {
        let folding = TextFolding(options, isOrdering: false)
        return folding == .none ? a.utf8.elementsEqual(b.utf8) : folding.folded(a) == folding.folded(b)
    }

    private func isEqual(_ a: [EvaluatedValue], _ b: [EvaluatedValue], inOrder: Bool) -> Bool {
        guard a.count == b.count else { return false }
        if inOrder { return zip(a, b).allSatisfy { isEqual($0, $1) } }
        var rest = b
        for element in a {
            guard let place = rest.firstIndex(where: { isEqual(element, $0) }) else { return false }
            rest.remove(at: place)
        }
        return true
    }

    // MARK: Order

    /// The order of two values; nil where there is none, with nil and between kinds.
    func order(_ left: EvaluatedValue, _ right: EvaluatedValue) -> ValueOrder? {
        guard case .value(let a) = left, case .value(let b) = right else { return nil }
        guard case .string(let x) = a, case .string(let y) = b else { return a.compared(to: b) }
        let folding = TextFolding(options, isOrdering: true)
        guard folding != .none else { return compareUTF8(x, y) }
        let (p, q) = (folding.folded(x), folding.folded(y))
        return p == q ? .same : (p.lexicographicallyPrecedes(q) ? .less : .greater)
    }

    private func isBetween(_ value: EvaluatedValue, _ bounds: EvaluatedValue) -> Bool {
        guard let bounds = bounds.elements, bounds.count == 2 else { return false }
        guard let low = order(value, bounds[0]), let high = order(value, bounds[1]) else { return false }
        return low != .less && high != .greater
    }

    // MARK: Membership

    /// IN and CONTAINS: a member of a collection, or a part of a text.
    private func isMember(_ element: EvaluatedValue, of collection: EvaluatedValue) -> Bool {
        if case .value(.string(let text)) = collection, case .value(.string(let part)) = element {
            return (try? StringTest(.contains, part, options)?.holds(text)) ?? false
        }
        switch collection {
        case .value(.array(let values)): return values.contains { isEqual(element, .value($0)) }
        case .value(.set(let values)): return values.contains { isEqual(element, .value($0)) }
        default: return collection.elements?.contains { isEqual(element, $0) } ?? false
        }
    }
}
