internal import HornbeamModel

// Partial and expression indexes (MOD-9). The store has indexes only if their entries depend on the row alone. It ignores other ones, as MOD-9 allows.

/// The rows that a partial index contains.
struct IndexCondition: Sendable {
    let predicate: FetchPredicate
    /// The conjuncts of the predicate. The planner compares them with the conjuncts of a request.
    let conjuncts: [PredicateAnalysis.Conjunct]

    init(_ predicate: FetchPredicate) {
        self.predicate = predicate
        conjuncts = PredicateAnalysis(predicate).conjuncts
    }

    /// Returns false when the evaluation fails. Indexes whose predicate can fail are not storable (see `dependsOnRowAlone`).
    func holds(_ values: [String: PropertyValue]) -> Bool { (try? predicate.evaluate(with: values)) ?? false }

    /// True when every object that satisfies a request's conditions is in the index.
    func isImplied(by request: [PredicateAnalysis.Conjunct]) -> Bool {
        conjuncts.allSatisfy { own in request.contains { $0 == own || $0.implies(own) } }
    }
}

extension PredicateAnalysis.Conjunct {
    /// True when the constants show that this comparison implies the other.
    fileprivate func implies(_ other: Self) -> Bool {
        guard case .term(let term) = self, case .term(let wanted) = other, term.path == wanted.path,
            term.modifier == .direct, wanted.modifier == .direct
        else { return false }
        if wanted.comparator == .notEqual, wanted.value.isNull { return term.excludesNull }
        // With other options, texts that equal the constant can differ for the other comparison.
        let comparesAlike = term.options.isEmpty || term.options == wanted.options
        switch term.comparator {
        case .equal where !term.value.isNull: return comparesAlike && wanted.holds(forAllEqualTo: term.value)
        case .in:
            guard comparesAlike, case .array(let values) = term.value, !values.isEmpty else { return false }
            return values.allSatisfy { wanted.holds(forAllEqualTo: $0) }
        case .greaterThan, .greaterThanOrEqual:
            guard [.greaterThan, .greaterThanOrEqual].contains(wanted.comparator), term.options == wanted.options else { return false }
            return wanted.holds(forAllEqualTo: term.value) || (term.comparator == .greaterThan && term.value == wanted.value)
        case .lessThan, .lessThanOrEqual:
            guard [.lessThan, .lessThanOrEqual].contains(wanted.comparator), term.options == wanted.options else { return false }
            return wanted.holds(forAllEqualTo: term.value) || (term.comparator == .lessThan && term.value == wanted.value)
        default: return false
        }
    }
}

extension PredicateAnalysis.Term {
    /// True when the comparison is false for null.
    fileprivate var excludesNull: Bool { holds(.null) == false }

    /// Returns true only if the comparison is certainly true for every value that equals the constant.
    ///
    /// Returns false for numbers of different types, because several decimals equal the same nearest double. A double property compares with decimals as
    /// with their nearest doubles.
    fileprivate func holds(forAllEqualTo constant: PropertyValue) -> Bool {
        switch (constant, value) {
        case (.int, .int), (.double, .double): break
        case (.decimal(let number), .decimal): return holds(constant) == true && holds(.double(number.nearestDouble)) == true
        case (.int, _), (.double, _), (.decimal, _): return false
        default: break
        }
        return holds(constant) == true
    }
}

extension FetchIndex {
    /// The parsed predicate of a partial index; nil when the index contains all rows.
    var condition: FetchPredicate? {
        definition.partialPredicate.flatMap { $0.isEmpty ? nil : try? FetchPredicate(format: $0) }
    }

    /// True when the elements can be keys and the entries depend on the row alone. The store ignores other indexes (MOD-9).
    var isStorable: Bool {
        guard !definition.elements.isEmpty else { return false }
        if let condition, !condition.node.dependsOnRowAlone(of: entity) { return false }
        return definition.elements.allSatisfy { $0.kind == .binary && $0.keyType(in: entity) != nil }
    }
}

extension FetchIndexElement {
    /// The type of the element's keys; nil when the element cannot be a key.
    func keyType(in entity: EntityDescription) -> CellType? {
        guard isExpression else { return PropertyPath(property, in: entity)?.keyType }
        guard let expression = try? FetchExpression(format: property), expression.node.dependsOnRowAlone(of: entity) else { return nil }
        switch try? expression.validatedType(for: entity) {
        case .string: return .string
        case .number: return .double
        default: return nil
        }
    }
}

extension PropertyPath {
    /// The key type of the property or composite element at the path; nil when it cannot be a key.
    var keyType: CellType? {
        guard !compositeSteps.isEmpty else { return property.cellType == .composite ? nil : property.cellType }
        guard !property.isTransient, let type = attribute.flatMap({ CellType($0.type) }) else { return nil }
        return type == .composite || type == .objectID ? nil : type
    }
}

extension FetchPredicate.Node {
    /// True when the predicate's result depends on the row alone, does not change with time, and its evaluation cannot fail.
    func dependsOnRowAlone(of entity: EntityDescription) -> Bool {
        switch self {
        case .constant: true
        case .block: false
        case .not(let node): node.dependsOnRowAlone(of: entity)
        case .and(let nodes), .or(let nodes): nodes.allSatisfy { $0.dependsOnRowAlone(of: entity) }
        case .comparison(let comparison):
            comparison.modifier == .direct && comparison.comparator != .matches && comparison.comparator != .typeConformsTo
                && comparison.left.dependsOnRowAlone(of: entity) && comparison.right.dependsOnRowAlone(of: entity)
        }
    }
}

extension FetchExpression.Node {
    func dependsOnRowAlone(of entity: EntityDescription) -> Bool {
        switch self {
        case .constant(.objectID): false
        case .constant: true
        case .keyPath(.evaluatedObject, let steps): Self.isStored(steps, in: entity)
        case .function(let function, let nodes):
            !function.isVolatile && nodes.allSatisfy { $0.dependsOnRowAlone(of: entity) }
        case .aggregate(let nodes): nodes.allSatisfy { $0.dependsOnRowAlone(of: entity) }
        case .conditional(let condition, let yes, let no):
            condition.dependsOnRowAlone(of: entity) && yes.dependsOnRowAlone(of: entity) && no.dependsOnRowAlone(of: entity)
        case .cast(let node, _): node.dependsOnRowAlone(of: entity)
        case .keyPath, .evaluatedObject, .variable, .set, .subquery, .anyKey, .index, .assignment, .block, .fetch: false
        }
    }

    /// The names of the properties that the expression reads.
    var rowProperties: Set<String> {
        var names: Set<String> = []
        forEachExpression {
            if case .keyPath(.evaluatedObject, let steps) = $0, case .name(let name)? = steps.first { names.insert(name) }
        }
        return names
    }

    /// True when the steps name an attribute of the entity, an element of a composite, or a to-one.
    private static func isStored(_ steps: [FetchExpression.Step], in entity: EntityDescription) -> Bool {
        guard case .name(let name)? = steps.first, let property = entity.propertiesByName[name],
            let type = property.cellType, type != .objectID
        else { return false }
        if steps.count == 1 { return true }
        return type == .composite && steps.allSatisfy { if case .name = $0 { true } else { false } }
    }
}

extension FetchPredicate.Node {
    /// The names of the properties that the predicate reads.
    var rowProperties: Set<String> {
        var names: Set<String> = []
        forEachExpression { names.formUnion($0.rowProperties) }
        return names
    }
}
