internal import Foundation
internal import HornbeamEngine
package import HornbeamModel

extension Store {
    /// Describes the migration that opening a store with a model would execute; nil when it needs none. Writes nothing.
    ///
    /// - Throws: The errors with which opening refuses the migration before its first write, such as `inferredMappingFailed` with every obstacle,
    ///   `modelReferenceNotFound`, `stagedMigrationBackwards`, `modelMismatch`; errors of opening for reading.
    package static func migrationPlan(
        of location: Location, to model: ManagedObjectModel, options: Options = Options()
    ) throws -> StoreMigrationPlan? {
        var reading = options
        reading.readOnly = true
        reading.createIfMissing = false
        let store = try open(location, model: nil, options: reading)
        defer { try? store.close() }
        return try EngineError.translating { try store.migrationPlan(to: model, options.migration ?? MigrationOptions()) }
    }

    private func migrationPlan(to model: ManagedObjectModel, _ settings: MigrationOptions) throws -> StoreMigrationPlan? {
        guard let stored = try StoredSchema(engine.snapshot(), location.description) else { return nil }
        let migration = StoreMigration(engine: engine, location: location, options: Options(), settings: settings)
        let isRequired = try !stored.differences(to: model, Catalogue(model: model)).isEmpty
        let chain = MigrationChain(settings, location)
        var rest = try chain.versions(from: stored.model, to: model, isRequired: isRequired)[...]
        if isRequired { try chain.checkInference(from: stored.model, over: Array(rest)) }
        while let version = rest.popFirst() {
            let differs = try !stored.differences(to: version, Catalogue(model: version)).isEmpty
            guard let draft = try migration.draft(stored, to: version, isRequired: differs) else { continue }
            let stage = settings.stage(from: stored.model, to: version)
            var plan = try StoreMigrationPlan(draft, engine)
            plan.laterMappings = try zip([version] + rest, rest).map { source, destination in
                try settings.stage(from: source, to: destination)?.mapping ?? MappingModel.inferred(from: source, to: destination)
            }
            plan.label = stage?.label
            if let stage, stage.runsCode { try addCopy(to: &plan, draft) }
            return plan
        }
        return nil
    }

    /// Adds the cost of a stage with code, which first copies all rows and entries.
    private func addCopy(to plan: inout StoreMigrationPlan, _ draft: MigrationDraft) throws(EngineError) {
        plan.runsCode = true
        plan.rowCount += draft.tables.reduce(0) { $0 + $1.rowCount }
        for name in draft.old.catalogue.indexTrees {
            if let tree = draft.snapshot.tree(named: name) { plan.rowCount += try draft.snapshot.index(tree).count }
        }
        plan.byteCount = Int(try engine.statistics().liveBytes) * 2 + 1 << 20
    }

    /// The stored model of a store. Writes nothing.
    package static func storedModel(of location: Location, options: Options = Options()) throws -> ManagedObjectModel {
        var reading = options
        reading.readOnly = true
        reading.createIfMissing = false
        let store = try open(location, model: nil, options: reading)
        defer { try? store.close() }
        return store.model
    }

    /// True while trees of an older version are not removed yet (PSC-20).
    package var hasDeferredMigration: Bool {
        get throws { try EngineError.translating { try !LeftoverTrees.names(in: engine.snapshot()).isEmpty } }
    }

    /// Removes the trees that migrations left over, if there are any.
    package func finishDeferredMigration() throws {
        try requireWritable()
        try EngineError.translating {
            if try LeftoverTrees.names(in: engine.snapshot()).isEmpty { return }
            try withTurn { try LeftoverTrees.drop(in: engine) }
        }
    }
}

/// The large trees of older versions. They are removed later, because removing them takes time.
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

    /// Removes each tree in a transaction of its own, to limit the size of the transactions.
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
                case .fill, .rewrite: .rewritten
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
            byteCount: draft.writesRows ? cost.bytes : 0)
    }
}

extension EngineError {
    /// Runs code that may throw engine errors, and translates these into `HornbeamError`.
    static func translating<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as EngineError { throw HornbeamError(error) }
    }
}
