internal import HornbeamModel
internal import HornbeamStore

/// The results of a request with a batch size: references to the rows, fetched again after each change that may affect them.
///
/// Creates no objects except those that are accessed, and those of changed rows. The sizes of sections are fetched as groups.
struct BatchedResults<Object: ManagedObject>: UpdatedResults {
    private let fetch: ValidatedFetch
    private let context: ManagedObjectContext
    private let dependencies: ResultDependencies
    private let sectionKeyPath: String?
    private(set) var sections: [FetchedResultsSection<Object>] = []
    var isStale = false

    /// Fetches results. Nil if their sections need the objects: the sections must be those of the first sort, without a limit, and the
    /// section key path must lead to an attribute that is text, an integer, a boolean or a date.
    init?(_ fetch: ValidatedFetch, by sectionKeyPath: String?, in context: ManagedObjectContext) throws {
        guard fetch.request.fetchBatchSize > 0, sectionKeyPath.map({ Self.isGrouped(fetch, $0) }) ?? true else { return nil }
        self.fetch = fetch
        self.context = context
        self.sectionKeyPath = sectionKeyPath
        dependencies = ResultDependencies(fetch, sectionKeyPath: sectionKeyPath)
        try fetchAgain()
    }

    /// True if the results of a section follow one another, and the store can count them.
    private static func isGrouped(_ fetch: ValidatedFetch, _ keyPath: String) -> Bool {
        guard fetch.request.window.isWhole, let sort = fetch.request.sortDescriptors.first, sort.keyPath == keyPath, sort.comparison == .standard
        else { return false }
        var entity: EntityDescription? = fetch.entity
        var last: PropertyDescription?
        for name in keyPath.split(separator: ".") {
            guard let property = entity?.propertiesByName[String(name)], !property.isTransient, !property.isToMany else { return false }
            entity = property.isRelationship ? property.destinationEntity : nil
            last = property
        }
        switch last?.attributeType {
        case .string, .integer16, .integer32, .integer64, .boolean, .date: return last?.isAttribute == true
        default: return false
        }
    }

    // MARK: Fetching

    private mutating func fetchAgain() throws {
        var unsaved: [UInt64: Object] = [:]
        let (found, groups) = sectionKeyPath == nil
            ? (try context.findPrepared(fetch), nil) : try context.readingOneState { (try context.findPrepared(fetch), try sectionSizes()) }
        var references: [ObjectReference] = []
        references.reserveCapacity(found.count)
        try context.requireClass(Object.self, of: found, fetch.request)
        for result in found {
            switch result {
            case .stored(let row): references.append(row.reference)
            case .object(let object):
                references.append(object.reference)
                if object.state.contains(.temporary) { unsaved[object.registryKey] = try context.typed(object, fetch.request) }
            }
        }
        let sizes = groups ?? [("", references.count)]
        try context.requireNoReadFailures()
        guard sizes.reduce(0, { $0 + $1.count }) == references.count else {
            throw HornbeamError(
                .unsupportedRequest,
                "The results of “\(fetch.entity.name)” cannot be divided by “\(sectionKeyPath ?? "")”. Fetch them without a batch size.",
                entity: fetch.entity.name)
        }
        sections = Self.sections(references, sizes, BatchVendor(context, fetch.request, unsaved: unsaved))
        isStale = false
    }

    /// The names and sizes of the sections, in order. A name may occur several times.
    private func sectionSizes() throws -> [(name: String, count: Int)]? {
        guard let sectionKeyPath, let sort = fetch.request.sortDescriptors.first else { return nil }
        var request = fetch.request
        request.resultType = .dictionaries
        request.sortDescriptors = [sort]
        request.relationshipKeyPathsForPrefetching = []
        // No property has this name.
        request.propertiesToFetch = [FetchColumn(stringLiteral: sectionKeyPath), .count(as: "@rows")]
        request.propertiesToGroupBy = [sectionKeyPath]
        return try context.groupRows(request).map { row in
            guard row.count == 2, case .int(let count) = row[1] else { return ("", 0) }
            return (row[0].sectionName, Int(count))
        }
    }

    private static func sections(
        _ references: [ObjectReference], _ sizes: [(name: String, count: Int)], _ vendor: BatchVendor<Object>
    ) -> [FetchedResultsSection<Object>] {
        guard !references.isEmpty else { return [] }
        var places: [String: Int] = [:]
        var sections: [(name: String, references: [ObjectReference])] = []
        var start = 0
        for (name, count) in sizes {
            let part = references[start ..< start + count]
            start += count
            if let place = places[name] {
                sections[place].references += part
            } else {
                places[name] = sections.count
                sections.append((name, Array(part)))
            }
        }
        return sections.map { FetchedResultsSection(name: $0.name, rows: .batches(BatchedRows(references: $0.references, vendor: vendor))) }
    }

    // MARK: Updates

    /// Updates the results.
    ///
    /// - Returns: The differences from the results before; nil if there are none.
    mutating func update(after event: ContextEvent) throws -> FetchedResultsChanges<Object>? {
        let unlisted = event.unlistedEntities
        let model = context.persistentStoreCoordinator.managedObjectModel
        // Rows whose objects do not exist may have other values.
        let isUnlisted = unlisted.map { $0.contains { !dependencies.ignores(model.entities[Int($0)]) } } ?? true
        guard isStale || isUnlisted || affects(event.changes, model) else { return nil }
        let wasStale = isStale
        isStale = true
        let old = sections
        try fetchAgain()
        // Rows of removed stores have no objects that could be reported.
        if wasStale || isUnlisted || !event.changes.invalidated.isEmpty { return .reload }
        let changed = event.changes.updated.union(event.changes.refreshed).compactMap { context.registeredObject(for: $0)?.registryKey }
        let changes = FetchedResultsChanges(from: old, to: sections, updated: Set(changed), limit: 1000)
        return changes.isEmpty ? nil : changes
    }

    private func affects(_ changes: ObjectChanges, _ model: ManagedObjectModel) -> Bool {
        guard changes.invalidated.isEmpty else { return true }
        return [changes.inserted, changes.updated, changes.refreshed, changes.deleted].contains { ids in
            ids.contains { model.entitiesByName[$0.entityName].map { !dependencies.ignores($0) } ?? true }
        }
    }
}
