internal import HornbeamEngine
internal import HornbeamModel

// Batches that a querying store executes itself.

extension Store {
    /// The outcome of an update that the querying store executes; nil if it does not. Nothing is written then.
    func executed(_ update: BatchUpdate) throws -> BatchOutcome? {
        guard isQuerying, schema.derivations.isEmpty else { return nil }
        let entity = try model.entity(named: update.request.entityName)
        var assignments: [StoreBatch.Assignment] = []
        for assignment in update.assignments {
            guard let value = StoreBatch.Value(assignment, of: entity, validating: update.validatesValues) else { return nil }
            assignments.append(StoreBatch.Assignment(assignment.property, value))
        }
        let mask = PropertyMask(update.assignments.map(\.property.index))
        return try execute(.update(assignments), update.request, update.origin, mask, collectsObjects: update.collectsObjects, update)
    }

    /// The outcome of a delete that the querying store executes; nil if it does not. Nothing is written then.
    func executed(_ delete: BatchDelete) throws -> BatchOutcome? {
        guard isQuerying, schema.derivations.isEmpty else { return nil }
        let entity = try model.entity(named: delete.request.entityName)
        guard entity.concreteDescendants.allSatisfy({ BatchDeleteExecution.isPlain(schema.table($0)) }) else { return nil }
        // The store does not return the values that its history preserves.
        if keepingStore != nil, entity.concreteDescendants.contains(where: { reader.history.preservesValues(of: schema.table($0)) }) { return nil }
        return try execute(.delete, delete.request, delete.origin, PropertyMask(), collectsObjects: delete.collectsObjects)
    }

    private func execute(
        _ action: StoreBatch.Action, _ request: FetchDescription, _ origin: BatchOrigin, _ mask: PropertyMask, collectsObjects: Bool,
        _ update: BatchUpdate? = nil
    ) throws -> BatchOutcome? {
        try requireWritable()
        guard let backing, let querying = backing.querying else { return nil }
        let query = StoreQuery(.objects, try ValidatedFetch(request, in: model), excluding: [])
        let batch = StoreBatch(query, action, author: origin.author, contextName: origin.contextName)
        return try backing.saving(isCancellable: true) {
            guard let answer = try querying.execute(batch) else { return nil }
            do { return try outcome(of: answer, in: querying, origin, mask, collectsObjects: collectsObjects, update) } catch {
                throw cacheFailed(error, "executed the batch", "Do not repeat it: the next fetch reads the rows.")
            }
        }
    }

    /// Changes the cached rows of objects that the querying store has changed. Rows that are not cached stay so: an object reads its row when it needs it, and
    /// lists fetch again.
    private func outcome(
        of answer: StoreBatchAnswer, in querying: any QueryingStore, _ origin: BatchOrigin, _ mask: PropertyMask, collectsObjects: Bool,
        _ update: BatchUpdate?
    ) throws -> BatchOutcome {
        var change = StoreChange()
        change.kind = .batch
        change.author = origin.author
        change.contextName = origin.contextName
        let updated = try references(answer.updated)
        change.updated = updated.map { StoreChange.Updated(reference: $0, properties: mask) }
        change.deleted = try references(answer.deleted)
        var outcome = BatchOutcome()
        outcome.count = change.count
        if !change.isEmpty, try !cache(update, of: updated, answer, announcing: change) {
            let cached = answer.updated.filter { backing?.isCached($0.key) ?? false }
            let rows = cached.isEmpty ? [] : try querying.rows(for: .objects(cached))
            try updateCache(rows, without: change.deleted, announcing: change)
        }
        if collectsObjects { outcome.objects = (updated + change.deleted).sorted() }
        outcome.transaction = engine.latest.rawValue
        return outcome
    }

    /// Executes an update on the cached rows, without reading them from the querying store. Returns false, and changes nothing, if one of them is not
    /// the row that the store has updated, or if another cached row is older than the one in the store and has a unique value of the update.
    private func cache(_ update: BatchUpdate?, of objects: [ObjectReference], _ answer: StoreBatchAnswer, announcing change: StoreChange) throws -> Bool {
        guard let update, let backing, answer.versions.count == objects.count,
            let cached = backing.places(ofRowsBefore: answer.versions, of: objects), !cached.isEmpty
        else { return false }
        let (transaction, base) = try beginOnSnapshot()
        do {
            var execution = BatchUpdateExecution(update, transaction, base)
            try execution.run(on: cached.map { objects[$0] })
        } catch {
            transaction.abort()
            if error is SaveConflicts { return false }
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
        _ = try commit(transaction, durability, publishing: change)
        backing.setVersions(cached.map { (objects[$0].key, answer.versions[$0]) })
        return true
    }
}

extension StoreBatch.Value {
    /// Nil for an assignment of another form, and for one that is or may be refused.
    init?(_ assignment: BatchUpdate.Assignment, of entity: EntityDescription, validating: Bool) {
        let property = assignment.property
        guard property.isAttribute else { return nil }
        if let constant = assignment.expression.constantValue {
            // The batch on the cache throws the error.
            guard let value = try? property.coerced(constant), (try? property.checkInBatch(value, validating: validating)) != nil else { return nil }
            self = .constant(value)
            return
        }
        guard !validating, property.attributeType.integerRange != nil, case .function(let function, let operands) = assignment.expression.node,
            operands.count == 2, case .keyPath(.evaluatedObject, let steps) = operands[0], steps.count == 1, case .name(let name) = steps[0],
            case .constant(.int(let number)) = operands[1], let source = entity.attributesByName[name], !source.isTransient, !source.isDerived,
            source.attributeType.integerRange != nil, property.isOptional || !source.isOptional
        else { return nil }
        switch function {
        case .add: self = .sum(attribute: name, number)
        case .subtract where number != .min: self = .sum(attribute: name, -number)
        default: return nil
        }
    }
}
