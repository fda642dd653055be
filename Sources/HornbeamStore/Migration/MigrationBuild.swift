internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Fills the trees that a migration builds, in transactions of limited size, before the store switches to them.
///
/// Readers do not see these trees, because the catalogue does not contain them yet. The stored value `migration` lists them, so that the next
/// opening removes the trees of an interrupted migration.
final class MigrationBuild {
    let draft: MigrationDraft
    let engine: Engine
    let options: MigrationOptions
    let progress: ProgressRelay
    let oldReader: RowReader
    /// A reader of the new version with trees that are still being built.
    let reader: RowReader
    var transaction: WriteTransaction
    /// The bytes that the transaction has written to leaves.
    private var writtenBytes = 0
    /// A transaction keeps the pages that it changes in the pool until its commit.
    private let transactionBytesMax: Int
    private var runs = 0
    /// The threads that read and convert rows. One where a simulation must be repeatable.
    let threads: Int
    /// The number of rows and entries read, and their estimated total.
    private var workDone = 0
    private let workTotal: Int
    /// Violations of the new model by the data.
    var violations: [HornbeamError] = []
    /// False when code fills required values afterwards.
    let checksRequired: Bool
    private var cachedOldSnapshot: StoreSnapshot?
    static let violationsMax = 1_000

    /// Creates the trees, and lists them as pending in the same transaction.
    init(
        _ draft: MigrationDraft, _ engine: Engine, _ options: MigrationOptions, _ progress: ProgressRelay, checksRequired: Bool = true
    ) throws {
        self.checksRequired = checksRequired
        self.draft = draft
        self.engine = engine
        self.options = options
        self.progress = progress
        transactionBytesMax = engine.options.poolBytes / 8
        threads = engine.options.usesBackgroundThread ? min(Cores.count, 4) : 1
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

    /// Counts bytes of leaves; begins a new transaction when the current one is large enough.
    func countWritten(bytes: Int) throws(EngineError) {
        writtenBytes += bytes
        guard writtenBytes >= transactionBytesMax else { return }
        // The commit writes the pages, so that the next transaction can reuse their frames.
        transaction.commitByPages()
        try flush()
    }

    /// A number for an index that holds sorted entries.
    func nextRunNumber() -> Int {
        defer { runs += 1 }
        return runs
    }

    /// Reports the progress of reading; throws when the migration is cancelled.
    func advance(_ part: String, by count: Int) throws(EngineError) {
        workDone = min(workDone + count, workTotal)
        try progress.report(part, workDone, workTotal)
    }

    func flush() throws(EngineError) {
        writtenBytes = 0
        _ = try transaction.commit(.lazy(maxDelay: .seconds(1)))
        transaction = try engine.begin()
    }

    /// Runs engine calls with closures that may throw errors of other types.
    func translated(_ body: () throws(EngineError) -> Void) throws { try progress.translated(body) }

    /// Runs a step that may throw any error inside a closure of the engine.
    func attempt<R>(_ body: () throws -> R) throws(EngineError) -> R {
        do { return try body() } catch let error as EngineError { throw error } catch { throw progress.stop(error) }
    }

    /// The rows of an entity in the new version.
    func rows(_ step: TableStep) throws(EngineError) -> TableView {
        let snapshot = try engine.snapshot(isPinned: true)
        let tree = schema.table(step.entity).tree
        return step.changesLayout ? try snapshot.table(tree, seenAs: step.layout) : try snapshot.table(tree)
    }

    /// The old version, for expressions that read other objects.
    func oldSnapshot() throws(EngineError) -> StoreSnapshot {
        if let cachedOldSnapshot { return cachedOldSnapshot }
        let state = try StoreSnapshot(draft.snapshot, reader: oldReader)
        cachedOldSnapshot = state
        return state
    }

    // MARK: Violations

    func recordViolation(
        _ code: HornbeamError.Code, _ text: String, _ entity: EntityDescription, _ key: String?, _ objects: [ObjectReference],
        value: PropertyValue? = nil
    ) {
        guard violations.count < Self.violationsMax else { return }
        violations.append(violation(code, text, entity, key, objects, value: value))
    }

    func violation(
        _ code: HornbeamError.Code, _ text: String, _ entity: EntityDescription, _ key: String?, _ objects: [ObjectReference],
        value: PropertyValue?
    ) -> HornbeamError {
        HornbeamError(code, text, entity: entity.name, key: key, value: value, objectIDs: objects.map(oldID))
    }

    func take(_ found: [HornbeamError]) { violations += found.prefix(max(Self.violationsMax - violations.count, 0)) }

    /// The ID of an object under its old entity, which both models can look up.
    func oldID(_ object: ObjectReference) -> ManagedObjectID {
        draft.oldID(object, oldReader.origins, reader.origins)
    }

    /// Checks the values of all rows against the limits, patterns and rules of the new model.
    private func checkValues() throws {
        for step in draft.tables where step.rowCount > 0 {
            var check = ValueCheck(schema.table(step.entity), reader)
            let rows = try rows(step)
            try translated { () throws(EngineError) in try check.run(over: rows) }
            take(check.violations(oldID))
        }
    }

    // MARK: Rows

    private func rewrite(_ step: TableStep) throws {
        guard let before = step.oldEntity, let rows = try draft.oldRows(before) else { return }
        let tree = schema.table(step.entity).tree
        // Expressions of all threads read this state.
        _ = try oldSnapshot()
        let source = oldReader.schema.table(before)
        let workers = try (0 ..< threads).map { _ in (rewrite: RowRewrite(step, self, from: source), batch: try transaction.makeLeafBatch(for: tree)) }
        var window = RowWindow(count: rows.count, rowsMax: options.batchSize)
        while let range = window.next() {
            try rows.share(range, parts: window.parts(threads)) { part, leaf, slots in
                let (rewrite, batch) = workers[part]
                for slot in slots {
                    try rewrite.fill(batch.nextRow(), from: leaf.row(slot), key: leaf.key(slot))
                    try batch.add(key: leaf.key(slot))
                }
            }
            try translated { () throws(EngineError) in
                var bytes = 0
                for worker in workers { bytes += try transaction.append(worker.batch, to: tree) }
                window.countWritten(bytes)
                try countWritten(bytes: bytes)
                try advance(step.entity.name, by: range.count)
            }
            for worker in workers { take(worker.rewrite.takeViolations()) }
        }
    }
}

/// The stored list of the trees that an unfinished migration has created.
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
        var pending = try JSONDecoder().decode(PendingMigration.self, from: Data(bytes))
        // One transaction for each tree limits the size of the transactions.
        repeat {
            let transaction = try engine.begin()
            defer { transaction.abort() }
            if let name = pending.trees.popLast(), let tree = transaction.tree(named: name) { try transaction.drop(tree) }
            if pending.trees.isEmpty {
                try end(in: transaction)
            } else {
                try transaction.setValue(valueName, [UInt8](try JSONEncoder().encode(pending)))
            }
            _ = try transaction.commit(pending.trees.isEmpty ? .full : .lazy(maxDelay: .seconds(1)))
        } while !pending.trees.isEmpty
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
        self.init(schema: schema, origins: StoreIdentities(identifier: UUID(engine.storeIdentifier), model: model, catalogue: catalogue))
    }
}
