internal import HornbeamEngine
package import HornbeamModel

/// Deletes all objects that a request finds, and the objects that their delete rules delete (BAT-3).
package struct BatchDelete: Sendable {
    package var request: FetchDescription
    package var collectsObjects = false
    package var origin = BatchOrigin()

    package init(request: FetchDescription) { self.request = request }
}

extension Store {
    /// Executes a batch delete in one transaction.
    ///
    /// - Throws: `deleteDenied` when a deny rule forbids the deletion of an object. Nothing is deleted then.
    package func delete(_ delete: BatchDelete) throws -> BatchOutcome {
        if let outcome = try executed(delete) { return outcome }
        return try inBatchTransaction(delete.origin, collectsObjects: delete.collectsObjects, loading: { try load(for: delete) }) { transaction, base in
            var execution = BatchDeleteExecution(delete, transaction, base)
            return try execution.run()
        }
    }
}

/// Executes one batch delete: collects the objects, checks deny rules, sets references to null, removes rows and entries.
struct BatchDeleteExecution {
    private let delete: BatchDelete
    private let transaction: WriteTransaction
    private let base: StoreSnapshot
    /// The objects to delete, in the order in which they were found.
    private var deletions: [ObjectReference] = []
    private var deletionSet: Set<ObjectReference> = []
    /// Objects whose references to deleted objects were cleared, if the model has derived attributes.
    private var cleared: [ObjectReference] = []

    init(_ delete: BatchDelete, _ transaction: WriteTransaction, _ base: StoreSnapshot) {
        self.delete = delete
        self.transaction = transaction
        self.base = base
    }

    mutating func run() throws -> (change: StoreChange, outcome: BatchOutcome) {
        var change = StoreChange()
        var outcome = BatchOutcome()
        let found = try base.select(ValidatedFetch(delete.request, in: base.schema.model))
        let derived = SaveExecution(ChangeSet(), transaction: transaction, reader: base.reader)
        if found.allSatisfy({ Self.isPlain($0.table) }) {
            if !base.schema.derivations.isEmpty { try derived.findStaleValues(afterDeleting: references(found)) }
            for (table, rows) in found {
                try remove(rows, table, &change)
                change.recordDeletion(of: rows, table)
            }
            outcome.count = found.reduce(0) { $0 + $1.rows.count }
        } else {
            deletions = references(found)
            deletionSet = Set(deletions)
            try followCascades()
            try requireAllowed()
            try derived.findStaleValues(afterDeleting: deletions)
            try nullify(&change)
            try remove(&change)
            change.deleted = deletions.sorted()
            outcome.count = deletions.count
        }
        if delete.collectsObjects { outcome.objects = change.deleted }
        try derived.updateDerivedValues(after: &change, written: cleared)
        return (change, outcome)
    }

    private func references(_ found: [(table: EntityTable, rows: RowSelection)]) -> [ObjectReference] {
        found.flatMap { ChangedRows(entityIndex: $0.table.index, rows: $0.rows).references }
    }

    private func table(_ object: ObjectReference) -> EntityTable { base.schema.table(at: object.entityIndex) }

    /// True when the objects of an entity have no relationships, so that no delete rule applies.
    static func isPlain(_ table: EntityTable) -> Bool {
        table.linksAsMember.isEmpty && !table.entity.properties.contains(where: \.isRelationship)
    }

    // MARK: Rules

    private mutating func followCascades() throws {
        var next = 0
        while next < deletions.count {
            let object = deletions[next]
            next += 1
            for property in table(object).entity.properties where property.deleteRule == .cascade && !property.isTransient {
                for destination in try destinations(property, object) where deletionSet.insert(destination).inserted {
                    deletions.append(destination)
                }
            }
        }
    }

    /// One error names all objects that a deny rule protects (DEL-4).
    private func requireAllowed() throws {
        var denied: [HornbeamError] = []
        for object in deletions {
            for property in table(object).entity.properties where property.deleteRule == .deny && !property.isTransient {
                let isHeld = try destinations(property, object).contains { !deletionSet.contains($0) }
                if isHeld { denied.append(denial(property, object)) }
            }
        }
        if let error = HornbeamError.combining(denied) { throw error }
    }

    private func denial(_ property: PropertyDescription, _ object: ObjectReference) -> HornbeamError {
        let entity = table(object).entity.name
        return HornbeamError(
            .deleteDenied,
            "The \(entity) cannot be deleted while “\(property.name)” refers to other objects. Delete those too, or "
                + "clear the relationship first.",
            entity: entity, key: property.name, objectIDs: [base.reader.origins.objectID(object)])
    }

    /// Clears the to-ones that refer to deleted objects. The members of to-manys are removed with the rows.
    private mutating func nullify(_ change: inout StoreChange) throws {
        let deletionSet = deletionSet
        var pending = PendingRows(transaction, base.reader) { deletionSet.contains($0) }
        for object in deletions {
            for property in table(object).entity.properties where property.isRelationship && !property.isTransient {
                guard property.deleteRule != .noAction, let inverse = property.inverse, inverse.isToOne else { continue }
                for destination in try destinations(property, object) where !deletionSet.contains(destination) {
                    try pending.clear(inverse, of: destination, pointingAt: object)
                }
            }
        }
        if pending.isEmpty { return }
        try pending.write(&change)
        cleared = pending.written
    }

    private func destinations(_ property: PropertyDescription, _ object: ObjectReference) throws -> [ObjectReference] {
        if property.isToMany { return try base.members(of: property, owner: object.key) }
        var hint = RowHint()
        let target = try base.toOne(of: property, table(object).entity, object.key, &hint) ?? nil
        return target.map { [$0] } ?? []
    }

    // MARK: Rows

    private func remove(_ change: inout StoreChange) throws {
        for table in base.schema.tables {
            guard let table else { continue }
            let keys = deletions.filter { $0.entityIndex == table.index }.map(\.key).sorted()
            if keys.isEmpty { continue }
            if table.mirrors.isEmpty, table.linksAsOwner.isEmpty, table.linksAsMember.isEmpty {
                try remove(try transaction.table(table.tree).selection(of: keys), table, &change)
            } else {
                try removeLinked(keys, table, &change)
            }
        }
    }

    /// Removes rows without relationship trees: first their entries, index by index, then the rows, leaf by leaf.
    private func remove(_ rows: RowSelection, _ table: EntityTable, _ change: inout StoreChange) throws {
        try preserveValues(rows, table, &change)
        let keys = table.indexes.isEmpty ? [] : rows.keys
        try EngineError.translated { () throws(EngineError) in
            for index in table.indexes {
                // A walk reads an entry in a fraction of the time of a lookup, so it is used unless few entries are removed.
                if try transaction.index(index.tree).count < rows.count * 16 {
                    try transaction.deleteEntries(of: keys, at: index.isUnique ? .startOfValue : .endOfKey, from: index.tree)
                } else {
                    try removeEntries(of: keys, table, index)
                }
            }
            try transaction.delete(rows, from: table.tree)
        }
    }

    /// Removes the entries of few rows, in key order.
    private func removeEntries(of keys: [UInt64], _ table: EntityTable, _ index: ValueIndex) throws(EngineError) {
        var run = EntryRun()
        var key = IndexKey()
        try base.view(table).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
            try index.fill(&key, from: row, of: table)
            if key.isExcluded || (index.isUnique && key.hasNull) { return true }
            if !index.isUnique || key.isTruncated { key.append(objectKey: keys[position]) }
            run.append(key.bytes, ObjectReference(entityIndex: table.index, key: keys[position]))
            return true
        }
        unsafe try run.forEachSorted { (entry, _) throws(EngineError) in _ = unsafe try transaction.delete(entry, from: index.tree) }
    }

    /// Records the values that history preserves of the deleted rows.
    private func preserveValues(_ rows: RowSelection, _ table: EntityTable, _ change: inout StoreChange) throws {
        let history = base.reader.history
        guard history.preservesValues(of: table) else { return }
        let keys = rows.keys
        try EngineError.translated { () throws(EngineError) in
            try base.view(table).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
                let object = ObjectReference(entityIndex: table.index, key: keys[position])
                change.preserved[object] = try history.preservedValues(of: row, in: table)
                return true
            }
        }
    }

    private func removeLinked(_ keys: [UInt64], _ table: EntityTable, _ change: inout StoreChange) throws {
        var changes = ChangeSet()
        changes.deletes = keys.map { ChangeSet.Delete(entity: table.entity, key: $0, expectedVersion: 0) }
        let execution = SaveExecution(changes, transaction: transaction, reader: base.reader)
        try execution.claimUniqueKeys([])
        for delete in changes.deletes { try execution.execute(delete) }
        execution.finishChange()
        var others = execution.change
        others.deleted = []
        others.updated.removeAll { deletionSet.contains($0.reference) }
        change.merge(others)
    }
}

extension PendingRows {
    /// Clears a to-one that still refers to a deleted object.
    mutating func clear(
        _ property: PropertyDescription, of object: ObjectReference, pointingAt gone: ObjectReference
    ) throws {
        guard try current(property, of: object) == gone else { return }
        put(.null, property, object)
    }
}
