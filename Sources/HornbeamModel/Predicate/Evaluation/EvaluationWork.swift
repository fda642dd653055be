/// How much an evaluation may still do for one object.
///
/// A short format can ask for a walk without end: a key path over five to-many relationships, a SUBQUERY in a SUBQUERY,
/// a list that holds the same list a thousand times. Everything that looks at the members of a collection pays here first;
/// so do the steps of LIKE and MATCHES, whose number does not show in the length of a text.
///
/// A unit stands for a value that is looked at, about a tenth of a microsecond.
struct EvaluationWork {
    /// Far more than a question needs, and little enough to be over within seconds.
    static let unitsMax = 10_000_000

    /// Collections inside collections, no deeper than this, so that no walk over a value exhausts the stack.
    private static let depthMax = 64

    /// Steps over single bytes that cost as much as looking at a value.
    private static let stepsInUnit = 16

    private var left: Int

    init(units: Int = unitsMax) { left = units }

    /// For values that are there already and are compared once.
    static var unbounded: Self {
        var work = Self()
        work.left = .max
        return work
    }

    /// The steps over bytes that may still be made.
    var stepsLeft: Int { left.multipliedReportingOverflow(by: Self.stepsInUnit).overflow ? .max : left * Self.stepsInUnit }

    /// Pays for steps over single bytes.
    mutating func spend(steps: Int) throws { try spend((steps + Self.stepsInUnit - 1) / Self.stepsInUnit) }

    /// Pays for a number of members, characters or steps.
    /// - Throws: `HornbeamError` with code `predicateEvaluation` when too much was done already.
    mutating func spend(_ units: Int) throws {
        left = units < left ? left - units : -1
        if left < 0 { throw Self.exhausted }
    }

    /// Pays for a text that is looked at as a whole; bytes are cheaper than values.
    mutating func spend(for text: String) throws { try spend(text.utf8.count >> 4) }

    /// Pays for the members of a value and not for what is in them.
    mutating func spend(forMembersOf value: EvaluatedValue) throws {
        switch value {
        case .collection(let elements, _): try spend(elements.count)
        case .value(.array(let values)): try spend(values.count)
        case .value(.set(let values)): try spend(values.count)
        case .value(.dictionary(let pairs)): try spend(pairs.count)
        case .value(.string(let text)): try spend(for: text)
        case .value, .object: try spend(1)
        }
    }

    /// Pays for everything in a value, collections inside collections included.
    mutating func spend(for value: EvaluatedValue, depth: Int = 0) throws {
        switch value {
        case .collection(let elements, _):
            try enter(elements.count, depth)
            for element in elements { try spend(for: element, depth: depth + 1) }
        case .value(let plain): try spend(for: plain, depth)
        case .object: break
        }
    }

    private mutating func spend(for value: PropertyValue, _ depth: Int) throws {
        switch value {
        case .array(let values):
            try enter(values.count, depth)
            for value in values { try spend(for: value, depth + 1) }
        case .set(let values):
            try enter(values.count, depth)
            for value in values { try spend(for: value, depth + 1) }
        case .dictionary(let pairs):
            try enter(pairs.count, depth)
            for value in pairs.values { try spend(for: value, depth + 1) }
        case .string(let text): try spend(for: text)
        default: break
        }
    }

    private mutating func enter(_ members: Int, _ depth: Int) throws {
        try spend(1 + members)
        guard depth < Self.depthMax else {
            throw HornbeamError(
                .predicateEvaluation, "The predicate makes collections inside collections, more than \(Self.depthMax) deep.")
        }
    }

    private static var exhausted: HornbeamError {
        HornbeamError(
            .predicateEvaluation,
            "The predicate looks at more than \(unitsMax) values for one object, and was given up. Use fewer to-many "
                + "relationships in one key path, and fewer SUBQUERYs inside one another.")
    }
}
