extension FetchDescription {
    /// The key paths over relationships along which the request reads other objects. A store returns these objects too when Hornbeam finds the
    /// results in its rows. Nil if the request can read any object: its predicate has a closure, a variable or SUBQUERY.
    public func relatedPaths(in entity: EntityDescription) -> [[String]]? {
        var paths = RelatedPaths(entity: entity)
        for sort in sortDescriptors { paths.add(sort.keyPath) }
        for path in propertiesToGroupBy { paths.add(path) }
        for column in propertiesToFetch {
            switch column {
            case .property(let path): paths.add(path)
            case .expression(_, let expression, _): expression.node.forEachExpression { paths.add($0) }
            }
        }
        for predicate in [predicate, havingPredicate] {
            if predicate?.node.hasBlocks == true { return nil }
            predicate?.node.forEachExpression { paths.add($0) }
        }
        return paths.isUnknown ? nil : paths.found.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

/// Collects the relationships at the beginning of key paths.
private struct RelatedPaths {
    let entity: EntityDescription
    var found: Set<[String]> = []
    var isUnknown = false

    mutating func add(_ keyPath: String) { add(keyPath.split(separator: ".").map(String.init)) }

    mutating func add(_ expression: FetchExpression.Node) {
        switch expression {
        case .keyPath(let root, let steps):
            guard root == .evaluatedObject else { return isUnknown = true }
            add(steps.compactMap { if case .name(let name) = $0 { name } else { nil } })
        case .block, .fetch, .subquery, .anyKey, .variable: isUnknown = true
        default: break
        }
    }

    private mutating func add(_ names: [String]) {
        var path: [String] = []
        // A path can use properties of subentities.
        var entities = [entity]
        for name in names {
            let destinations = entities.flatMap { $0.concreteDescendants + [$0] }.compactMap { $0.relationshipsByName[name]?.destinationEntity }
            if destinations.isEmpty { break }
            path.append(name)
            entities = destinations
        }
        if !path.isEmpty { found.insert(path) }
    }
}
