/// The limit of work for the evaluation of one object.
///
/// A short format can require unlimited work: a key path over five to-many relationships, a SUBQUERY in a SUBQUERY,
/// a list that contains the same list a thousand times. Each step that reads the elements of a collection is charged before it runs.
/// The steps of LIKE and MATCHES are charged too, because their number does not depend only on the length of the text.
///
/// One unit is the cost of reading a value, about a tenth of a microsecond.
struct EvaluationBudget {
    /// The limit: far above the cost of practical predicates, and low enough that every evaluation ends within seconds.
    static let unitsMax = 10_000_000

    /// The maximum depth of nested collections, which limits recursion.
    private static let depthMax = 64

    /// The number of byte steps that cost as much as reading one value.
    private static let stepsInUnit = 16

    private var left: Int

    init(units: Int = unitsMax) { left = units }

    /// Without a limit, for one comparison of values that are already in memory.
    static var unbounded: Self {
        var work = Self()
        work.left = .max
        return work
    }

    /// The number of byte steps left.
    var stepsLeft: Int { left.multipliedReportingOverflow(by: Self.stepsInUnit).overflow ? .max : left * Self.stepsInUnit }

    /// Charges byte steps.
    mutating func charge(steps: Int) throws { try charge((steps + Self.stepsInUnit - 1) / Self.stepsInUnit) }

    /// Charges a number of elements, characters or steps.
    /// - Throws: `HornbeamError` with code `predicateEvaluation` when the limit is exceeded.
    mutating func charge(_ units: Int) throws {
        left = units < left ? left - units : -1
        if left < 0 { throw Self.exhausted }
    }

    /// Charges a text that is read as a whole. Reading a byte costs less than reading a value.
    mutating func charge(for text: String) throws { try charge(text.utf8.count >> 4) }

    /// Charges the elements of a value, but not their contents.
    mutating func charge(forMembersOf value: EvaluatedValue) throws {
        switch value {
        case .collection(let elements, _): try charge(elements.count)
        case .value(.array(let values)): try charge(values.count)
        case .value(.set(let values)): try charge(values.count)
        case .value(.dictionary(let pairs)): try charge(pairs.count)
        case .value(.string(let text)): try charge(for: text)
        case .value, .object: try charge(1)
        }
    }

    /// Charges a value with everything in it, nested collections included.
    mutating func charge(for value: EvaluatedValue, depth: Int = 0) throws {
        switch value {
        case .collection(let elements, _):
            try chargeNested(elements.count, depth)
            for element in elements { try charge(for: element, depth: depth + 1) }
        case .value(let plain): try charge(for: plain, depth)
        case .object: break
        }
    }

    private mutating func charge(for value: PropertyValue, _ depth: Int) throws {
        switch value {
        case .array(let values):
            try chargeNested(values.count, depth)
            for value in values { try charge(for: value, depth + 1) }
        case .set(let values):
            try chargeNested(values.count, depth)
            for value in values { try charge(for: value, depth + 1) }
        case .dictionary(let pairs):
            try chargeNested(pairs.count, depth)
            for value in pairs.values { try charge(for: value, depth + 1) }
        case .string(let text): try charge(for: text)
        default: break
        }
    }

    private mutating func chargeNested(_ members: Int, _ depth: Int) throws {
        try charge(1 + members)
        guard depth < Self.depthMax else {
            throw HornbeamError(
                .predicateEvaluation, "The predicate makes collections inside collections, more than \(Self.depthMax) deep.")
        }
    }

    private static var exhausted: HornbeamError {
        HornbeamError(
            .predicateEvaluation,
            "The predicate reads more than \(unitsMax) values for one object, so its evaluation was stopped. Use fewer to-many "
                + "relationships in one key path, and fewer SUBQUERYs inside one another.")
    }
}
