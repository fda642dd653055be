/// Evaluates a predicate for one object with one set of variables.
///
/// The logic has two values: every comparison is true or false, also for nil. This interpreter is the reference:
/// compiled predicates and stores return the same results. It throws only if a result is undefined: for an unknown
/// key, a variable without a value, ANY or ALL over a single value.
struct Evaluation {
    let object: EvaluatedValue
    var variables: [String: EvaluatedValue]
    private var work: EvaluationBudget

    init(_ object: EvaluatedValue, _ variables: [String: PropertyValue] = [:], work: EvaluationBudget = EvaluationBudget()) {
        self.work = work
        self.object = object
        self.variables = variables.mapValues { .value($0) }
    }

    mutating func holds(_ node: FetchPredicate.Node) throws -> Bool {
        switch node {
        case .constant(let value): return value
        case .comparison(let comparison): return try holds(comparison)
        case .and(let nodes):
            for node in nodes where try !holds(node) { return false }
            return true
        case .or(let nodes):
            for node in nodes where try holds(node) { return true }
            return false
        case .not(let node): return try !holds(node)
        case .block(let block): return try block.body(object, plainVariables)
        }
    }

    /// The variables in the form that blocks receive.
    private var plainVariables: [String: PropertyValue] { variables.compactMapValues(\.propertyValue) }

    private mutating func holds(_ comparison: FetchPredicate.Comparison) throws -> Bool {
        let left = try value(comparison.left)
        let right = try value(comparison.right)
        let test = ComparisonTest(comparator: comparison.comparator, options: comparison.options)
        switch comparison.modifier {
        case .direct:
            if comparison.left == .anyKey { return try left.members.contains { try test.holds($0, right, &work) } }
            if comparison.right == .anyKey { return try right.members.contains { try test.holds(left, $0, &work) } }
            return try test.holds(left, right, &work)
        case .any: return try collection(left, comparison).contains { try test.holds($0, right, &work) }
        case .all: return try collection(left, comparison).allSatisfy { try test.holds($0, right, &work) }
        }
    }

    /// The elements on the left side of ANY and ALL. A path that ends at nil has no elements.
    private func collection(_ left: EvaluatedValue, _ comparison: FetchPredicate.Comparison) throws -> [EvaluatedValue] {
        if left.isNull { return [] }
        if let elements = left.elements { return elements }
        let word = comparison.modifier == .all ? "ALL" : "ANY"
        throw HornbeamError(
            .predicateEvaluation,
            "\(word) needs a collection, but \(FetchExpression(node: comparison.left)) is a single value. Leave out \(word).")
    }

    mutating func value(_ node: FetchExpression.Node) throws -> EvaluatedValue {
        switch node {
        case .constant(let value): return .value(value)
        case .evaluatedObject: return object
        case .variable(let name): return try variable(name)
        case .keyPath(.evaluatedObject, let steps): return try object.value(along: steps[...], &work)
        case .keyPath(let root, let steps): return try value(root).value(along: steps[...], &work)
        case .function(let function, let nodes): return try call(function, nodes)
        case .set(let sign, let left, let right): return try combine(sign, value(left), value(right))
        case .subquery(let collection, let name, let predicate): return try subquery(value(collection), name, predicate)
        case .aggregate(let nodes): return try charged(.collection(try nodes.map { try value($0) }, isOrdered: true))
        case .anyKey: return try allValues()
        case .conditional(let predicate, let yes, let no): return try holds(predicate) ? value(yes) : value(no)
        case .index(let collection, let index): return try element(index, of: value(collection))
        case .cast(let inner, let type): return try cast(value(inner), type)
        case .assignment(let name, let inner):
            variables[name] = try value(inner)
            return variables[name]!
        case .block(let block): return .value(FetchExpression.normalized(try block.body(object, plainVariables)))
        case .fetch:
            throw HornbeamError(
                .predicateEvaluation, "FETCH is evaluated by a context only; run the request first and pass its result as %@.")
        }
    }

    private func variable(_ name: String) throws -> EvaluatedValue {
        guard let value = variables[name] else {
            throw HornbeamError(
                .predicateEvaluation,
                "The variable $\(name) has no value. Pass one when evaluating, or use substituting(_:) first.")
        }
        return value
    }

    /// Charges the size of a value and returns the value. The next step reads all of it.
    private mutating func charged(_ value: EvaluatedValue) throws -> EvaluatedValue {
        try work.charge(for: value)
        return value
    }

    private mutating func combine(
        _ sign: FetchExpression.SetOperator, _ left: EvaluatedValue, _ right: EvaluatedValue
    ) throws -> EvaluatedValue {
        try work.charge(for: left)
        try work.charge(for: right)
        return try sign.combine(left, right, &work)
    }

    private mutating func call(_ function: PredicateFunction, _ nodes: [FetchExpression.Node]) throws -> EvaluatedValue {
        var arguments: [EvaluatedValue] = []
        for node in nodes { arguments.append(try charged(value(node))) }
        switch function {
        case .distinct: return try distinct(arguments[0])
        case .replace:
            try chargeReplacing(arguments.map { $0.propertyValue?.stringValue })
            return function.result(arguments)
        default: return function.result(arguments)
        }
    }

    /// Charges a replacement before it runs: the search, and the new text, which can be many times longer than the arguments.
    private mutating func chargeReplacing(_ texts: [String?]) throws {
        guard let text = texts[0], let part = texts[1], let new = texts[2] else { return }
        try work.charge(steps: text.utf8.count.multipliedReportingOverflow(by: max(part.utf8.count, 1)).partialValue)
        try work.charge(steps: PredicateFunction.occurrences(of: part, in: text).count * new.utf8.count)
    }

    /// The elements of a collection without nil, each once.
    private mutating func distinct(_ collection: EvaluatedValue) throws -> EvaluatedValue {
        var seen = MemberTable()
        let members = try collection.members.filter { try !$0.isNull && seen.insert($0, &work) }
        return .collection(members, isOrdered: collection.isOrderedCollection)
    }

    private mutating func subquery(
        _ collection: EvaluatedValue, _ name: String, _ predicate: FetchPredicate.Node
    ) throws -> EvaluatedValue {
        let outer = variables[name]
        defer { variables[name] = outer }
        var matches: [EvaluatedValue] = []
        let members = collection.members
        try work.charge(members.count)
        for element in members {
            variables[name] = element
            try work.charge(1)
            if try holds(predicate) { matches.append(element) }
        }
        return .collection(matches, isOrdered: collection.isOrderedCollection)
    }

    private func allValues() throws -> EvaluatedValue {
        switch object {
        case .object(let keyed):
            guard let keys = keyed.evaluatedKeys else { break }
            return .collection(try keys.map { try keyed.evaluatedValue(forKey: $0) }, isOrdered: false)
        case .value(.dictionary(let pairs)):
            return .collection(pairs.values.map { .value($0) }, isOrdered: false)
        case .value, .collection: break
        }
        throw HornbeamError(.predicateEvaluation, "ANYKEY needs an object whose keys are known.")
    }

    private mutating func element(_ index: FetchExpression.Index, of collection: EvaluatedValue) throws -> EvaluatedValue {
        if case .value(let node) = index { return try element(value(node), of: collection) }
        try work.charge(forMembersOf: collection)
        guard let elements = collection.elements else { return .value(.null) }
        switch index {
        case .first: return elements.first ?? .value(.null)
        case .last: return elements.last ?? .value(.null)
        case .size, .value: return .value(.int(Int64(elements.count)))
        }
    }

    private mutating func element(_ key: EvaluatedValue, of collection: EvaluatedValue) throws -> EvaluatedValue {
        switch key {
        case .value(.string(let name)): return try collection.value(forKey: name, &work)
        case .value(let number):
            try work.charge(forMembersOf: collection)
            guard let place = number.intValue, let elements = collection.elements else { return .value(.null) }
            return elements.indices.contains(Int(place)) ? elements[Int(place)] : .value(.null)
        case .object, .collection: return .value(.null)
        }
    }

    private func cast(_ value: EvaluatedValue, _ type: FetchExpression.CastType) throws -> EvaluatedValue {
        if let plain = value.propertyValue, let result = type.cast(plain) { return .value(result) }
        return .value(.null)
    }
}
