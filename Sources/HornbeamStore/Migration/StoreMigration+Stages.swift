internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// A stage whose code reads old objects and writes new ones.
///
/// The old version is copied to new trees. Code changes the objects of the copy, then the copy is given the new structure, then code writes
/// the objects of the new version. Readers do not see these transactions. One commit switches to the copy and removes the trees of the
/// old version. Until then the store has the old version.
extension StoreMigration {
    func run(_ stage: MigrationStep, _ stored: StoredSchema, to model: ManagedObjectModel, backsUp: Bool) throws -> StoredSchema {
        try MigrationChain(settings, location).checkDirection(stored, model)
        try PendingMigration.clear(engine)
        _ = try completeInterruptedSave(stored)
        let backup = backsUp ? MigrationBackup(settings, location, options) : nil
        try checkSpace(for: Int(try engine.statistics().liveBytes) * 2 + 1 << 20, stored.model, backup)
        try backup?.make(of: engine)
        do {
            return try convert(stage, stored, to: model)
        } catch {
            // The first error is reported. If the cleanup fails, the next opening removes the trees.
            try? PendingMigration.clear(engine)
            backup?.remove()
            throw failure(error, of: stage)
        }
    }

    private func convert(_ stage: MigrationStep, _ stored: StoredSchema, to model: ManagedObjectModel) throws -> StoredSchema {
        let relay = ProgressRelay(settings.progress)
        let access = StageAccess()
        defer { access.end() }
        let copy = try MigrationCopy.run(stored, engine, settings, relay)
        if let prepare = stage.prepare { try prepare(try privateStore(copy, access)) }
        let snapshot = try engine.snapshot(isPinned: true)
        let draft = try MigrationDraft(copy, to: model, by: stage.mapping, snapshot, engine)
        if stage.convert == nil {
            // Code that runs afterwards can make new objects of those that have no successor.
            try checkSharesEntities(draft)
            try checkAbstract(draft)
        }
        try build(draft, relay, checksRequired: false)
        let result = StoredSchema(catalogue: draft.catalogue, model: model, modelBytes: try model.encoded())
        try reshape(draft, result, relay)
        if let convert = stage.convert {
            let (old, new) = (try privateStore(copy, access, at: snapshot), try privateStore(result, access))
            try convert(old, new, settings.progress ?? { _ in })
        }
        access.end()
        try checkRules(result, draft)
        try switchOver(stored, copy, result, draft, label: stage.label, relay)
        return result
    }

    /// Changes the structure of the copy to that of the new version.
    private func reshape(_ draft: MigrationDraft, _ result: StoredSchema, _ relay: ProgressRelay) throws {
        let transaction = try engine.begin()
        defer { transaction.abort() }
        try PendingMigration.add(draft.createdTables.map(\.name) + draft.createdIndexes, to: transaction)
        try setLayouts(draft, transaction, relay)
        let reader = try RowReader(result.catalogue, result.model, engine) { transaction.tree(named: $0) }
        try deriveValues(draft, transaction, reader)
        _ = try EngineError.translated { () throws(EngineError) in try transaction.commit(.lazy(maxDelay: .seconds(1))) }
    }

    /// A store with trees that no catalogue contains yet. With `state`, it is read-only and shows that snapshot alone.
    private func privateStore(_ schema: StoredSchema, _ access: StageAccess, at state: Snapshot? = nil) throws -> Store {
        var options = options
        options.stage = access
        options.readOnly = state != nil
        options.history = nil
        options.migration = nil
        options.durability = .lazy(maxDelay: .seconds(1))
        let snapshot = try state ?? engine.snapshot()
        let reader = try RowReader(schema.catalogue, schema.model, engine) { snapshot.tree(named: $0) }
        return Store(
            location: location, identifier: UUID(engine.storeIdentifier), engine: engine, reader: reader, options: options,
            metadata: try snapshot.metadata(ofStage: true), storedCatalogue: nil, openedTransaction: snapshot.transaction.rawValue, history: nil, memory: nil,
            fixedSnapshot: try state.map { try StoreSnapshot($0, reader: reader) })
    }

    private func switchOver(
        _ stored: StoredSchema, _ copy: StoredSchema, _ result: StoredSchema, _ draft: MigrationDraft, label: String?, _ relay: ProgressRelay
    ) throws {
        try relay.translated { () throws(EngineError) in try relay.report("switching", 1, 1) }
        let transaction = try engine.begin()
        defer { transaction.abort() }
        let old = stored.catalogue.tables.map(\.name) + stored.catalogue.indexTrees + copy.catalogue.tables.map(\.name) + copy.catalogue.indexTrees
        let kept = Set(result.catalogue.tables.map(\.name) + result.catalogue.indexTrees)
        try drop(Set(old).subtracting(kept).sorted(), transaction, draft.snapshot)
        if let metadata = try transaction.value(StoredValue.stageMetadata) { try transaction.setValue(StoredValue.metadata, metadata) }
        try PendingMigration.end(in: transaction)
        try result.write(to: transaction)
        let reader = try RowReader(result.catalogue, result.model, engine) { transaction.tree(named: $0) }
        try record(draft, label: label, reader, transaction)
        _ = try EngineError.translated { () throws(EngineError) in try transaction.commit(.full) }
    }

    // MARK: Checks after the code

    private func checkRules(_ result: StoredSchema, _ draft: MigrationDraft) throws {
        let snapshot = try engine.snapshot()
        let reader = try RowReader(result.catalogue, result.model, engine) { snapshot.tree(named: $0) }
        let state = try StoreSnapshot(snapshot, reader: reader)
        let old = StoreIdentities(identifier: UUID(engine.storeIdentifier), model: draft.old.model, catalogue: draft.old.catalogue)
        let oldID: (ObjectReference) -> ManagedObjectID = { draft.oldID($0, old, reader.origins) }
        var check = RequiredCheck(state, id: oldID)
        try check.run()
        var violations = check.violations
        if settings.checksValues {
            for case let table? in state.schema.tables {
                var values = ValueCheck(table, reader)
                try EngineError.translated { () throws(EngineError) in try values.run(over: state.view(table)) }
                violations += values.violations(oldID)
            }
        }
        guard violations.isEmpty else { throw violationError(violations, from: draft.old.model, to: result.model) }
    }

    /// The error that reports an error of a stage's code. Errors of the store, and errors that already name objects, are returned unchanged.
    private func failure(_ error: any Error, of stage: MigrationStep) -> any Error {
        let error = (error as? EngineError).map { HornbeamError($0) } ?? error
        let passing: [HornbeamError.Code] = [
            .full, .inputOutput, .damaged, .durabilityLost, .migrationCancelled, .migrationConstraintViolation, .entityMigrationPolicy, .modelMismatch,
        ]
        if let error = error as? HornbeamError, passing.contains(error.code) { return error }
        let found = error as? HornbeamError
        let details = found.map { $0.code == .multipleErrors ? $0.details : [$0] } ?? []
        return HornbeamError(
            .migrationFailed,
            "The stage \(stage.label.map { "“\($0)” " } ?? "")from \(stage.mapping.source.versionName) to "
                + "\(stage.mapping.destination.versionName) failed in “\(location)”: its code threw an error. The store stays at "
                + "\(settings.name(of: stage.mapping.source)). Correct the code or the objects, and open the store again.",
            objectIDs: found?.objectIDs ?? [], details: details, cause: found == nil ? "\(error)" : nil, underlyingError: error)
    }
}

/// Finds the objects without a value for a required property.
struct RequiredCheck {
    private let snapshot: StoreSnapshot
    private let id: (ObjectReference) -> ManagedObjectID
    private(set) var violations: [HornbeamError] = []

    /// - Parameter id: The ID of an object in errors.
    init(_ snapshot: StoreSnapshot, id: @escaping (ObjectReference) -> ManagedObjectID) {
        self.snapshot = snapshot
        self.id = id
    }

    mutating func run() throws {
        for case let table? in snapshot.schema.tables {
            for property in table.entity.properties where !property.isTransient && !property.isDerived && !property.isOptional {
                let objects = try property.isStoredToMany ? ownersOfTooFew(property, table) : objectsWithout(property, table)
                guard !objects.isEmpty else { continue }
                violations.append(
                    HornbeamError(
                        .missingRequiredValue,
                        "\(objects.count) objects of \(table.entity.name) have no value in “\(property.name)”, which is required.",
                        entity: table.entity.name, key: property.name,
                        objectIDs: objects.prefix(MigrationBuild.violationsMax).map(id)))
            }
        }
    }

    private func objectsWithout(_ property: PropertyDescription, _ table: EntityTable) throws -> [ObjectReference] {
        let column = table.column(property).column
        return try objects(of: table) { (row, _) throws(EngineError) in row.isNull(column) }
    }

    private func ownersOfTooFew(_ property: PropertyDescription, _ table: EntityTable) throws -> [ObjectReference] {
        guard property.error(forCount: 0) != nil else { return [] }
        let members = try snapshot.members(property)
        return try objects(of: table) { (_, key) throws(EngineError) in try members.count(owner: key) == 0 }
    }

    private func objects(
        of table: EntityTable, where isMissing: (RowView, UInt64) throws(EngineError) -> Bool
    ) throws -> [ObjectReference] {
        var found: [ObjectReference] = []
        try EngineError.translated { () throws(EngineError) in
            try snapshot.view(table).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count where try isMissing(leaf.row(slot), leaf.key(slot)) {
                    found.append(ObjectReference(entityIndex: table.index, key: leaf.key(slot)))
                }
                return true
            }
        }
        return found
    }
}
