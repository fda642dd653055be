internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// Fills the trees that a migration builds, in transactions of bounded size, before the store switches to them.
///
/// Readers do not see these trees, because the catalogue does not contain them yet. The stored value `migration` lists them, so that the next
/// opening removes the trees of an interrupted migration.
final class MigrationBuild {
    let draft: MigrationDraft
    let engine: Engine
    let options: MigrationOptions
    let progress: ProgressRelay
    let oldReader: RowReader
    /// The new version's schema with trees that are still being built.
    let reader: RowReader
    var transaction: WriteTransaction
    private var written = 0
    /// The number of rows and entries read, and their estimated total.
    private var workDone = 0
    private let workTotal: Int
    /// Violations of the new model by the data.
    var violations: [HornbeamError] = []
    /// False when code fills required values afterwards.
    let checksRequired: Bool
    private var cachedOldState: StoreSnapshot?
    static let violationsMax = 1_000

    /// - Throws: Before it writes.
    init(
        _ draft: MigrationDraft, _ engine: Engine, _ options: MigrationOptions, _ progress: ProgressRelay, checksRequired: Bool = true
    ) throws {
        self.checksRequired = checksRequired
        self.draft = draft
        self.engine = engine
        self.options = options
        self.progress = progress
        let cost = try MigrationCost(draft, engine)
        workTotal = max(cost.rows + cost.entries, 1)
        let snapshot = draft.snapshot
        oldReader = try RowReader(draft.old.catalogue, draft.old.model, engine) { snapshot.tree(named: $0) }
        transaction = try engine.begin()
        try PendingMigration.add(draft.createdTables.map(\.name) + draft.createdIndexes, to: transaction)
        for (name, layout) in draft.createdTables { _ = try transaction.createTable(named: name, layout: layout) }
        for name in draft.createdIndexes { _ = try transaction.createIndex(named: name) }
        let open = transaction
        reader = try RowReader(draft.catalogue, draft.new, engine) { open.tree(named: $0) }
        try flush()
    }

    deinit { transaction.abort() }

    var schema: Schema { reader.schema }

    func run() throws {
        for step in draft.tables where step.isRewritten { try rewrite(step) }
        try flush()
        for step in draft.links where step.isBuilt { try build(step) }
        for step in draft.indexes where step.isBuilt { try build(step) }
        if checksRequired { try checkRequired() }
        if checksRequired, options.checksValues { try checkValues() }
        try flush()
        transaction.abort()
    }

    // MARK: Transactions

    /// Counts written rows and entries; begins a new transaction when the current one is large enough.
    func wrote(_ count: Int) throws(EngineError) {
        written += count
        if written >= options.batchSize { try flush() }
    }

    /// Reports the progress of reading; throws when the migration is cancelled.
    func advance(_ part: String, by count: Int) throws(EngineError) {
        workDone = min(workDone + count, workTotal)
        try progress.report(part, workDone, workTotal)
    }

    func flush() throws(EngineError) {
        written = 0
        _ = try transaction.commit(.lazy(maxDelay: .seconds(1)))
        transaction = try engine.begin()
    }

    /// Runs engine calls whose closures may throw other errors.
    func translated(_ body: () throws(EngineError) -> Void) throws { try progress.translated(body) }

    /// Runs a step that may throw any error inside a closure of the engine.
    func attempt<R>(_ body: () throws -> R) throws(EngineError) -> R {
        do { return try body() } catch let error as EngineError { throw error } catch { throw progress.stop(error) }
    }

    /// The rows of an entity in the new version.
    func rows(_ step: TableStep) throws(EngineError) -> TableView {
        let snapshot = try engine.snapshot()
        let tree = schema.table(step.entity).tree
        return step.changesLayout ? try snapshot.table(tree, seenAs: step.layout) : try snapshot.table(tree)
    }

    /// The old version, for expressions that read other objects.
    func oldState() throws(EngineError) -> StoreSnapshot {
        if let cachedOldState { return cachedOldState }
        let state = try StoreSnapshot(draft.snapshot, reader: oldReader)
        cachedOldState = state
        return state
    }

    // MARK: Violations

    func violate(
        _ code: HornbeamError.Code, _ text: String, _ entity: EntityDescription, _ key: String?, _ objects: [ObjectReference],
        value: PropertyValue? = nil
    ) {
        guard violations.count < Self.violationsMax else { return }
        violations.append(
            HornbeamError(code, text, entity: entity.name, key: key, value: value, objectIDs: objects.map(oldID)))
    }

    /// The ID of an object under its old entity, which both models can look up.
    func oldID(_ object: ObjectReference) -> ManagedObjectID {
        let step = draft.tables.first { $0.entity.index == Int(object.entityIndex) }
        guard let before = step?.oldEntity else { return reader.origins.objectID(object) }
        return oldReader.origins.objectID(ObjectReference(before, object.key))
    }

    /// Checks the values of all rows against the limits, patterns and rules of the new model.
    private func checkValues() throws {
        for step in draft.tables where step.rowCount > 0 {
            var check = ValueCheck(schema.table(step.entity), reader)
            let rows = try rows(step)
            try translated { () throws(EngineError) in try check.run(over: rows) }
            violations += check.violations(oldID).prefix(max(Self.violationsMax - violations.count, 0))
        }
    }

    // MARK: Rows

    private func rewrite(_ step: TableStep) throws {
        guard let before = step.oldEntity, let rows = try draft.oldRows(before) else { return }
        let rewrite = RowRewrite(step, self, from: oldReader.schema.table(before))
        let tree = schema.table(step.entity).tree
        let buffer = RowBuffer(layout: step.layout)
        try translated { () throws(EngineError) in
            try rows.forEachLeaf { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count {
                    buffer.reset()
                    try attempt { try rewrite.fill(buffer, from: leaf.row(slot), key: leaf.key(slot)) }
                    _ = try transaction.put(buffer, key: leaf.key(slot), in: tree)
                }
                try wrote(leaf.count)
                try advance(step.entity.name, by: leaf.count)
                return true
            }
        }
    }
}

/// The list of trees that an unfinished migration has created, as the store keeps it.
struct PendingMigration: Codable {
    static let valueName = "migration"
    var trees: [String]

    /// Adds created trees to the list.
    static func add(_ trees: [String], to transaction: WriteTransaction) throws {
        let known = try transaction.value(valueName).map { try JSONDecoder().decode(PendingMigration.self, from: Data($0)) }
        let pending = PendingMigration(trees: (known?.trees ?? []) + trees)
        try transaction.setValue(valueName, [UInt8](try JSONEncoder().encode(pending)))
    }

    /// Removes the trees of an interrupted migration, if there is one.
    static func clear(_ engine: Engine) throws {
        guard let bytes = try engine.snapshot().value(valueName) else { return }
        let pending = try JSONDecoder().decode(PendingMigration.self, from: Data(bytes))
        let transaction = try engine.begin()
        for name in pending.trees {
            if let tree = transaction.tree(named: name) { try transaction.drop(tree) }
        }
        try end(in: transaction)
        _ = try transaction.commit(.full)
    }

    /// Removes the list, and what a stage has stored beside it.
    static func end(in transaction: WriteTransaction) throws {
        try transaction.setValue(valueName, nil)
        try transaction.setValue(StoredValue.stageMetadata, nil)
    }
}

extension RowReader {
    /// Resolves a catalogue against its model.
    convenience init(
        _ catalogue: Catalogue, _ model: ManagedObjectModel, _ engine: Engine, find: @escaping Schema.TreeFinder
    ) throws(EngineError) {
        let schema = try Schema(catalogue, model: model, find: find)
        self.init(schema: schema, origins: StoreOrigins(identifier: UUID(engine.storeIdentifier), model: model, catalogue: catalogue))
    }
}
