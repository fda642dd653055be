internal import Foundation
internal import HornbeamEngine
package import HornbeamModel

extension Store {
    /// What opening a store with a model would do to it; nil when it needs no migration. Writes nothing.
    ///
    /// - Throws: `inferredMappingFailed` with every obstacle; what keeps the store from being opened for reading.
    package static func migrationPlan(
        of location: Location, to model: ManagedObjectModel, options: Options = Options()
    ) throws -> StoreMigrationPlan? {
        var reading = options
        reading.readOnly = true
        reading.createIfMissing = false
        let store = try open(location, model: nil, options: reading)
        defer { try? store.close() }
        return try EngineError.translating {
            let stages = options.migration?.stages ?? []
            return try stages.isEmpty ? store.migrationPlan(to: model) : store.migrationPlan(to: model, stages)
        }
    }

    /// The first stage with what it costs in this store, and what the next ones do.
    private func migrationPlan(to model: ManagedObjectModel, _ stages: [MigrationStep]) throws -> StoreMigrationPlan? {
        let snapshot = try engine.snapshot()
        guard let stored = try StoredSchema(snapshot, location),
            let first = stages.firstIndex(where: { $0.mapping.source.versionChecksum == stored.model.versionChecksum })
        else { return try migrationPlan(to: model) }
        let stage = stages[first]
        let draft = try MigrationDraft(stored, to: stage.mapping.destination, by: stage.mapping, snapshot)
        var plan = try StoreMigrationPlan(draft, engine)
        plan.label = stage.label
        plan.laterMappings = stages[(first + 1)...].map(\.mapping)
        guard stage.runsCode else { return plan }
        plan.runsCode = true
        let rows = draft.tables.reduce(0) { $0 + $1.rowCount }
        let entries = try stored.catalogue.indexTrees.reduce(0) { (sum, name) throws(EngineError) in
            try sum + (snapshot.tree(named: name).map { (tree) throws(EngineError) in try snapshot.index(tree).count } ?? 0)
        }
        plan.rowCount += rows + entries
        plan.byteCount = Int(try engine.statistics().liveBytes) * 2 + 1 << 20
        return plan
    }

    private func migrationPlan(to model: ManagedObjectModel) throws -> StoreMigrationPlan? {
        let snapshot = try engine.snapshot()
        guard let stored = try StoredSchema(snapshot, location) else { return nil }
        let differs = try !stored.differences(to: model, Catalogue(model: model)).isEmpty
        let mapping: MappingModel
        do { mapping = try MappingModel.inferred(from: stored.model, to: model) } catch {
            if differs { throw error }
            return nil
        }
        let draft = try MigrationDraft(stored, to: model, by: mapping, snapshot)
        guard differs || draft.changesShape else { return nil }
        return try StoreMigrationPlan(draft, engine)
    }

    /// The model that a store holds. Writes nothing.
    package static func storedModel(of location: Location, options: Options = Options()) throws -> ManagedObjectModel {
        var reading = options
        reading.readOnly = true
        reading.createIfMissing = false
        let store = try open(location, model: nil, options: reading)
        defer { try? store.close() }
        return store.model
    }

    /// True while trees of an older version wait to be dropped (PSC-20).
    package var hasDeferredMigration: Bool {
        get throws { try EngineError.translating { try !LeftoverTrees.names(in: engine.snapshot()).isEmpty } }
    }

    /// Drops the trees that migrations left behind; does nothing when there are none.
    package func finishDeferredMigration() throws {
        try requireWritable()
        try EngineError.translating { try LeftoverTrees.drop(in: engine) }
    }
}

/// The trees of older versions that are dropped later, since that takes longer the larger they are.
enum LeftoverTrees {
    private static let valueName = "leftover"

    static func names(in snapshot: Snapshot) throws -> [String] {
        try snapshot.value(valueName).map { try JSONDecoder().decode([String].self, from: Data($0)) } ?? []
    }

    static func add(_ names: [String], _ snapshot: Snapshot, to transaction: WriteTransaction) throws {
        guard !names.isEmpty else { return }
        let all = try self.names(in: snapshot) + names
        try transaction.setValue(valueName, [UInt8](try JSONEncoder().encode(all)))
    }

    /// One tree in a transaction, so that none is larger than needed.
    static func drop(in engine: Engine) throws {
        var rest = try names(in: engine.snapshot())
        while let name = rest.popLast() {
            let transaction = try engine.begin()
            if let tree = transaction.tree(named: name) { try transaction.drop(tree) }
            try transaction.setValue(valueName, rest.isEmpty ? nil : [UInt8](try JSONEncoder().encode(rest)))
            _ = try transaction.commit(.full)
        }
    }
}

extension StoreMigrationPlan {
    init(_ draft: MigrationDraft, _ engine: Engine) throws(EngineError) {
        let cost = try MigrationCost(draft, engine)
        var steps = draft.tables.map { step in
            let way: Step.Way =
                switch step.way {
                case .create: .created
                case .keep: .unchanged
                case .alter: .altered
                case .rewrite: .rewritten
                }
            return Step(entity: step.entity.name, way: way, rows: step.rowCount, reasons: step.reasons)
        }
        for entity in draft.mapping.entityMappings where entity.kind == .remove {
            guard let name = entity.sourceEntityName, let old = draft.old.model.entitiesByName[name], !old.isAbstract else { continue }
            steps.append(Step(entity: name, way: .removed, rows: try draft.oldRowCount(old)))
        }
        let links = draft.links.filter(\.isBuilt).map { "\($0.relationship.entity.name).\($0.relationship.name)" }
        let indexes = draft.indexes.filter(\.isBuilt).map { index in
            "\(index.stored.name == nil ? "constraint" : "index") \(index.stored.entity)"
                + "(\(index.stored.elements.map(\.property).joined(separator: ", ")))"
        }
        self.init(
            mapping: draft.mapping, steps: steps, builtIndexes: links + indexes, rowCount: cost.rows + cost.entries,
            byteCount: draft.builds ? cost.bytes : 0)
    }
}

extension EngineError {
    /// Runs work that throws errors of the engine among others; users see those of the library only.
    static func translating<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as EngineError { throw HornbeamError(error) }
    }
}
