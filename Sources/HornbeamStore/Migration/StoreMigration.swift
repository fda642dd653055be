internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// A migration in place, from the version of the store to the version with which it is opened.
///
/// A migration that changes no rows is one small commit. Otherwise new trees are built beside the old ones, and one commit switches to the
/// new catalogue and removes the old trees. Until that commit the store has the old version, and the next opening for writing removes
/// the new trees of a migration that did not finish.
struct StoreMigration {
    let engine: Engine
    let location: Store.Location
    let options: Store.Options
    let settings: MigrationOptions

    /// Trees with more entries are removed later, so that the duration of the switch has a limit.
    private static let droppedImmediatelyMax = 20_000

    /// The migrated schema; nil when the store needs no migration for the model.
    ///
    /// Migrates through the given versions. Each completed step is durable.
    func run(_ stored: StoredSchema, to model: ManagedObjectModel, isRequired: Bool) throws -> StoredSchema? {
        let snapshot = try engine.snapshot()
        try Schema(stored.catalogue, model: stored.model, findsByIndexes: false) { snapshot.tree(named: $0) }.checkTables(in: snapshot)
        let chain = MigrationChain(settings, location)
        let versions = try chain.versions(from: stored.model, to: model, isRequired: isRequired)
        if isRequired { try chain.checkInference(from: stored.model, over: versions) }
        var current = stored
        var isMigrated = false
        for version in versions {
            let differs = try !current.differences(to: version, Catalogue(model: version)).isEmpty
            do {
                guard let next = try step(current, to: version, isRequired: differs, backsUp: !isMigrated) else { continue }
                (current, isMigrated) = (next, true)
            } catch let error as HornbeamError where error.code == .migrationCancelled {
                throw HornbeamError(
                    .migrationCancelled, "The migration of “\(location)” was cancelled. The store stays at \(settings.name(of: current.model)).")
            }
        }
        return isMigrated ? current : nil
    }

    private func step(
        _ stored: StoredSchema, to model: ManagedObjectModel, isRequired: Bool, backsUp: Bool
    ) throws -> StoredSchema? {
        let stage = settings.stage(from: stored.model, to: model)
        if let stage, stage.runsCode { return try run(stage, stored, to: model, backsUp: backsUp) }
        try PendingMigration.clear(engine)
        guard var draft = try self.draft(stored, to: model, isRequired: isRequired) else { return nil }
        if try completeInterruptedSave(stored), let complete = try self.draft(stored, to: model, isRequired: isRequired) { draft = complete }
        let backup = backsUp ? MigrationBackup(settings, location, options) : nil
        try checkSpace(for: (draft.writesRows ? MigrationCost(draft, engine).bytes : 0), stored.model, backup)
        try backup?.make(of: engine)
        let relay = ProgressRelay(settings.progress)
        let result = StoredSchema(catalogue: draft.catalogue, model: model, modelBytes: try model.encoded())
        do {
            try build(draft, relay)
            try finish(draft, result, label: stage?.label, records: isRequired, relay)
        } catch {
            // The first error is reported. If the cleanup fails, the next opening removes the trees.
            try? PendingMigration.clear(engine)
            backup?.remove()
            throw error
        }
        return result
    }

    /// The changes of one step, after the checks that need no write; nil when the step changes nothing. The plan of a migration calls it too.
    func draft(_ stored: StoredSchema, to model: ManagedObjectModel, isRequired: Bool) throws -> MigrationDraft? {
        let chain = MigrationChain(settings, location)
        let stage = settings.stage(from: stored.model, to: model)
        if isRequired { try chain.checkDirection(stored, model) }
        let mapping: MappingModel
        do {
            // Without a required migration, parts of equal names are the same, whatever their renaming identifiers.
            mapping = try stage?.mapping ?? (isRequired ? .inferred(from: stored.model, to: model) : .unchanged(from: stored.model, to: model))
        } catch {
            throw chain.refusal([error], stored.model, model)
        }
        let draft = try MigrationDraft(stored, to: model, by: mapping, try engine.snapshot(isPinned: true), engine)
        guard isRequired || draft.changesShape else { return nil }
        guard settings.infersMapping || stage != nil || !isRequired else { throw noMapping(stored, model) }
        // The code of a stage may delete objects, or make new ones of them.
        if stage?.runsCode != true {
            try checkSharesEntities(draft)
            try checkAbstract(draft)
        }
        return draft
    }

    func build(_ draft: MigrationDraft, _ relay: ProgressRelay, checksRequired: Bool = true) throws {
        guard draft.builds || (checksRequired && (!draft.required.isEmpty || settings.checksValues)) else { return }
        let build = try MigrationBuild(draft, engine, settings, relay, checksRequired: checksRequired)
        try build.run()
        guard build.violations.isEmpty else { throw violationError(build.violations, from: draft.old.model, to: draft.new) }
    }

    func violationError(_ violations: [HornbeamError], from old: ManagedObjectModel, to new: ManagedObjectModel) -> HornbeamError {
        HornbeamError(
            .migrationConstraintViolation,
            "“\(location)” cannot be migrated, since its data breaks rules of \(settings.name(of: new)): each of them is among the "
                + "details. The store stays at \(settings.name(of: old)). Correct the objects with the old model, or relax the rule.",
            objectIDs: violations.flatMap(\.objectIDs), details: violations)
    }

    // MARK: The commit

    private func finish(_ draft: MigrationDraft, _ result: StoredSchema, label: String?, records: Bool, _ relay: ProgressRelay) throws {
        let transaction = try engine.begin()
        defer { transaction.abort() }
        try setLayouts(draft, transaction, relay)
        try relay.translated { () throws(EngineError) in try relay.report("switching", 1, 1) }
        try drop(draft.dropped, transaction, draft.snapshot)
        try PendingMigration.end(in: transaction)
        try result.write(to: transaction)
        let reader = try RowReader(result.catalogue, result.model, engine) { transaction.tree(named: $0) }
        try deriveValues(draft, transaction, reader)
        if records { try record(draft, label: label, reader, transaction) }
        _ = try EngineError.translated { () throws(EngineError) in try transaction.commit(.full) }
    }

    /// Writes default values and new layouts into the tables that are not rebuilt, and creates the trees that were not built.
    func setLayouts(_ draft: MigrationDraft, _ transaction: WriteTransaction, _ relay: ProgressRelay) throws {
        for step in draft.tables {
            guard let tree = transaction.tree(named: step.stored.tree) else { continue }
            // The bulk leaf rewrite needs the current layout, so the new layout is set afterwards.
            for (n, fill) in step.fills.enumerated() {
                try relay.translated { () throws(EngineError) in try relay.report(step.entity.name, 1, 2) }
                // The fill before may have divided or converted leaves, which a selection identifies by their content.
                let rows = n == 0 ? fill.rows : try transaction.table(tree).selection(of: fill.rows.keys)
                try transaction.alter(rows, by: [.set(column: fill.column, cell: fill.cell)], in: tree)
            }
            if step.changesLayout { try transaction.setLayout(step.layout, of: tree) }
        }
        for (name, layout) in draft.createdTables where transaction.tree(named: name) == nil {
            _ = try transaction.createTable(named: name, layout: layout)
        }
        for name in draft.createdIndexes where transaction.tree(named: name) == nil {
            _ = try transaction.createIndex(named: name)
        }
    }

    func drop(_ names: [String], _ transaction: WriteTransaction, _ snapshot: Snapshot) throws {
        var leftover: [String] = []
        for name in names {
            guard let tree = transaction.tree(named: name) else { continue }
            let count = name.hasPrefix("rows/") ? try transaction.table(tree).count : try transaction.index(tree).count
            if count > Self.droppedImmediatelyMax {
                leftover.append(name)
            } else {
                try transaction.drop(tree)
            }
            try transaction.setValue(TreeName.truncatedKeysMark(name), nil)
        }
        try LeftoverTrees.add(leftover, snapshot, to: transaction)
    }

    /// Computes the derived attributes whose values change.
    ///
    /// - Throws: `migrationConstraintViolation`, with all objects that would share a unique value.
    func deriveValues(_ draft: MigrationDraft, _ transaction: WriteTransaction, _ reader: RowReader) throws {
        let execution = SaveExecution(ChangeSet(), transaction: transaction, reader: reader)
        var work: [SaveExecution.Derivations] = []
        for entity in draft.derivedEntities {
            let table = reader.schema.table(entity)
            var keys: [UInt64] = []
            try EngineError.translated { () throws(EngineError) in
                try transaction.table(table.tree).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                    for slot in 0 ..< leaf.count { keys.append(leaf.key(slot)) }
                    return true
                }
            }
            work.append(SaveExecution.Derivations(table: table, properties: draft.derived(in: entity), keys: keys))
        }
        var duplicates: [(index: ValueIndex, objects: Duplicates)] = []
        let fresh = Set(draft.indexes.filter(\.isBuilt).map(\.stored.number))
        for shared in try execution.derive(work, fresh: fresh) {
            let place = duplicates.firstIndex { $0.index === shared.index } ?? duplicates.count
            if place == duplicates.count { duplicates.append((shared.index, Duplicates())) }
            duplicates[place].objects.add(shared.object, sharing: shared.key, with: shared.holder)
        }
        guard !duplicates.isEmpty else { return }
        let old = StoreIdentities(identifier: UUID(engine.storeIdentifier), model: draft.old.model, catalogue: draft.old.catalogue)
        let violations = duplicates.flatMap { index, objects in
            objects.violations(of: index) { draft.oldID($0, old, reader.origins) }
        }
        throw violationError(violations, from: draft.old.model, to: draft.new)
    }

    func record(_ draft: MigrationDraft, label: String?, _ reader: RowReader, _ transaction: WriteTransaction) throws {
        guard options.history != nil || options.keepsStoredHistory, let tree = transaction.tree(named: HistoryKey.treeName) else { return }
        var change = StoreChange()
        change.kind = .migration
        let identifiers = draft.new.versionIdentifiers.sorted().joined(separator: ", ")
        change.label = label ?? (identifiers.isEmpty ? draft.new.versionChecksum : identifiers)
        try HistoryLog.kept(in: tree, as: options, reader, draft.snapshot).record(change, in: transaction)
    }

    // MARK: Checks before the first write

    /// Refuses a model without any of the store's entities: it belongs to another store, and migrating to it would remove all objects.
    func checkSharesEntities(_ draft: MigrationDraft) throws {
        guard !draft.mapping.keepsEntities else { return }
        for entity in draft.old.model.entities where try draft.oldRowCount(entity) > 0 {
            throw HornbeamError(
                .modelMismatch,
                "“\(location)” has none of the entities of the model, and it has objects of other entities, such as \(entity.name). It is the store "
                    + "of another model: open it with that model, or set the renaming identifiers of renamed entities.")
        }
    }

    /// Refuses a model in which an entity with objects becomes abstract, because abstract entities have no table.
    func checkAbstract(_ draft: MigrationDraft) throws {
        var problems: [HornbeamError] = []
        for entity in draft.new.entities where entity.isAbstract {
            guard let before = draft.predecessor(of: entity), try draft.oldRowCount(before) > 0 else { continue }
            problems.append(
                HornbeamError(
                    .migrationConstraintViolation,
                    "The entity becomes abstract and has \(try draft.oldRowCount(before)) objects. Delete them with the old model, "
                        + "or keep the entity concrete.",
                    entity: entity.name))
        }
        if let error = HornbeamError.combining(problems) { throw error }
    }

    /// - Parameter needed: The bytes that the migration writes. The copy of the store counts if it is on the same volume.
    func checkSpace(for needed: Int, _ old: ManagedObjectModel, _ backup: MigrationBackup?) throws {
        guard case .directory(let path) = location else { return }
        let fileSystem: any FileSystem = options.fileSystem ?? PosixFileSystem()
        var needed = needed
        if let backup, backup.isOnVolume(of: path) { needed += Int(try engine.statistics().liveBytes) }
        guard needed > 0, let free = fileSystem.availableBytes(path), free < needed else { return }
        throw HornbeamError(
            .full,
            "The migration of “\(location)” needs about \(needed >> 20) MiB, and \(free >> 20) MiB are free. The store stays at "
                + "\(settings.name(of: old)). Make room and open the store again.")
    }

    private func noMapping(_ stored: StoredSchema, _ model: ManagedObjectModel) -> HornbeamError {
        HornbeamError(
            .missingMappingModel,
            "“\(location)” was made with \(settings.name(of: stored.model)) and must be migrated to \(settings.name(of: model)); its description "
                + "does not allow the mapping to be inferred. Set shouldInferMappingModelAutomatically. The store stays at its version.")
    }
}

extension ManagedObjectModel {
    /// `version “2”`, or the checksum of a model without version identifiers.
    package var versionName: String {
        versionIdentifiers.isEmpty ? "the version \(versionChecksum)" : "version “\(versionIdentifiers.sorted().joined(separator: ", "))”"
    }
}
