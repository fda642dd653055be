/// A hash table of collection elements. It finds an equal element without a comparison with each element.
///
/// `ComparisonTest` determines equality, as in comparisons.
struct MemberTable {
    private let test: ComparisonTest
    private var buckets: [EvaluatedValue.EqualityKey: [EvaluatedValue]] = [:]

    init(_ members: [EvaluatedValue] = [], _ options: FetchPredicate.Options = []) {
        test = ComparisonTest(comparator: .equal, options: options)
        for member in members { buckets[key(of: member), default: []].append(member) }
    }

    /// The bucket of a value: the same for equal values, and different for most others. All collections share one bucket.
    private func key(of value: EvaluatedValue) -> EvaluatedValue.EqualityKey {
        switch value {
        case .value(.string(let text)): .text(TextFolding(test.options, isOrdering: false).folded(text))
        case .value(let plain): plain.isCollection ? .collection : value.equalityKey
        case .object: value.equalityKey
        case .collection: .collection
        }
    }

    func contains(_ value: EvaluatedValue, _ work: inout EvaluationBudget) throws -> Bool {
        try place(of: value, in: key(of: value), &work) != nil
    }

    /// Adds an element; false when an equal element exists. NaN is added only once, although it equals no value.
    mutating func insert(_ value: EvaluatedValue, _ work: inout EvaluationBudget) throws -> Bool {
        let key = key(of: value)
        if value.isNaN, buckets[key] != nil { return false }
        guard try place(of: value, in: key, &work) == nil else { return false }
        buckets[key, default: []].append(value)
        return true
    }

    /// Removes an equal element; false when there is no such element.
    mutating func remove(_ value: EvaluatedValue, _ work: inout EvaluationBudget) throws -> Bool {
        let key = key(of: value)
        guard let place = try place(of: value, in: key, &work) else { return false }
        buckets[key]?.remove(at: place)
        return true
    }

    private func place(
        of value: EvaluatedValue, in key: EvaluatedValue.EqualityKey, _ work: inout EvaluationBudget
    ) throws -> Int? {
        guard let candidates = buckets[key] else { return nil }
        try work.charge(1 + candidates.count)
        return try candidates.firstIndex { try test.isEqual(value, $0, &work) }
    }
}

extension EvaluatedValue {
    fileprivate var isNaN: Bool {
        if case .value(let value) = self { value.isNaN } else { false }
    }
}

extension PropertyValue {
    fileprivate var isCollection: Bool {
        switch self {
        case .array, .set, .dictionary: true
        default: false
        }
    }
}

extension FetchExpression.SetOperator {
    /// The result of a set operation on two collections. nil is an empty collection.
    func combine(
        _ left: EvaluatedValue, _ right: EvaluatedValue, _ work: inout EvaluationBudget
    ) throws -> EvaluatedValue {
        let others = MemberTable(right.members)
        var seen = MemberTable()
        var result: [EvaluatedValue] = []
        for member in left.members where try seen.insert(member, &work) {
            let isWanted =
                switch self {
                case .union: true
                case .intersect: try others.contains(member, &work)
                case .minus: try !others.contains(member, &work)
                }
            if isWanted { result.append(member) }
        }
        if self == .union {
            for member in right.members where try seen.insert(member, &work) { result.append(member) }
        }
        return .collection(result, isOrdered: false)
    }
}
