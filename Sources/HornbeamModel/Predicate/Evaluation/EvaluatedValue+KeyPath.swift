import Foundation

extension EvaluatedValue {
    /// The value at the end of a key path. A key of nil has the value nil. A key of a collection has the values of all its elements, as a
    /// flat collection.
    func value(
        along steps: ArraySlice<FetchExpression.Step>, _ work: inout EvaluationBudget
    ) throws -> EvaluatedValue {
        var current = self
        var rest = steps
        while let step = rest.popFirst() {
            switch step {
            case .name(let key): current = try current.value(forKey: key, &work)
            case .collection(let found): return try current.aggregate(found, rest, &work)
            }
        }
        return current
    }

    /// The value of one key.
    func value(forKey key: String, _ work: inout EvaluationBudget) throws -> EvaluatedValue {
        switch self {
        case .object(let object): return try object.evaluatedValue(forKey: key)
        case .value(.null): return self
        case .value(.dictionary(let pairs)): return .value(pairs[key] ?? .null)
        case .value(let value) where elements == nil && key == "self": return .value(value)
        case .value(let value) where elements == nil && key == "description": return .value(.string(value.foundationDescription))
        case .value(.string(let text)) where key == "length": return .value(.int(Int64(text.utf16.count)))
        default:
            guard let elements else { throw noKey(key) }
            return .collection(try Self.mapped(elements, key, &work), isOrdered: isOrderedCollection)
        }
    }

    private static func mapped(
        _ elements: [EvaluatedValue], _ key: String, _ work: inout EvaluationBudget
    ) throws -> [EvaluatedValue] {
        try work.charge(elements.count)
        var result: [EvaluatedValue] = []
        result.reserveCapacity(elements.count)
        for element in elements {
            let value = try element.value(forKey: key, &work)
            guard let inner = value.elements, !value.isDictionary else {
                result.append(value)
                continue
            }
            try work.charge(inner.count)
            result += inner
        }
        return result
    }

    private func noKey(_ key: String) -> HornbeamError {
        let kind: String
        if case .value(let value) = self { kind = value.kindWithArticle } else { kind = "the value" }
        return HornbeamError(.predicateEvaluation, "There is no key “\(key)” in \(kind).", key: key)
    }

    // MARK: Collection operators

    private func aggregate(
        _ operation: FetchExpression.CollectionOperator, _ rest: ArraySlice<FetchExpression.Step>,
        _ work: inout EvaluationBudget
    ) throws -> EvaluatedValue {
        guard isNull || elements != nil else {
            throw HornbeamError(
                .predicateEvaluation, "@\(operation.rawValue) needs a collection, but the key path before it leads to a single value.")
        }
        let operands = try (isNull ? .collection([], isOrdered: true) : self).value(along: rest, &work).members
        for operand in operands { try work.charge(for: operand) }
        try work.charge(operands.count)
        let numbers = operands.compactMap { element -> PropertyValue? in
            if case .value(let value) = element, value != .null { value } else { nil }
        }
        switch operation {
        case .count: return .value(.int(Int64(operands.count)))
        case .sum, .avg, .min, .max: return .value(operation.total(numbers) ?? .null)
        case .unionOfObjects, .unionOfArrays, .unionOfSets:
            return .collection(operands.filter { !$0.isNull }, isOrdered: isOrderedCollection)
        case .distinctUnionOfObjects, .distinctUnionOfArrays, .distinctUnionOfSets:
            var seen = MemberTable()
            let distinct = try operands.filter { try !$0.isNull && seen.insert($0, &work) }
            return .collection(distinct, isOrdered: isOrderedCollection)
        }
    }
}

extension FetchExpression.CollectionOperator {
    /// The total of values other than nil; nil for the other operators.
    package func total(_ values: [PropertyValue]) -> PropertyValue? {
        switch self {
        case .sum: Arithmetic.sum(values)
        case .avg: Arithmetic.average(values)
        case .min: Arithmetic.extreme(values, .less)
        case .max: Arithmetic.extreme(values, .greater)
        default: nil
        }
    }
}

extension PropertyValue {
    /// The value of the key `description` for Foundation's classes.
    fileprivate var foundationDescription: String {
        switch self {
        case .bool(let truth): truth ? "1" : "0"
        case .double(let number): Int64(exactly: number).map(String.init) ?? "\(number)"
        // Foundation ends the process for a date that is no number, and describes other dates beyond its calendar with these words.
        case .date(let date): date.timeIntervalSinceReferenceDate.isNaN ? "<description unavailable>" : date.description
        case .data(let bytes): (bytes as NSData).description
        default: description
        }
    }
}
