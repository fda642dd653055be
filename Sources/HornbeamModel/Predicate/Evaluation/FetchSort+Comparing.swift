extension FetchSort {
    /// The order of two values of the key path, with direction and comparison.
    ///
    /// nil is the least value: it comes first in ascending order and last in descending order.
    package func order(_ a: PropertyValue, _ b: PropertyValue) -> ValueOrder {
        let order = ascendingOrder(a, b)
        return isAscending ? order : order.reversed
    }

    private func ascendingOrder(_ a: PropertyValue, _ b: PropertyValue) -> ValueOrder {
        guard comparison != .standard, case .string(let x) = a, case .string(let y) = b else { return a.sortOrder(to: b) }
        if comparison == .localizedStandard { return Folding.localizedStandardOrder(x, y) }
        let (p, q) = (Folding.fold(x, .caseInsensitive), Folding.fold(y, .caseInsensitive))
        return p == q ? .same : (p.lexicographicallyPrecedes(q) ? .less : .greater)
    }

    /// The value of the key path for comparisons.
    package func key(of object: EvaluatedValue, _ steps: [FetchExpression.Step]) throws -> PropertyValue {
        var work = EvaluationBudget()
        return try object.value(along: steps[...], &work).propertyValue ?? .null
    }

    /// The order of two objects by this criterion.
    /// - Throws: The object's error for an unknown key.
    package func order(_ a: some KeyedValues, _ b: some KeyedValues) throws -> ValueOrder {
        let steps = try steps
        return order(try key(of: .object(a), steps), try key(of: .object(b), steps))
    }

    /// The steps of the key path.
    /// - Throws: `HornbeamError` with code `predicateSyntax` when the text is not a key path.
    package var steps: [FetchExpression.Step] {
        get throws {
            guard case .keyPath(.evaluatedObject, let steps) = try FetchExpression(keyPath: keyPath).node else { return [] }
            return steps
        }
    }
}

extension Sequence where Element: KeyedValues {
    /// The elements sorted by the criteria. Elements that are equal in all criteria are ordered by ID, or
    /// stay in their order if they have no ID. Reads every key once and makes O(n log n) comparisons.
    /// - Throws: The element's error for an unknown key.
    public func sorted(by criteria: [FetchSort]) throws -> [Element] {
        let paths = try criteria.map { try $0.steps }
        let rows = try enumerated().map { place, element in
            let object = EvaluatedValue.object(element)
            let keys = try zip(criteria, paths).map { try $0.key(of: object, $1) }
            return (element: element, keys: keys, identity: element.evaluatedIdentity ?? .null, place: place)
        }
        return rows.sorted { a, b in
            for (criterion, (x, y)) in zip(criteria, zip(a.keys, b.keys)) {
                let order = criterion.order(x, y)
                if order != .same { return order == .less }
            }
            let order = a.identity.sortOrder(to: b.identity)
            return order == .same ? a.place < b.place : order == .less
        }.map(\.element)
    }
}
