internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

// Batch requests change the store without the objects of the context. Afterwards, the context merges the changes like remote changes:
// properties that it has not changed show the new values immediately.

extension ManagedObjectContext {
    /// Inserts the rows of a request, durably (BAT-1).
    ///
    /// Blocks the calling thread. Holds the store's writer's turn from the first row to the commit. Atomic, unless `commitEvery` is set.
    /// - Throws: `constraintConflict` for a duplicate unique value; `missingRequiredValue`; `typeMismatch`; `unknownKey`; the errors of
    ///   the handler.
    @discardableResult
    public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
        let entity = try concreteEntity(named: request.entityName)
        let store = try storeForBatch(of: entity, request.affectedStores)
        var options = BatchWriter.Options()
        options.commitEvery = request.commitEvery
        options.author = transactionAuthor
        options.contextName = name
        options.conflictRule = request.onConflict.rule
        options.validatesValues = request.validatesValues
        try prepareBatch()
        let writer = try completingSaves { try store.batchWriter(for: entity, options: options) }
        let isDirect = !store.isQuerying && request.onConflict == .fail && !request.validatesValues && !BatchWriter.needsValues(entity)
        let row = BatchRow(entity, writer, isDirect: isDirect) { store.reference($0) }
        var result = BatchResult(request.resultType)
        try reportingConflicts("Or set onConflict, to skip such rows or to update the stored objects.") {
            if store.isQuerying {
                try insert(request, row, into: BufferedBatchInsert(store, entity, options)) { for outcome in $0 { result.count(outcome, store) } }
            } else {
                while try !request.fill(row) { result.count(try row.write(), store) }
                try writer.finish()
            }
        }
        try mergeBatchChanges()
        return result
    }

    /// Inserts rows into a store that answers queries.
    private func insert(
        _ request: BatchInsertRequest, _ row: BatchRow, into buffer: BufferedBatchInsert, _ count: ([BatchWriter.RowOutcome]) -> Void
    ) throws {
        while try !buffer.filling({ try request.fill(row) }) {
            let (values, members) = try row.take()
            count(try completingSaves { try buffer.append(values, members: members) })
        }
        count(try completingSaves { try buffer.finish() })
    }

    /// Sets the properties of a request in all its objects, durably and in one transaction for each store (BAT-2).
    ///
    /// - Throws: `constraintConflict` for a duplicate unique value; `missingRequiredValue`; `predicateInvalid`;
    ///   `typeMismatch`; `unknownKey`.
    @discardableResult
    public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        var fetch = FetchDescription(entityName: entity.name, predicate: request.predicate)
        fetch.includesSubentities = request.includesSubentities
        fetch.affectedStores = request.affectedStores
        try fetch.validate(for: entity)
        var update = BatchUpdate(request: fetch, assignments: try assignments(of: request, entity))
        update.collectsObjects = request.resultType == .objectIDs
        update.validatesValues = request.validatesValues
        update.origin = batchOrigin
        var result = BatchResult(request.resultType)
        try prepareBatch()
        for store in try storesForBatch(fetch) { result.add(try completingSaves { try reportingConflicts { try store.update(update) } }, store) }
        try mergeBatchChanges()
        return result
    }

    /// Deletes the objects of a request, and those that their delete rules delete, durably and in one transaction for each store (BAT-3).
    ///
    /// - Throws: `deleteDenied` (1600), with each object that a deny rule protects; `predicateInvalid`.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.fetch.entityName)
        try request.fetch.validate(for: entity)
        var delete = BatchDelete(request: request.fetch)
        delete.collectsObjects = request.resultType == .objectIDs
        delete.origin = batchOrigin
        var result = BatchResult(request.resultType)
        try prepareBatch()
        for (store, fetch) in try deletions(request.fetch) {
            delete.request = fetch
            result.add(try completingSaves { try store.delete(delete) }, store)
        }
        try mergeBatchChanges()
        return result
    }

    /// Completes saves over several stores that processes which died have left, if they block the body.
    private func completingSaves<R>(_ body: () throws -> R) throws -> R {
        try persistentStoreCoordinator.stack.completingTwoPhaseCommits(body)
    }

    /// Calls the hook before writes of the root context, so that a document records the batch as an autosave.
    private func prepareBatch() throws {
        var root = self
        while let parent = root.parent { root = parent }
        try root.saving.beforeWrite?()
    }

    /// The store for the rows of an insert: the first writable store that has the entity.
    private func storeForBatch(of entity: EntityDescription, _ affected: [UUID]?) throws -> Store {
        let stack = persistentStoreCoordinator.stack
        let stores = try stack.writableSlots(for: entity).map(stack.store)
        if let store = stores.first(where: { affected?.contains($0.identifier) ?? true }) {
            try store.requireBatches()
            return store
        }
        throw HornbeamError(
            .readOnly, "No store accepts new objects of \(entity.name). Add a store for writing whose configuration has the entity.",
            entity: entity.name)
    }

    /// The objects to delete in each store. With a limit, the first objects of all stores together are selected.
    private func deletions(_ request: FetchDescription) throws -> [(Store, FetchDescription)] {
        let stores = try storesForBatch(request)
        guard stores.count > 1, !request.window.isWhole else { return stores.map { ($0, request) } }
        let fetch = try ValidatedFetch(request, in: persistentStoreCoordinator.managedObjectModel)
        let found = try persistentStoreCoordinator.stack.snapshot().fetch(fetch).references
        return stores.compactMap { store in
            let ids = found.map { objectID($0) }.filter { $0.storeIdentifier == store.identifier }
            return ids.isEmpty ? nil : (store, BatchDeleteRequest(entityName: request.entityName, objectIDs: ids).fetch)
        }
    }

    /// The stores with the objects of a request. Each store executes its part in a separate transaction.
    ///
    /// - Throws: `unsupportedRequest` if one of them does not support batches. Then no store has executed its part.
    private func storesForBatch(_ request: FetchDescription) throws -> [Store] {
        let stack = persistentStoreCoordinator.stack
        if stack.isEmpty { _ = try stack.firstStore() }
        let stores = try stack.writableSlots(for: request).map(stack.store)
        for store in stores { try store.requireBatches() }
        return stores
    }

    private var batchOrigin: BatchOrigin { BatchOrigin(author: transactionAuthor, contextName: name) }

    private func concreteEntity(named name: String) throws -> EntityDescription {
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: name)
        guard !entity.isAbstract else {
            throw HornbeamError(
                .unknownEntity,
                "\(name) is abstract: it has no objects of its own. Insert objects of a subentity.", entity: name)
        }
        return entity
    }

    private func assignments(
        of request: BatchUpdateRequest, _ entity: EntityDescription
    ) throws -> [BatchUpdate.Assignment] {
        try request.propertiesToUpdate.sorted { $0.key < $1.key }.map { name, expression in
            let property = try entity.property(named: name)
            let obstacle = property.isToMany ? "a to-many relationship" : property.isDerived
                ? "derived" : property.isTransient ? "transient" : nil
            if let obstacle {
                throw HornbeamError(
                    .unsupportedRequest,
                    "“\(entity.name).\(name)” is \(obstacle) and cannot be set by a batch update. Fetch the objects and change "
                        + "them.",
                    entity: entity.name, key: name)
            }
            if expression.isComputed { _ = try expression.validatedType(for: entity) }
            return BatchUpdate.Assignment(property, expression)
        }
    }

    private func mergeBatchChanges() throws {
        if mergesAutomatically { try advance() }
    }

    private func reportingConflicts<Result>(_ advice: String = "", _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let conflicts as SaveConflicts {
            var error = conflicts.error
            if !advice.isEmpty { error.message += " " + advice }
            throw error
        }
    }
}

extension FetchExpression {
    fileprivate var isComputed: Bool { if case .constant = node { false } else { true } }
}

extension BatchInsertRequest.ConflictRule {
    fileprivate var rule: BatchWriter.ConflictRule {
        switch self {
        case .fail: .fail
        case .skip: .skip
        case .update: .update
        }
    }
}

extension BatchResult {
    fileprivate mutating func add(_ outcome: BatchOutcome, _ store: Store) {
        count += outcome.count
        objectIDs += outcome.objects.map(store.objectID)
    }

    fileprivate mutating func count(_ row: BatchWriter.RowOutcome, _ store: Store) {
        let reference: ObjectReference
        switch row {
        case .skipped: return skippedCount += 1
        case .inserted(let object): reference = object
        case .updated(let object):
            reference = object
            updatedCount += 1
        }
        count += 1
        if resultType == .objectIDs { objectIDs.append(store.objectID(reference)) }
    }
}
