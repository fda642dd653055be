internal import HornbeamEngine
package import HornbeamModel

/// Imports many objects of one entity: sets the values of a row, appends it, and commits at the end.
///
/// ```swift
/// let writer = try store.batchWriter(for: event)
/// for line in lines {
///     writer.set(latitude, line.latitude)
///     try writer.append()
/// }
/// try writer.finish()
/// ```
/// Values are written directly into the cells of the row; no object and no dictionary is made. A batch has the writer's turn from its
/// first row to its commit, so other saves wait. With `commitEvery` it also commits in between, which lets other saves run and limits
/// memory. Without `finish`, uncommitted rows are discarded. Not `Sendable`: one thread writes a batch. Safe: `session` retains `rowOfSession`.
@safe package final class BatchWriter {
    package struct Options: Sendable {
        /// The number of rows after which the batch commits lazily; 0 for a single commit at the end.
        package var commitEvery = 0
        /// The durability of the last commit. It makes the earlier commits durable too. Nil uses the option of the store.
        package var durability: Store.SaveDurability?
        package var author: String?
        package var contextName: String?
        package var originator: UInt64 = 0
        /// The action for a row whose unique values a stored object already has. Rules other than `fail` work only with `append(_:)`, which takes values.
        package var conflictRule = ConflictRule.fail
        /// True makes `append(_:)` validate values against the model's limits. Required values are always checked.
        package var validatesValues = false

        package init() {}
    }

    /// The action for a row whose unique values another object has.
    package enum ConflictRule: Sendable {
        /// Ends the batch with an error.
        case fail
        /// Skips the row; the other object keeps its values.
        case skip
        /// Updates the other object with the values that the row sets.
        case update
    }

    /// The result of a batch.
    package struct Outcome: Sendable {
        package var rows = 0
        /// The number of the last commit.
        package var transaction: UInt64 = 0
    }

    let store: Store
    let table: EntityTable
    let options: Options
    // Unchecked, because one thread writes a batch and accesses never overlap. The runtime checks would take a tenth of the time of a row.
    @safe @exclusivity(unchecked) private(set) var session: BatchSession? {
        didSet { unsafe rowOfSession = session.map { unsafe Unmanaged.passUnretained($0.row) } }
    }
    /// The row of the session, which retains it. Unmanaged, so that setting a value counts no references.
    @safe @exclusivity(unchecked) var rowOfSession: Unmanaged<RowBuffer>?
    private var outcome = Outcome()
    private var rowsSinceCommit = 0
    /// The number of the current row, counted from 1.
    private(set) var rowNumber: Int
    private let rowsExpected: Int
    /// The columns of attributes and to-ones that require a value.
    private let required: [Int]
    /// The property of each mirror.
    private let mirrors: [Int]
    @safe @exclusivity(unchecked) var owners: [ObjectReference?]
    /// The last target of a to-one. The rows of one owner often follow each other.
    var lastTarget: (property: Int, id: ManagedObjectID, object: ObjectReference)?

    /// - Parameters:
    ///   - rowsBefore: The number of rows of the request before those of this batch.
    ///   - rowsExpected: The number of keys to request from a custom store at a time.
    init(_ store: Store, _ entity: EntityDescription, _ options: Options, rowsBefore: Int = 0, rowsExpected: Int = 1) {
        rowNumber = rowsBefore
        self.rowsExpected = rowsExpected
        self.store = store
        self.options = options
        table = store.schema.table(entity)
        required = table.columns.compactMap { $0 }.filter { !$0.property.isOptional && !$0.property.isDerived }.map(\.column)
        mirrors = table.mirrors.map(\.column.property.index)
        owners = Array(repeating: nil, count: table.columns.count)
    }

    deinit { session?.transaction.abort() }

    /// The current row.
    func row() throws -> RowBuffer {
        if let session { return session.row }
        let session = try BatchSession(store, table, writesUniqueKeysImmediately: options.conflictRule != .fail, rowsExpected: rowsExpected)
        self.session = session
        return session.row
    }

    /// Writes the row, and starts a new one with every property null.
    ///
    /// - Returns: The new object's key.
    /// - Throws: `missingRequiredValue`; `SaveConflicts` when a unique value is taken. Entries are written in batches, so a later call
    ///   may throw it. Then all rows since the last commit are discarded.
    @discardableResult
    package func append() throws -> UInt64 {
        countGivenRow()
        return try abortingOnError { try appendRow() }
    }

    /// Runs the body. Aborts the batch's transaction when the body throws.
    func abortingOnError<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch {
            session?.transaction.abort()
            session = nil
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
    }

    private func appendRow() throws -> UInt64 {
        if session == nil { _ = try row() }
        guard let session else { preconditionFailure("A batch that has a row has a session.") }
        return try appendRow(session).key
    }

    /// Writes the row. `body` runs before a commit that may follow the row.
    func appendRow(
        _ session: BatchSession, _ body: (ObjectReference) throws -> Void = { _ in }
    ) throws -> ObjectReference {
        let row = session.row
        for column in required where row.isNull(column) { throw missing(column) }
        let key = try session.assignKey(row: rowNumber)
        row.set(EntityTable.versionColumn, UInt32(1))
        try session.transaction.put(row, key: key, in: table.tree)
        let object = ObjectReference(entityIndex: table.index, key: key)
        try session.addEntries(of: object)
        for slot in mirrors.indices {
            if let owner = owners[mirrors[slot]] { try session.addMember(object, owner, ofMirror: slot) }
        }
        startRow(session)
        // `body` writes entries, and the derived attributes of the row also depend on the members that it adds.
        try body(object)
        session.recordInserted(object)
        try countRow()
        return object
    }

    /// The error of a row without a required value.
    private func missing(_ column: Int) -> HornbeamError {
        guard let property = table.columns.first(where: { $0?.column == column })??.property else { preconditionFailure("A required column has a property.") }
        return rowError(property.missingInBatch)
    }

    /// Adds the number of the row to the error.
    func rowError(_ error: HornbeamError) -> HornbeamError {
        var error = error
        error.message += " It is row \(rowNumber) of the batch."
        return error
    }

    /// Counts a row of the request.
    func countGivenRow() { rowNumber += 1 }

    /// Counts a written row, and commits after every `commitEvery` rows.
    func countRow() throws {
        outcome.rows += 1
        rowsSinceCommit += 1
        guard options.commitEvery > 0, rowsSinceCommit >= options.commitEvery else { return }
        try commit(.lazy(maxDelay: .seconds(1)))
    }

    private func startRow(_ session: BatchSession) {
        session.row.reset()
        for property in mirrors { owners[property] = nil }
    }

    /// Commits the appended rows and ends the batch. Further rows start a new batch.
    @discardableResult
    package func finish() throws -> Outcome {
        try commit(options.durability ?? store.durability)
        defer {
            outcome = Outcome()
            rowNumber = 0
        }
        return outcome
    }

    private func commit(_ durability: Store.SaveDurability) throws {
        guard let session else { return }
        self.session = nil
        rowsSinceCommit = 0
        var change: StoreChange
        let written: CustomStoreChanges?
        do {
            try session.writeEntries()
            change = session.finishedChange()
            change.kind = .batch
            change.author = options.author
            change.contextName = options.contextName
            change.originator = options.originator
            written = try store.forwardBatch(change, in: session.transaction)
        } catch {
            session.transaction.abort()
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
        do { outcome.transaction = try store.commit(session.transaction, durability, publishing: change) } catch {
            throw store.batchFailed(error, written)
        }
        if let written { store.backing?.setVersions(after: written) }
    }
}

extension Store {
    /// A writer that imports objects of a concrete entity.
    package func batchWriter(
        for entity: EntityDescription, options: BatchWriter.Options = BatchWriter.Options()
    ) throws -> BatchWriter {
        try requireWritable()
        return BatchWriter(self, entity, options)
    }
}
