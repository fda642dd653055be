import Foundation

/// A predicate prepared for many objects of one type.
///
/// Keys are resolved and constants prepared once. Comparisons of a key with a constant run without
/// boxing; the interpreter evaluates all other parts. The results always equal those of `evaluate(with:)`.
/// Not `Sendable`: compile the predicate again for another thread.
/// ```swift
/// let matches = try CompiledPredicate<Place>(FetchPredicate(format: "latitude > 37 AND name ENDSWITH '7'"))
/// let found = try places.filter(matches.holds)
/// ```
public struct CompiledPredicate<Object> {
    typealias Test = (Object) throws -> Bool

    private let test: Test

    /// Compiles a predicate for objects of one type.
    ///
    /// - Parameters:
    ///   - predicate: The predicate to compile.
    ///   - variables: The values of the `$names` in the predicate.
    /// - Throws: `HornbeamError` with code `unknownKey` for a key that the type does not have.
    public init(_ predicate: FetchPredicate, variables: [String: PropertyValue] = [:]) throws where Object: TypedKeyedValues {
        let resolver = PredicateResolver<Object>(
            accessor: { key in
                guard let accessor = Object.accessor(forKey: key) else {
                    throw HornbeamError(.unknownKey, "The type \(Object.self) has no key “\(key)”.", key: key)
                }
                return accessor
            },
            evaluated: { .object($0) })
        try self.init(predicate, variables: variables, resolver: resolver)
    }

    /// Compiles for objects that the resolver can read.
    package init(
        _ predicate: FetchPredicate, variables: [String: PropertyValue] = [:], resolver: PredicateResolver<Object>
    ) throws {
        let analysis = PredicateAnalysis(predicate.substituting(variables))
        for path in analysis.keyPaths {
            if case .name(let key)? = path.first { _ = try resolver.accessor(key) }
        }
        test = try PredicateCompiler(resolver: resolver).test(analysis.predicate)
    }

    /// True when the predicate is true for the object.
    /// - Throws: The errors of `FetchPredicate.evaluate(with:variables:)`.
    public func holds(_ object: Object) throws -> Bool { try test(object) }
}

/// Compiles the nodes of a predicate into closures.
struct PredicateCompiler<Object> {
    typealias Test = CompiledPredicate<Object>.Test
    let resolver: PredicateResolver<Object>

    func test(_ node: FetchPredicate.Node) throws -> Test {
        switch node {
        case .constant(let value): return { _ in value }
        case .not(let inner):
            let test = try test(inner)
            return { try !test($0) }
        case .and(let nodes): return try all(nodes.map(test))
        case .or(let nodes): return try any(nodes.map(test))
        case .comparison, .block: return try term(node) ?? interpreted(node)
        }
    }

    private func all(_ tests: [Test]) -> Test {
        if tests.count == 2 {
            let (first, second) = (tests[0], tests[1])
            return { try first($0) && second($0) }
        }
        return { object in
            for test in tests where try !test(object) { return false }
            return true
        }
    }

    private func any(_ tests: [Test]) -> Test {
        { object in
            for test in tests where try test(object) { return true }
            return false
        }
    }

    private func interpreted(_ node: FetchPredicate.Node) -> Test {
        let evaluated = resolver.evaluated
        return { object in
            var evaluation = Evaluation(evaluated(object))
            return try evaluation.holds(node)
        }
    }

    /// The test of a comparison of one key with a constant; nil for other nodes.
    private func term(_ node: FetchPredicate.Node) throws -> Test? {
        guard let term = PredicateAnalysis.term(node), term.modifier == .direct, let key = term.key else { return nil }
        let accessor = try resolver.accessor(key)
        return try fast(accessor, term) ?? general(accessor, term)
    }

    private func general(_ accessor: KeyedAccessor<Object>, _ term: PredicateAnalysis.Term) -> Test {
        let test = ComparisonTest(comparator: term.comparator, options: term.options)
        let constant = EvaluatedValue.value(term.value)
        return { object in
            var work = EvaluationBudget()
            return try test.holds(accessor.evaluated(object), constant, &work)
        }
    }

    private func fast(_ accessor: KeyedAccessor<Object>, _ term: PredicateAnalysis.Term) throws -> Test? {
        switch accessor {
        case .int(let get):
            if let set = NumberSet(term) { return { object in set.holds(try get(object)) } }
            guard let test = NumberTest(term) else { return nil }
            return { object in test.holds(try get(object)) }
        case .bool(let get):
            guard let test = NumberTest(term) else { return nil }
            return { object in test.holds(try get(object).map { Int64($0 ? 1 : 0) }) }
        case .double(let get):
            if let set = NumberSet(term) { return { object in set.holds(try get(object)) } }
            guard let test = NumberTest(term) else { return nil }
            return { object in test.holds(try get(object)) }
        case .date(let get):
            guard let test = NumberTest(dates: term) else { return nil }
            return { object in test.holds(try get(object)?.timeIntervalSinceReferenceDate) }
        case .string(let get):
            guard let test = try TextTest(term) else { return nil }
            return { object in
                guard let text = try get(object) else { return test.resultForNil }
                return try test.holds(text)
            }
        case .utf8(let withBytes):
            guard let test = try TextTest(term) else { return nil }
            return { object in
                unsafe try withBytes(object) { bytes in unsafe try bytes.map { unsafe try test.holds($0) } ?? test.resultForNil }
            }
        case .value, .related: return nil
        }
    }
}
