extension FetchRequestTemplate {
    /// The template as a fetch whose `$VARIABLES` have no values yet.
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public func fetchDescription() throws -> FetchDescription {
        var fetch = FetchDescription(entityName: entityName)
        fetch.predicate = try predicate.flatMap { $0.isEmpty ? nil : try FetchPredicate(format: $0) }
        fetch.sortDescriptors = sortDescriptors
        fetch.fetchLimit = fetchLimit
        fetch.fetchBatchSize = fetchBatchSize
        switch resultKind {
        case .objects: fetch.resultType = .objects
        case .objectIDs: fetch.resultType = .objectIDs
        case .dictionaries: fetch.resultType = .dictionaries
        }
        fetch.includesSubentities = includesSubentities
        fetch.includesPropertyValues = includesPropertyValues
        fetch.includesPendingChanges = includesPendingChanges
        fetch.returnsObjectsAsFaults = returnsObjectsAsFaults
        fetch.returnsDistinctResults = returnsDistinctResults
        return fetch
    }
}

extension ManagedObjectModel {
    /// The fetch request templates of the model by name (MDL-1).
    public var fetchRequestTemplatesByName: [String: FetchRequestTemplate] {
        Dictionary(uniqueKeysWithValues: definition.fetchRequestTemplates.map { ($0.name, $0) })
    }

    /// The named template as a request whose `$VARIABLES` have no values yet (MDL-1).
    ///
    /// - Throws: `HornbeamError` with code `unknownName`.
    public func fetchRequestTemplate(forName name: String) throws -> FetchRequestTemplate {
        if let template = definition.fetchRequestTemplates.first(where: { $0.name == name }) { return template }
        throw HornbeamError(
            .unknownName,
            "The model has no fetch request template “\(name)”"
                + suggestion(for: name, among: definition.fetchRequestTemplates.map(\.name)) + ".",
            key: name)
    }

    /// A request from the named template, with a value for every variable (MDL-1).
    ///
    /// ```swift
    /// let request: FetchRequest<Book> = try model.fetchRequest(
    ///     fromTemplate: "byAuthor", substituting: ["NAME": "Ursula"])
    /// ```
    /// - Throws: `HornbeamError` with code `unknownName`, or `predicateEvaluation` that names a variable without
    ///   a value. `.null` is a value.
    public func fetchRequest<Result>(
        fromTemplate name: String, substituting variables: [String: PropertyValue] = [:]
    ) throws -> FetchRequest<Result> {
        var fetch = try fetchRequestTemplate(forName: name).fetchDescription()
        fetch.predicate = try fetch.predicate?.substitutingAll(variables)
        return FetchRequest(fetch)
    }
}
