/// One comparison of two values with its options.
struct ComparisonTest {
    let comparator: FetchPredicate.Comparator
    let options: FetchPredicate.Options

    /// - Throws: `HornbeamError` with code `predicateEvaluation` for an undefined comparison, or one that exceeds the limit of work.
    func holds(_ left: EvaluatedValue, _ right: EvaluatedValue, _ work: inout EvaluationBudget) throws -> Bool {
        try work.charge(forMembersOf: left)
        try work.charge(forMembersOf: right)
        switch comparator {
        case .equal: return try isEqual(left, right, &work)
        case .notEqual: return try !isEqual(left, right, &work)
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            return order(left, right).map(comparator.holds) ?? false
        case .between: return isBetween(left, right)
        case .in: return try isMember(left, of: right, &work)
        case .contains: return try isMember(right, of: left, &work)
        case .matches:
            guard case .value(.string(let text)) = left, case .value(.string(let pattern)) = right else { return false }
            return try BoundedPattern.cached(pattern, options, &work).matches(text, &work)
        case .beginsWith, .endsWith, .like, .typeEquals:
            guard case .value(.string(let text)) = left, case .value(.string(let other)) = right else { return false }
            return try StringTest(comparator, other, options)?.holds(text, &work) ?? false
        case .typeConformsTo:
            throw HornbeamError(
                .predicateEvaluation,
                "UTI-CONFORMS-TO needs a registry of type identifiers, which this platform does not have; list the types with IN.")
        }
    }

    // MARK: Equality

    func isEqual(_ left: EvaluatedValue, _ right: EvaluatedValue, _ work: inout EvaluationBudget) throws -> Bool {
        switch (left, right) {
        case (.value(.string(let a)), .value(.string(let b))):
            try work.charge(for: a)
            try work.charge(for: b)
            return isEqual(a, b)
        case (.value(.dictionary(let a)), .value(.dictionary(let b))): return try isEqual(a, b, &work)
        default: break
        }
        if let a = left.elements, let b = right.elements {
            return try isEqual(a, b, inOrder: left.isOrderedCollection && right.isOrderedCollection, &work)
        }
        switch (left, right) {
        case (.value(.null), .value(.null)): return true
        case (.value(let a), .value(let b)): return a.compared(to: b) == .same
        case (.object, .object), (.object, .value), (.value, .object):
            return left.equalityKey == right.equalityKey
        case (.collection, _), (_, .collection): return false
        }
    }

    private func isEqual(_ a: String, _ b: String) -> Bool {
        let folding = TextFolding(options, isOrdering: false)
        return folding == .none ? a.utf8.elementsEqual(b.utf8) : folding.folded(a) == folding.folded(b)
    }

    private func isEqual(
        _ a: [EvaluatedValue], _ b: [EvaluatedValue], inOrder: Bool, _ work: inout EvaluationBudget
    ) throws -> Bool {
        guard a.count == b.count else { return false }
        if inOrder {
            try work.charge(a.count)
            return try zip(a, b).allSatisfy { try isEqual($0, $1, &work) }
        }
        var rest = MemberTable(b, options)
        return try a.allSatisfy { try rest.remove($0, &work) }
    }

    /// Compares two dictionaries. A missing key has the value nil.
    private func isEqual(
        _ a: [String: PropertyValue], _ b: [String: PropertyValue], _ work: inout EvaluationBudget
    ) throws -> Bool {
        try work.charge(a.count + b.count)
        for (key, value) in a where try !isEqual(.value(value), .value(b[key] ?? .null), &work) { return false }
        return b.allSatisfy { a[$0.key] != nil || $0.value.isNull }
    }

    // MARK: Order

    /// The order of two values; nil for nil and for values of different types.
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

    /// IN and CONTAINS: true when the value is an element of the collection, or the text is a part of the other text.
    private func isMember(
        _ element: EvaluatedValue, of collection: EvaluatedValue, _ work: inout EvaluationBudget
    ) throws -> Bool {
        if case .value(.string(let text)) = collection, case .value(.string(let part)) = element {
            return try StringTest(.contains, part, options)?.holds(text, &work) ?? false
        }
        switch collection {
        case .value(.array(let values)): return try values.contains { try isEqual(element, .value($0), &work) }
        case .value(.set(let values)): return try values.contains { try isEqual(element, .value($0), &work) }
        default: return try collection.elements?.contains { try isEqual(element, $0, &work) } ?? false
        }
    }
}
