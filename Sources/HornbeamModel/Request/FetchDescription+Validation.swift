extension FetchDescription {
    /// Validates all settings of the request for its entity.
    ///
    /// - Throws: `HornbeamError` with code `predicateInvalid`; if there are several problems, they are its
    ///   details.
    public func validate(for entity: EntityDescription) throws {
        var check = RequestCheck(request: self, entity: entity)
        check.conditions()
        check.counts()
        check.prefetching()
        check.columns()
        check.grouping()
        guard let first = check.problems.first else { return }
        if check.problems.count == 1 { throw first }
        throw HornbeamError(
            .predicateInvalid,
            "The request for “\(entity.name)” has \(check.problems.count) problems: "
                + check.problems.map(\.message).joined(separator: " "),
            entity: entity.name, details: check.problems)
    }
}

extension FetchDescription {
    /// The expression of the column by whose values the dictionaries are grouped; nil if `name` is a key path.
    func groupedExpression(_ name: String, _ entity: EntityDescription) -> FetchExpression? {
        guard entity.propertiesByName[String(name.prefix { $0 != "." })] == nil else { return nil }
        for case .expression(name, let expression, _) in propertiesToFetch { return expression }
        return nil
    }
}

/// Collects the problems of a request.
private struct RequestCheck {
    let request: FetchDescription
    let entity: EntityDescription
    var problems: [HornbeamError] = []

    private mutating func report(_ message: String, key: String? = nil) {
        problems.append(HornbeamError(.predicateInvalid, message, entity: entity.name, key: key))
    }

    private mutating func attempt(_ check: (FetchDescription, EntityDescription) throws -> Void) {
        do {
            try check(request, entity)
        } catch {
            problems.append(error as? HornbeamError ?? HornbeamError(.predicateInvalid, "\(error)", entity: entity.name))
        }
    }

    mutating func conditions() {
        attempt { try $0.predicate?.validated(for: $1) }
        for sort in request.sortDescriptors where !isColumn(sort.keyPath) { attempt { try sort.validated(for: $1) } }
    }

    /// True for the name of a column. Dictionaries can be sorted by computed columns too.
    private func isColumn(_ name: String) -> Bool {
        request.resultType == .dictionaries && request.propertiesToFetch.contains { $0.name == name }
    }

    mutating func counts() {
        let counts = [
            ("fetchLimit", request.fetchLimit), ("fetchOffset", request.fetchOffset), ("fetchBatchSize", request.fetchBatchSize),
        ]
        for (name, count) in counts where count < 0 { report("The \(name) of a request must be 0 or more, and \(count) was given.") }
    }

    /// Checks that every step of a prefetched path is a relationship (FET-11).
    mutating func prefetching() {
        for path in request.relationshipKeyPathsForPrefetching {
            var current = entity
            for step in path.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
                guard let property = find(step, in: current, path: path) else { break }
                guard let destination = property.destinationEntity else {
                    report("“\(path)” cannot be prefetched: “\(step)” is an attribute, and only relationships can be.", key: path)
                    break
                }
                current = destination
            }
        }
    }

    /// Checks that columns are attributes, to-one relationships or expressions with distinct names (FET-12, FET-16).
    mutating func columns() {
        var names: Set<String> = []
        for column in request.propertiesToFetch {
            if !names.insert(column.name).inserted {
                report("The column “\(column.name)” occurs twice: name it once, or give an expression another name.")
            }
            switch column {
            case .property(let path): checkValue(path, as: "fetched as a column")
            case .expression(let name, let expression, _):
                attempt { _ = try expression.validatedType(for: $1) }
                if request.resultType != .dictionaries {
                    report("The expression “\(name)” is a column of dictionaries: set the resultType to dictionaries.", key: name)
                }
            }
        }
        if request.returnsDistinctResults, request.resultType != .dictionaries || request.propertiesToFetch.isEmpty {
            report("Distinct results are dictionaries of named columns: set the resultType and the propertiesToFetch.")
        }
    }

    /// Checks that groups have dictionary results, and that all plain columns are grouped (FET-14, FET-15).
    mutating func grouping() {
        if request.havingPredicate != nil, request.propertiesToGroupBy.isEmpty {
            report("A having predicate needs groups: set the propertiesToGroupBy.")
        }
        guard !request.propertiesToGroupBy.isEmpty else { return }
        for name in request.propertiesToGroupBy {
            guard let expression = request.groupedExpression(name, entity) else {
                checkValue(name, as: "grouped by")
                continue
            }
            if case .collection? = try? expression.validatedType(for: entity) {
                report("The objects cannot be grouped by “\(name)”, which has several values for each object.", key: name)
            }
        }
        if request.resultType != .dictionaries || request.propertiesToFetch.isEmpty {
            report("Groups are dictionaries of named columns: set the resultType and the propertiesToFetch.")
        }
        for case .property(let path) in request.propertiesToFetch where !request.propertiesToGroupBy.contains(path) {
            report(
                "The column “\(path)” has many values in a group: group by it too, or fetch an expression such as max:(\(path)).",
                key: path)
        }
    }

    /// Checks that a path leads over to-one relationships to one stored value.
    private mutating func checkValue(_ path: String, as use: String) {
        let steps = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var current = entity
        for (place, step) in steps.enumerated() {
            guard let property = find(step, in: current, path: path) else { return }
            if property.isToMany {
                report("“\(path)” cannot be \(use): “\(step)” leads to many objects.", key: path)
                return
            }
            if property.isTransient {
                report("“\(path)” cannot be \(use): “\(step)” is transient, so no store holds it.", key: path)
                return
            }
            guard let destination = property.destinationEntity else {
                let rest = steps[(place + 1)...].joined(separator: ".")
                if !rest.isEmpty, !property.compositeElements.contains(where: { $0.name == steps[place + 1] }) {
                    report("“\(path)” cannot be \(use): “\(step)” is an attribute and has no “\(rest)”.", key: path)
                }
                return
            }
            current = destination
        }
    }

    private mutating func find(_ name: String, in owner: EntityDescription, path: String) -> PropertyDescription? {
        if let property = owner.propertiesByName[name] { return property }
        report(
            "The entity “\(owner.name)” has no property “\(name)”"
                + suggestion(for: name, among: owner.properties.map(\.name)) + ".",
            key: path)
        return nil
    }
}
