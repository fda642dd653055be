package import HornbeamModel

// Queries that a custom store answers itself. The rows of an answer are put into the cache, where objects read them.

extension Store {
    /// True when the custom store answers queries itself.
    package var isQuerying: Bool { backing?.querying != nil }

    /// The results that the custom store finds. Otherwise loads the rows among which the caller finds the results, and returns nil.
    ///
    /// - Parameter excluding: Keys of objects that are excluded before offset and limit apply.
    package func answer(_ fetch: ValidatedFetch, excluding: Set<UInt64>) throws -> [ObjectReference]? {
        guard let backing, let querying = backing.querying else { return nil }
        let query = StoreQuery(.objects, fetch, excluding: excluding)
        let found = try backing.reading({ _ in try querying.answer(query) }) { answer -> [ObjectReference]? in
            switch answer {
            case nil: return nil
            case .count, .groups: throw wrongAnswer("a count or groups", to: "a fetch")
            case .objects(let keys, let rows):
                try updateCache(rows)
                return try keys.map(reference)
            }
        }
        if found == nil { try load(fetch) }
        backing.forgetMembers()
        return found
    }

    /// The number of results that the custom store finds. Otherwise loads the rows among which the caller finds the results, and returns nil.
    package func answerCount(_ fetch: ValidatedFetch, excluding: Set<UInt64>) throws -> Int? {
        guard let querying = backing?.querying else { return nil }
        switch try querying.answer(StoreQuery(.count, fetch, excluding: excluding)) {
        case .count(let count): return count
        case .objects, .groups: throw wrongAnswer("objects or groups", to: "a count")
        case nil:
            try load(fetch)
            return nil
        }
    }

    /// The groups of a fetch of dictionaries, which the custom store makes. Otherwise loads the rows from which the caller makes them, and returns nil.
    package func answerGroups(_ fetch: ValidatedFetch) throws -> [[PropertyValue]]? {
        guard let querying = backing?.querying else { return nil }
        let query = StoreQuery(.groups, fetch, excluding: [])
        guard let grouping = query.grouping, let answer = try querying.answer(query) else {
            try load(fetch)
            return nil
        }
        guard case .groups(let groups) = answer, groups.allSatisfy({ $0.count == grouping.columns.count }) else {
            throw wrongAnswer("objects, a count or incomplete groups", to: "a query for groups")
        }
        return groups
    }

    /// The custom store's description of a query; nil if the store does not answer queries.
    package func explainQuery(_ fetch: ValidatedFetch) throws -> String? {
        try backing?.querying?.explain(StoreQuery(.objects, fetch, excluding: []))
    }

    /// Loads the objects at the other end of a relationship of several objects, which have one entity, with one call. Returns true if rows
    /// were read.
    package func loadRelated(to owners: [ObjectReference], by relationship: PropertyDescription) throws -> Bool {
        guard let backing, let querying = backing.querying, let first = owners.first else { return false }
        guard relationship.isToMany else {
            let missing = try missingDestinations(of: owners, model.entities[Int(first.entityIndex)], relationship)
            if !missing.isEmpty { try reload(missing) }
            return !missing.isEmpty
        }
        let unread = owners.filter { backing.isFirstLoad(for: relationship.name, of: $0.key) }
        if unread.isEmpty { return false }
        do {
            let keys = unread.map(customKey)
            let given = try backing.reading({ _ in try querying.members(of: keys, relationship: relationship.name) }) { try cacheMembers($0) }
            try reloadMembers(of: relationship, owners: unread, except: given)
        } catch {
            backing.forgetMembers()
            throw error
        }
        return true
    }

    /// The destinations of a to-one relationship whose rows are not cached.
    private func missingDestinations(
        of owners: [ObjectReference], _ entity: EntityDescription, _ relationship: PropertyDescription
    ) throws -> [ObjectReference] {
        let snapshot = try snapshot()
        var missing: Set<ObjectReference> = []
        for owner in owners {
            var hint = RowHint()
            guard case .some(.some(let target)) = try snapshot.toOne(of: relationship, entity, owner.key, &hint) else { continue }
            if try !snapshot.exists(model.entities[Int(target.entityIndex)], target.key) { missing.insert(target) }
        }
        return missing.sorted { $0.key < $1.key }
    }

    // MARK: Changes of other processes

    /// Caches the rows that other processes save, and publishes them like saves of this process.
    func observeExternalChanges() throws {
        try backing?.querying?.observeChanges { [weak self] changes in
            // An error is ignored here: the next fetch reads the rows, and reports it.
            try? self?.read(changes)
        }
    }

    private func read(_ changes: ExternalChanges) throws {
        guard let backing else { return }
        backing.forgetMembers()
        let changed = Array(Set(changes.changed).subtracting(changes.deleted))
        try backing.reading({ try $0.rows(for: .objects(changed)) }) { rows in
            let present = Set(rows.map(\.object.key))
            let gone = changes.deleted + changed.filter { !present.contains($0.key) }
            try updateCache(rows, without: try gone.map(reference))
        }
    }

    private func wrongAnswer(_ answer: String, to query: String) -> HornbeamError {
        HornbeamError(.storeOperationFailed, "The custom store answered with \(answer) to \(query). Correct its answer(_:).")
    }

    /// Throws for a save over several stores, because a querying store commits by itself and cannot take its part back.
    func requireTwoPhaseCommit() throws {
        guard isQuerying else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "A store that answers queries itself cannot take part in a save over several stores. Save the objects of each store in a context "
                + "of their own.")
    }
}

extension StoreSnapshot {
    /// The objects among `references` that exist in this snapshot, as the answer of a fetch.
    package func answer(_ references: [ObjectReference]) throws -> FetchAnswer {
        FetchAnswer(rows: ResultSet(try references.filter { try exists(schema.model.entities[Int($0.entityIndex)], $0.key) }))
    }
}
