internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

// Batch requests work on the store, past the objects of the context. Afterwards the context takes their changes in like those of
// anybody else: what it has not changed itself shows them at once.

extension ManagedObjectContext {
    /// Inserts the rows of a request, durably (BAT-1).
    ///
    /// Blocks, and holds the store's writer from the first row to the commit. All or nothing, unless `commitEvery` is set.
    /// - Throws: `constraintConflict` for a unique value that is taken; `typeMismatch`, `unknownKey`; what the handler throws.
    @discardableResult
    public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
        let entity = try concreteEntity(named: request.entityName)
        let store = try store()
        var options = BatchWriter.Options()
        options.commitEvery = request.commitEvery
        options.author = transactionAuthor
        options.contextName = name
        options.conflictRule = request.onConflict.rule
        let writer = try store.batchWriter(for: entity, options: options)
        let isDirect = request.onConflict == .fail && !BatchWriter.needsValues(entity)
        let row = BatchRow(entity, writer, isDirect: isDirect) { store.reference($0) }
        var result = BatchResult(request.resultType)
        try reportingConflicts {
            while try !request.fill(row) { result.count(try row.write(), store) }
            try writer.finish()
        }
        try takeInBatch()
        return result
    }

    /// Sets the properties of a request in all its objects, durably and in one transaction (BAT-2).
    ///
    /// - Throws: `constraintConflict` for a unique value that would occur twice; `predicateInvalid`, `typeMismatch`, `unknownKey`.
    @discardableResult
    public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.entityName)
        var fetch = FetchDescription(entityName: entity.name, predicate: request.predicate)
        fetch.includesSubentities = request.includesSubentities
        try fetch.validate(for: entity)
        var update = BatchUpdate(request: fetch, assignments: try assignments(of: request, entity))
        update.collectsObjects = request.resultType == .objectIDs
        update.origin = batchOrigin
        let store = try store()
        let outcome = try reportingConflicts { try store.update(update) }
        try takeInBatch()
        return BatchResult(request.resultType, outcome, store)
    }

    /// Deletes the objects of a request and those that their delete rules take along, durably and in one transaction (BAT-3).
    ///
    /// - Throws: `deleteDenied` (1600) with each object that a deny rule holds back; `predicateInvalid`.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
        let entity = try persistentStoreCoordinator.managedObjectModel.entity(named: request.fetch.entityName)
        try request.fetch.validate(for: entity)
        var delete = BatchDelete(request: request.fetch)
        delete.collectsObjects = request.resultType == .objectIDs
        delete.origin = batchOrigin
        let store = try store()
        let outcome = try store.delete(delete)
        try takeInBatch()
        return BatchResult(request.resultType, outcome, store)
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

    private func takeInBatch() throws {
        if automaticallyMergesChangesFromParent { try advance() }
    }

    private func reportingConflicts<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let conflicts as SaveConflicts { throw conflicts.error }
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
    fileprivate init(_ type: BatchResultType, _ outcome: BatchOutcome, _ store: Store) {
        self.init(type)
        count = outcome.count
        objectIDs = outcome.objects.map(store.objectID)
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
