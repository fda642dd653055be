internal import HornbeamEngine
package import HornbeamModel

// Queries that a custom store answers itself. The rows of an answer are put into the cache, where objects read them.

/// The results of a query of a custom store, or where they are.
package enum QueryFinding<Results> {
    case found(Results)
    /// The store has not answered. The results are among the cached objects, without those with the given keys.
    case cached(excluding: Set<UInt64>)
}

extension Store {
    /// True when the custom store answers queries itself.
    package var isQuerying: Bool { backing?.querying != nil }

    /// The results that the custom store finds. Otherwise loads the rows among which the caller finds the results.
    ///
    /// - Parameter excluding: Keys of objects that are excluded before offset and limit apply.
    package func answer(_ fetch: ValidatedFetch, excluding: Set<UInt64>) throws -> QueryFinding<[ObjectReference]> {
        guard let backing, let querying = backing.querying else { return .cached(excluding: []) }
        let query = StoreQuery(.objects, fetch, excluding: excluding) { [backing] in backing.versions(of: $0) }
        let found = try readingDerivationSources {
            try backing.reading(isCancellable: true, { _ in try querying.answer(query) }) { answer -> [ObjectReference]? in
                switch answer {
                case nil: return nil
                case .count, .values, .groups: throw wrongAnswer("other values", to: "a fetch")
                case .objects(let keys, let rows, let tables):
                    try updateCache(rows, tables)
                    return try references(keys)
                }
            }
        }
        defer { backing.forgetMembers() }
        return try found.map { .found($0) } ?? .cached(excluding: load(fetch))
    }

    /// References to many objects, most of which have the entity of the one before.
    func references(_ keys: [CustomStoreKey]) throws -> [ObjectReference] {
        var references: [ObjectReference] = []
        references.reserveCapacity(keys.count)
        var (name, index) = ("", 0 as Int32)
        for key in keys {
            if key.entityName != name { (name, index) = (key.entityName, try reference(key).entityIndex) }
            references.append(ObjectReference(entityIndex: index, key: key.key))
        }
        return references
    }

    /// The number of results that the custom store finds. Otherwise loads the rows among which the caller finds the results.
    package func answerCount(_ fetch: ValidatedFetch, excluding: Set<UInt64>) throws -> QueryFinding<Int> {
        guard let querying = backing?.querying else { return .cached(excluding: []) }
        switch try querying.answer(StoreQuery(.count, fetch, excluding: excluding)) {
        case .count(let count): return .found(count)
        case .objects, .values, .groups: throw wrongAnswer("other values", to: "a count")
        case nil: return .cached(excluding: try load(fetch))
        }
    }

    /// The dictionaries of a fetch that the custom store makes: the values of its columns. Otherwise loads the rows of groups.
    package func answerDictionaries(_ fetch: ValidatedFetch, _ program: DictionaryProgram) throws -> QueryFinding<[[PropertyValue]]> {
        guard let querying = backing?.querying else { return .cached(excluding: []) }
        // Distinct dictionaries are groups by all of their columns.
        for program in [program.groupingDistinct(sortedBy: fetch.request.sortDescriptors), program] {
            guard let program, let query = StoreQuery(program, fetch), let answer = try querying.answer(query) else { continue }
            return .found(try rows(of: answer, to: query, program))
        }
        return .cached(excluding: program.isGrouped ? try load(fetch) : [])
    }

    /// The dictionaries of an answer.
    private func rows(of answer: StoreAnswer, to query: StoreQuery, _ program: DictionaryProgram) throws -> [[PropertyValue]] {
        switch answer {
        case .values(let rows):
            guard query.kind == .values, rows.allSatisfy({ $0.count == query.paths.count }) else { break }
            let values = try rows.map { try $0.map(ownIDs) }
            return try program.rows(ofObjects: rows.count) { inputs, places in
                inputs.indices.map { column in places.map { values[$0][column] } }
            }
        case .groups(let groups):
            guard let grouping = query.grouping,
                groups.allSatisfy({ $0.keys.count == grouping.keys.count && $0.totals.count == grouping.totals.count })
            else { break }
            let own = try groups.map { StoreGroup(keys: try $0.keys.map(ownIDs), totals: try $0.totals.map(ownIDs), first: $0.first) }
            return try GroupTable.rows(of: own, program)
        case .objects, .count: break
        }
        throw wrongAnswer("other or incomplete values", to: "a query for dictionaries")
    }

    /// An object ID of the custom store as an ID of this store's objects.
    private func ownIDs(_ value: PropertyValue) throws -> PropertyValue {
        guard case .objectID(let id) = value, id.storeIdentifier == backing?.custom.identifier, model.entitiesByName[id.entityName] != nil
        else { return value }
        return .objectID(objectID(try reference(CustomStoreKey(id.entityName, id.reference))))
    }

    /// The custom store's description of a query; nil if the store does not answer queries.
    package func explainQuery(_ fetch: ValidatedFetch, _ program: DictionaryProgram?) throws -> String? {
        let query = program.flatMap { StoreQuery($0.groupingDistinct(sortedBy: fetch.request.sortDescriptors) ?? $0, fetch) }
            ?? StoreQuery(.objects, fetch, excluding: [])
        return try backing?.querying?.explain(query)
    }

    /// Loads the objects at the other end of a relationship of several objects, which have one entity, with one call.
    ///
    /// - Parameter transaction: That of the caller's snapshot; the greatest number if it reads the newest one afterwards.
    /// - Returns: True if this snapshot may not have the objects, because they were loaded now or by another context.
    package func loadRelated(
        to owners: [ObjectReference], by relationship: PropertyDescription, in transaction: UInt64 = .max
    ) throws -> Bool {
        guard let backing, let querying = backing.querying, let first = owners.first else { return false }
        guard relationship.isToMany else {
            let entity = model.entities[Int(first.entityIndex)]
            let missing = try destinations(of: owners, entity, relationship, onlyMissing: !backing.readsOneState)
            if !missing.isEmpty { try reload(missing) }
            return !missing.isEmpty
        }
        var unread: [ObjectReference] = []
        var newest: UInt64 = 0
        for owner in owners {
            if let loaded = backing.loadTransaction(of: relationship.name, owner: owner.key) { newest = max(newest, loaded) } else { unread.append(owner) }
        }
        if unread.isEmpty { return newest > transaction }
        let keys = unread.map(customKey)
        try backing.loading(relationship.name, of: unread.map(\.key), newest: { latestTransaction }) {
            try backing.readingOneState {
                let given = try backing.reading({ _ in try querying.members(of: keys, relationship: relationship.name) }) { try cacheMembers($0) }
                try reloadMembers(of: relationship, owners: unread, except: given)
            }
        }
        return true
    }

    /// The destinations of a to-one relationship; only those whose rows are not cached, or also those whose cached rows may have another state than the owners.
    private func destinations(
        of owners: [ObjectReference], _ entity: EntityDescription, _ relationship: PropertyDescription, onlyMissing: Bool
    ) throws -> [ObjectReference] {
        let snapshot = try snapshot()
        var found: Set<ObjectReference> = []
        for owner in owners {
            var hint = RowHint()
            guard case .some(.some(let target)) = try snapshot.toOne(of: relationship, entity, owner.key, &hint) else { continue }
            if try !onlyMissing || !snapshot.exists(model.entities[Int(target.entityIndex)], target.key) { found.insert(target) }
        }
        return found.sorted { $0.key < $1.key }
    }

    /// Caches the rows that a request reads. Returns their objects.
    func loadRows(readBy request: FetchDescription, of entity: EntityDescription, from backing: StoreBacking) throws -> Set<ObjectReference> {
        let given = try backing.reading(isCancellable: true, { try $0.rows(for: .fetch(request)) }) { rows in
            try updateCache(rows)
            return try Set(references(rows.map(\.object)))
        }
        let former = isQuerying ? try formerMembers(readBy: request, of: entity, given) : []
        if !former.isEmpty { try reload(former) }
        return given
    }

    /// The cached members that a request reads, and that the store has not returned with the given objects: other processes have deleted them or given them to
    /// other objects.
    private func formerMembers(
        readBy request: FetchDescription, of entity: EntityDescription, _ given: Set<ObjectReference>
    ) throws -> [ObjectReference] {
        let snapshot = try snapshot()
        var former: Set<ObjectReference> = []
        func follow(_ name: String, from objects: Set<ObjectReference>) throws -> Set<ObjectReference> {
            var found: Set<ObjectReference> = []
            for (index, owners) in Dictionary(grouping: objects, by: \.entityIndex) {
                let entity = model.entities[Int(index)]
                guard let property = entity.relationshipsByName[name], !property.isTransient else { continue }
                guard property.isToMany else {
                    found.formUnion(try destinations(of: owners, entity, property, onlyMissing: false))
                    continue
                }
                for owner in owners {
                    let members = try snapshot.members(of: property, owner: owner.key)
                    former.formUnion(members.filter { !given.contains($0) })
                    found.formUnion(members)
                }
            }
            return found.intersection(given)
        }
        if let paths = request.relatedPaths(in: entity) {
            let entity = model.entities[entity.index]
            let start: Set<ObjectReference> = paths.isEmpty ? [] : given.filter { model.entities[Int($0.entityIndex)].isKind(of: entity) }
            for path in paths {
                var level = start
                for name in path { level = try follow(name, from: level) }
            }
        } else {
            // The store has returned all objects.
            for name in Set(model.entities.flatMap { $0.properties.filter(\.isToMany).map(\.name) }) { _ = try follow(name, from: given) }
        }
        return former.sorted()
    }

    /// Runs a body whose reads of a querying store are from one committed state, such as a fetch with prefetching.
    package func readingOneState<Result>(_ body: () throws -> Result) throws -> Result { try backing?.readingOneState(body) ?? body() }

    // MARK: Changes of other processes

    /// Caches the rows that other processes save, and publishes them like saves of this process.
    func observeExternalChanges() throws {
        try backing?.querying?.observeChanges { [weak self] in try self?.read($0) }
    }

    private func read(_ changes: ExternalChanges) throws {
        guard let backing else { return }
        backing.forgetMembers()
        let changed = Array(Set(changes.changed).subtracting(changes.deleted))
        let keys = Set((changes.changed + changes.deleted).map(\.key))
        try backing.readingNewest(of: keys, { try $0.rows(for: .objects(changed)) }) { rows in
            let present = Set(rows.map(\.object.key))
            let gone = changes.deleted + changed.filter { !present.contains($0.key) }
            try updateCache(rows, without: try gone.map(reference))
        }
    }

    private func wrongAnswer(_ answer: String, to query: String) -> HornbeamError {
        HornbeamError(.storeOperationFailed, "The custom store answered with \(answer) to \(query). Correct its answer(_:).")
    }

    /// Throws for a save over several stores, because a querying store commits by itself and cannot take its part back, and history cannot either.
    func requireTwoPhaseCommit() throws {
        guard isQuerying || keepingStore != nil else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "A store that answers queries itself or keeps history cannot take part in a save over several stores. Save the objects of each store in a context "
                + "of their own.")
    }
}

extension StoreSnapshot {
    /// The objects among `references` that exist in this snapshot, as the answer of a fetch.
    package func answer(_ references: [ObjectReference]) throws -> FetchAnswer {
        var hints = [RowHint?](repeating: nil, count: references.count)
        // Rows are found leaf by leaf, in the order of their keys.
        let ascends = zip(references, references.dropFirst()).allSatisfy { $0 < $1 }
        let order = ascends ? Array(references.indices) : references.indices.sorted { references[$0] < references[$1] }
        var rest = order[...]
        while let first = rest.first {
            let part = rest.prefix { references[$0].entityIndex == references[first].entityIndex }
            rest = rest.dropFirst(part.count)
            let places = Array(part)
            let rows = view(schema.table(at: references[first].entityIndex))
            try EngineError.translated { () throws(EngineError) in
                try rows.forEachRow(places.map { references[$0].key }) { (place, _, location) throws(EngineError) in
                    hints[places[place]] = RowHint(location)
                    return true
                }
            }
        }
        var (found, locations): ([ObjectReference], [RowHint]) = ([], [])
        found.reserveCapacity(references.count)
        locations.reserveCapacity(references.count)
        for (reference, hint) in zip(references, hints) {
            guard let hint else { continue }
            found.append(reference)
            locations.append(hint)
        }
        return FetchAnswer(rows: ResultSet(found, locations))
    }
}
