extension PredicateValidator {
    /// The type of an expression's values.
    mutating func type(of node: FetchExpression.Node) throws -> ExpressionType {
        switch node {
        case .constant(let value): return ExpressionType(value)
        case .evaluatedObject: return root
        case .variable(let name): return variables[name] ?? .unknown
        case .keyPath(let root, let steps):
            let start = try type(of: root)
            return try type(of: steps[...], from: start)
        case .function(let function, let nodes): return try type(of: function, nodes)
        case .set(_, let left, let right): return .collection(.common([try member(of: left), try member(of: right)]))
        case .subquery(let collection, let name, let predicate): return try subquery(collection, name, predicate)
        case .aggregate(let nodes):
            var types: [ExpressionType] = []
            for node in nodes { types.append(try type(of: node)) }
            return .collection(.common(types))
        case .anyKey, .block: return .unknown
        case .conditional(let predicate, let yes, let no):
            try check(predicate)
            return .common([try type(of: yes), try type(of: no)])
        case .index(let collection, let index): return try element(index, of: collection)
        case .cast(let inner, let cast):
            _ = try type(of: inner)
            return cast.type
        case .assignment(let name, let inner):
            variables[name] = try type(of: inner)
            return variables[name] ?? .unknown
        case .fetch: throw invalid("FETCH is evaluated by a context only; run the request first and pass its result as %@.")
        }
    }

    private mutating func member(of node: FetchExpression.Node) throws -> ExpressionType {
        switch try type(of: node) {
        case .collection(let member): return member
        case .unknown, .null: return .unknown
        case let other:
            throw invalid("UNION, INTERSECT and MINUS need collections, but “\(FetchExpression(node: node))” is \(other.words).")
        }
    }

    private mutating func subquery(
        _ collection: FetchExpression.Node, _ name: String, _ predicate: FetchPredicate.Node
    ) throws -> ExpressionType {
        let whole = try type(of: collection)
        let outer = variables[name]
        defer { variables[name] = outer }
        switch whole {
        case .collection(let member): variables[name] = member
        case .unknown, .null: variables[name] = .unknown
        default: throw invalid("SUBQUERY needs a collection, but “\(FetchExpression(node: collection))” is \(whole.words).")
        }
        try check(predicate)
        return whole
    }

    private mutating func element(_ index: FetchExpression.Index, of node: FetchExpression.Node) throws -> ExpressionType {
        let whole = try type(of: node)
        if case .value(let inner) = index, case .dictionary(let elements) = whole {
            _ = try type(of: inner)
            guard case .constant(.string(let key)) = inner else { return .unknown }
            return elements?[key] ?? .unknown
        }
        switch (whole, index) {
        case (.collection, .size): return .number
        case (.collection(let member), _): return member
        case (.unknown, _), (.null, _): return .unknown
        default: throw invalid("An index needs a collection, but “\(FetchExpression(node: node))” is \(whole.words).")
        }
    }

    // MARK: Key paths

    private mutating func type(of steps: ArraySlice<FetchExpression.Step>, from start: ExpressionType) throws -> ExpressionType {
        var current = start
        var rest = steps
        while let step = rest.popFirst() {
            switch step {
            case .name(let key): current = try type(of: key, in: current)
            case .collection(let operation): return try type(of: operation, rest, over: current)
            }
        }
        return current
    }

    private mutating func type(of key: String, in owner: ExpressionType) throws -> ExpressionType {
        switch owner {
        case .unknown, .null, .object(nil), .dictionary(nil): return .unknown
        case .object(let entity?): return try type(of: key, of: entity)
        case .collection(let member):
            let inner = try type(of: key, in: member)
            if case .collection = inner { return inner }
            return .collection(inner)
        case .dictionary(let elements?):
            if let type = elements[key] { return type }
            throw invalid("There is no element “\(key)” in the composite" + suggestion(for: key, among: elements.keys) + ".", key: key)
        case .string where key == "length": return .number
        case _ where key == "self": return owner
        case _ where key == "description": return .string
        default: throw invalid("There is no key “\(key)” in \(owner.words).", key: key)
        }
    }

    private mutating func type(of key: String, of owner: EntityDescription) throws -> ExpressionType {
        if let property = owner.propertiesByName[key] {
            guard !property.isTransient || !readsStore else {
                throw invalid("“\(owner.name).\(key)” is transient, so no store contains its values; filter the fetched objects instead.", key: key)
            }
            if let attribute = property.attribute { return ExpressionType(attribute, elements: property.compositeElements) }
            let object = ExpressionType.object(property.destinationEntity)
            return property.isToMany ? .collection(object) : object
        }
        guard owner.fetchedPropertiesByName[key] == nil else {
            throw invalid("“\(owner.name).\(key)” is a fetched property, which predicates cannot follow.", key: key)
        }
        throw invalid(
            "“\(owner.name)” has no property “\(key)”" + suggestion(for: key, among: owner.properties.map(\.name)) + ".", key: key)
    }

    private mutating func type(
        of operation: FetchExpression.CollectionOperator, _ rest: ArraySlice<FetchExpression.Step>,
        over owner: ExpressionType
    ) throws -> ExpressionType {
        switch owner {
        case .collection, .unknown, .null: break
        default: throw invalid("@\(operation.rawValue) needs a collection, but has \(owner.words).")
        }
        guard case .collection(let operand) = try type(of: rest, from: owner) else { return operation == .count ? .number : .unknown }
        switch operation {
        case .count: return .number
        case .sum, .avg:
            guard operand.canHaveType(.number) else { throw invalid("@\(operation.rawValue) needs numbers, but has \(operand.words).") }
            return .number
        case .min, .max:
            guard operand.isOrdered else { throw invalid("@\(operation.rawValue) needs values with an order, but has \(operand.words).") }
            return operand
        default: return .collection(operand)
        }
    }

    // MARK: Functions

    private mutating func type(of function: PredicateFunction, _ nodes: [FetchExpression.Node]) throws -> ExpressionType {
        var types: [ExpressionType] = []
        for node in nodes { types.append(try type(of: node)) }
        switch function {
        case .noIndex: return types[0]
        case .distinct:
            if case .collection = types[0] { return types[0] }
            return .collection(types[0])
        case .now: return .date
        case .random, .distance, .count: return .number
        case .mode: return .collection(.unknown)
        case .sum, .average, .median, .standardDeviation, .min, .max: return aggregate(function, types)
        case .uppercase, .lowercase, .canonical, .length, .trim, .substring:
            guard types[0].canHaveType(.string) else { throw wrongArgument(function, "a string", types[0]) }
            for type in types.dropFirst() where !type.canHaveType(.number) { throw wrongArgument(function, "numbers", type) }
            return function == .length ? .number : .string
        case .replace:
            for type in types where !type.canHaveType(.string) { throw wrongArgument(function, "strings", type) }
            return .string
        case .add, .subtract: return try sum(function, types)
        default:
            for type in types where !type.canHaveType(.number) { throw wrongArgument(function, "numbers", type) }
            return .number
        }
    }

    private func aggregate(_ function: PredicateFunction, _ types: [ExpressionType]) -> ExpressionType {
        guard function == .min || function == .max else { return .number }
        guard types.count == 1, case .collection(let member) = types[0] else { return .common(types) }
        return member
    }

    /// The type of a sum or difference. Seconds can be added to a date or subtracted from it, and dates can be subtracted.
    private func sum(_ function: PredicateFunction, _ types: [ExpressionType]) throws -> ExpressionType {
        for type in types where !type.canHaveType(.number) && !type.canHaveType(.date) { throw wrongArgument(function, "numbers or dates", type) }
        let dates = types.count { $0 == .date }
        if dates == 0 { return .number }
        return dates == 2 && function == .subtract ? .number : .date
    }

    private func wrongArgument(_ function: PredicateFunction, _ wanted: String, _ found: ExpressionType) -> HornbeamError {
        invalid("The function \(function.rawValue) needs \(wanted), but has \(found.words).")
    }
}

extension FetchExpression.CastType {
    fileprivate var type: ExpressionType {
        switch self {
        case .date: .date
        case .number, .decimal: .number
        case .string: .string
        case .data: .data
        case .uuid: .uuid
        case .url: .uri
        case .set, .array: .collection(.unknown)
        case .dictionary: .dictionary(nil)
        case .objectID: .object(nil)
        }
    }
}
