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
        return try execute(.update(assignments), update.request, update.origin, mask, collectsObjects: update.collectsObjects)
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
        _ action: StoreBatch.Action, _ request: FetchDescription, _ origin: BatchOrigin, _ mask: PropertyMask, collectsObjects: Bool
    ) throws -> BatchOutcome? {
        try requireWritable()
        guard let backing, let querying = backing.querying else { return nil }
        let query = StoreQuery(.objects, try ValidatedFetch(request, in: model), excluding: [])
        let batch = StoreBatch(query, action, author: origin.author, contextName: origin.contextName)
        return try backing.saving(isCancellable: true) {
            guard let answer = try querying.execute(batch) else { return nil }
            do { return try outcome(of: answer, in: querying, origin, mask, collectsObjects: collectsObjects) } catch {
                throw cacheFailed(error, "executed the batch", "Do not repeat it: the next fetch reads the rows.")
            }
        }
    }

    /// Caches the rows that the querying store has changed.
    private func outcome(
        of answer: StoreBatchAnswer, in querying: any QueryingStore, _ origin: BatchOrigin, _ mask: PropertyMask, collectsObjects: Bool
    ) throws -> BatchOutcome {
        var change = StoreChange()
        change.kind = .batch
        change.author = origin.author
        change.contextName = origin.contextName
        change.updated = try answer.updated.map { StoreChange.Updated(reference: try reference($0), properties: mask) }
        change.deleted = try answer.deleted.map(reference)
        // Also rows that were not cached: lists may show the objects now.
        let rows = answer.updated.isEmpty ? [] : try querying.rows(for: .objects(answer.updated))
        if !change.isEmpty { try updateCache(rows, without: change.deleted, announcing: change) }
        var outcome = BatchOutcome()
        outcome.count = change.count
        if collectsObjects { outcome.objects = (change.updated.map(\.reference) + change.deleted).sorted() }
        outcome.transaction = engine.latest.rawValue
        return outcome
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
