internal import HornbeamEngine
internal import HornbeamModel

/// Compiles a predicate into a filter for the rows of one table.
struct FilterCompiler {
    typealias Term = PredicateAnalysis.Term

    let schema: Schema
    let origins: StoreIdentities
    let table: EntityTable
    /// True for conditions on the members of a collection. There a nil on a path is an element; elsewhere it is a collection without elements.
    private var isInCollection = false

    init(_ reader: RowReader, _ table: EntityTable) {
        schema = reader.schema
        origins = reader.origins
        self.table = table
    }

    private init(_ other: FilterCompiler, _ table: EntityTable) {
        schema = other.schema
        origins = other.origins
        self.table = table
        isInCollection = other.isInCollection
    }

    func compile(_ conjuncts: [PredicateAnalysis.Conjunct]) -> Filter {
        join(conjuncts.map { conjunct in
            switch conjunct {
            case .term(let term): compile(term) ?? general(term.node)
            case .other(let node): compile(node)
            }
        }, isAnd: true)
    }

    func compile(_ node: FetchPredicate.Node) -> Filter {
        switch node {
        case .constant(let value): return .constant(value)
        case .and(let nodes): return join(nodes.map(compile), isAnd: true)
        case .or(let nodes): return join(nodes.map(compile), isAnd: false)
        case .not(let node): return .not(compile(node))
        case .block: return general(node)
        case .comparison(let comparison):
            if let term = PredicateAnalysis.term(node) { return compile(term) ?? general(node) }
            return compileSubquery(comparison) ?? general(node)
        }
    }

    private func join(_ filters: [Filter], isAnd: Bool) -> Filter {
        if filters.count == 1 { return filters[0] }
        let ordered = filters.enumerated().sorted { ($0.element.cost, $0.offset) < ($1.element.cost, $1.offset) }
            .map(\.element)
        if ordered.isEmpty { return .constant(isAnd) }
        return isAnd ? .and(ordered) : .or(ordered)
    }

    func general(_ node: FetchPredicate.Node) -> Filter { .general(GeneralTest(predicate: FetchPredicate(node: node))) }

    // MARK: Terms

    /// Nil when the evaluator must test the term.
    func compile(_ term: Term) -> Filter? {
        guard let step = term.path.first else { return compileSelf(term) }
        guard case .name(let name) = step, let property = table.entity.propertiesByName[name] else { return nil }
        if property.isStoredToMany { return compileMembers(term, property) }
        guard let column = table.columns[property.index] else { return nil }
        if term.path.count > 1 { return compilePath(term, column) }
        guard term.modifier == .direct else { return nil }
        return compile(term, column)
    }

    /// `SELF == %@`, `SELF IN %@`.
    private func compileSelf(_ term: Term) -> Filter? {
        guard term.modifier == .direct, let keys = objectKeys(term) else { return nil }
        switch term.comparator {
        case .equal, .in: return .keys(keys.keys)
        case .notEqual: return .not(.keys(keys.keys))
        default: return nil
        }
    }

    /// The keys of the objects in a term, and whether nil is among them. Objects of other stores have no key here.
    func objectKeys(_ term: Term) -> (keys: Set<UInt64>, hasNull: Bool)? {
        let values: [PropertyValue]
        switch (term.comparator, term.value) {
        case (.equal, let value), (.notEqual, let value), (.contains, let value): values = [value]
        case (.in, .array(let list)): values = list
        case (.in, .set(let list)): values = Array(list)
        default: return nil
        }
        var keys: Set<UInt64> = []
        for case .objectID(let id) in values {
            if let reference = origins.reference(id) { keys.insert(reference.key) }
        }
        let others = values.filter { if case .objectID = $0 { false } else { !$0.isNull } }
        return others.isEmpty ? (keys, values.contains(.null)) : nil
    }

    // MARK: Over relationships

    private func compilePath(_ term: Term, _ column: StoredColumn) -> Filter? {
        guard column.type == .reference, let destination = column.property.destinationEntity else { return nil }
        var rest = term
        rest.path.removeFirst()
        guard let filters = filters(rest, destination), let missing = missingResult(rest) else { return nil }
        return .path(PathTest(column: column, filters: filters, missingResult: missing))
    }

    /// The result for a path in which an object before the last step is nil.
    private func missingResult(_ rest: Term) -> Bool? {
        switch rest.modifier {
        case .any where !isInCollection: return false
        case .all where !isInCollection: return true
        default: break
        }
        if case .collection(let operation)? = rest.path.last {
            return operation == .count ? rest.holds(.int(0)) : nil
        }
        return rest.holds(.null)
    }

    private func filters(_ term: Term, _ destination: EntityDescription) -> [Filter?]? {
        var filters = [Filter?](repeating: nil, count: schema.tables.count)
        for table in schema.tables(of: destination, includingSubentities: true) {
            guard let filter = FilterCompiler(self, table).compile(term) else { return nil }
            filters[Int(table.index)] = filter
        }
        return filters
    }

    private func compileMembers(_ term: Term, _ relationship: PropertyDescription) -> Filter? {
        let link = schema.link(relationship)
        var rest = term
        rest.path.removeFirst()
        if rest.path == [.collection(.count)], term.modifier == .direct {
            return count(link, filters: nil, term.comparator, term.value)
        }
        if term.modifier == .direct, term.comparator == .contains, rest.path.isEmpty, let objects = objectKeys(term),
            !objects.hasNull
        {
            return .members(MembersTest(link: link, filters: nil, condition: .containing(objects.keys)))
        }
        guard term.modifier != .direct, !rest.path.contains(where: \.isOperator),
            let destination = relationship.destinationEntity
        else { return nil }
        if !destination.passesToMany(rest.path) { rest.modifier = .direct }
        var inside = self
        inside.isInCollection = true
        guard let filters = inside.filters(rest, destination) else { return nil }
        return .members(MembersTest(link: link, filters: filters, condition: term.modifier == .any ? .any : .all))
    }

    private func count(
        _ link: LinkIndex, filters: [Filter?]?, _ comparator: FetchPredicate.Comparator, _ value: PropertyValue
    ) -> Filter? {
        guard let bounds = NumberBounds(comparator, value, .int64), case .int(let low, let high) = bounds.bounds else {
            return nil
        }
        if low > high { return .constant(bounds.isNegated) }
        return .members(
            MembersTest(link: link, filters: filters, condition: .count(low ... high, isNegated: bounds.isNegated)))
    }

    /// `SUBQUERY(toMany, $x, predicate of $x alone).@count > n`
    private func compileSubquery(_ comparison: FetchPredicate.Comparison) -> Filter? {
        guard comparison.modifier == .direct,
            case .keyPath(.subquery(.keyPath(.evaluatedObject, let path), let name, let inner), [.collection(.count)])
                = comparison.left,
            case .constant(let value) = comparison.right,
            path.count == 1, case .name(let key) = path[0],
            let relationship = table.entity.propertiesByName[key], relationship.isStoredToMany,
            let filters = filters(ofSubquery: inner, name, relationship)
        else { return nil }
        return count(schema.link(relationship), filters: filters, comparison.comparator, value)
    }

    /// The filters on the members that a SUBQUERY counts; nil when its predicate reads anything except the variable and constants.
    func filters(
        ofSubquery inner: FetchPredicate.Node, _ variable: String, _ relationship: PropertyDescription
    ) -> [Filter?]? {
        guard let destination = relationship.destinationEntity, let predicate = inner.conditions(of: variable) else { return nil }
        var filters = [Filter?](repeating: nil, count: schema.tables.count)
        for table in schema.tables(of: destination, includingSubentities: true) {
            var compiler = FilterCompiler(self, table)
            compiler.isInCollection = false
            filters[Int(table.index)] = compiler.compile(predicate)
        }
        return filters
    }
}

extension EntityDescription {
    /// True when a path from an object of the entity passes a to-many.
    func passesToMany(_ path: [FetchExpression.Step]) -> Bool {
        var entity: EntityDescription? = self
        for case .name(let name) in path {
            guard let property = entity?.propertiesByName[name] else { return false }
            if property.isToMany { return true }
            entity = property.destinationEntity
        }
        return false
    }
}

extension FetchExpression.Step {
    fileprivate var isOperator: Bool { if case .collection = self { true } else { false } }
}

extension FetchPredicate.Node {
    /// The predicate with the variable replaced by the evaluated object; nil when it reads anything except the variable and constants.
    fileprivate func conditions(of variable: String) -> FetchPredicate.Node? {
        var isAlone = true
        forEachExpression { expression in
            switch expression {
            case .evaluatedObject, .keyPath(.evaluatedObject, _), .anyKey, .assignment, .fetch, .subquery: isAlone = false
            case .variable(let name): isAlone = isAlone && name == variable
            default: break
            }
        }
        guard isAlone, !hasBlocks else { return nil }
        return mapExpressions { expression in
            if case .variable(variable) = expression { return .evaluatedObject }
            return expression
        }.simplified
    }
}

extension PredicateAnalysis.Term {
    /// Converts the term back into a predicate.
    var node: FetchPredicate.Node {
        .comparison(
            FetchPredicate.Comparison(
                path.isEmpty ? .evaluatedObject : .keyPath(.evaluatedObject, path), comparator, .constant(value),
                options: options, modifier: modifier))
    }

    /// The result of the comparison with a value in place of the path.
    func holds(_ left: PropertyValue) -> Bool? {
        let node = FetchPredicate.Node.comparison(
            FetchPredicate.Comparison(.constant(left), comparator, .constant(value), options: options))
        return try? FetchPredicate(node: node).evaluate(with: PropertyValue.null)
    }
}
