// Deferred apply: a small transaction records its changes as redo and does not change the trees yet. So the log can be written first, and the
// device writes while the trees are changed. The changes are applied from their redo, as in a replay.
//
// Invariants:
// - Each index has at most one deferred change. The deferred rows of a table have different keys. A read of such a tree, another change of it, or a
//   change of another kind first applies all deferred changes. Afterwards the transaction defers no more changes.
// - A change is deferred only after the path to its leaf has been read and checked. So applying it can fail only if a page of the path has been
//   evicted and cannot be read again, or if no frames are free.

/// The changes that a transaction has recorded and not applied yet.
struct DeferredChanges {
    /// True if no more changes are deferred.
    fileprivate(set) var isOver: Bool
    fileprivate var count = 0
    /// The offset of the first deferred change in the redo.
    fileprivate var start = 0
    /// The tables and keys of the deferred rows.
    fileprivate var rows: [(table: TreeID, key: UInt64)] = []

    init(isOver: Bool) { self.isOver = isOver }

    /// The largest number of deferred changes. Deferred apply does not make larger transactions faster.
    static let countMax = 12
}

extension WriteTransaction {
    /// True if all changes of the transaction are deferred.
    var isDeferred: Bool { !deferred.isOver && deferred.count > 0 && ended.isEmpty }

    // MARK: Recording

    /// Records a deferred put. Returns false, without a change, if the key exists and `onlyNew` is true. Returns nil if the put cannot be deferred.
    func putDeferred(_ key: Bytes, _ value: Bytes, in editor: TreeEditor, onlyNew: Bool) throws(EngineError) -> Bool? {
        guard mayDefer(editor), value.count <= blobThreshold else { return nil }
        if try lookUp({ () throws(EngineError) in try editor.contains(key) }), onlyNew { return false }
        beginDeferring(editor)
        redo.put(editor.id, key, value, isBlob: false)
        return true
    }

    /// Records a deferred put of a row. Returns whether its key is new; nil if it cannot be deferred. `room` is the limit for its variable cells.
    func putDeferred(_ row: RowBuffer, key: UInt64, in editor: TreeEditor, room: Int) throws(EngineError) -> Bool? {
        guard mayDefer(editor), row.variableBytes <= room else { return nil }
        if editor.hasDeferredChange, deferred.rows.contains(where: { $0 == (editor.id, key) }) { return nil }
        // The deferred rows have other keys, so the tree without them has the answer.
        let isNew = try lookUp { () throws(EngineError) in try !editor.contains(key) }
        beginDeferring(editor)
        deferred.rows.append((editor.id, key))
        redo.putRow(editor.id, key, row)
        return isNew
    }

    private func mayDefer(_ editor: TreeEditor) -> Bool {
        !deferred.isOver && deferred.count < DeferredChanges.countMax && editor.root.count < NodeCheck.countMax - UInt64(DeferredChanges.countMax)
    }

    private func beginDeferring(_ editor: TreeEditor) {
        assert(!deferred.isOver && (editor.isTable || !editor.hasDeferredChange), "Each index has at most one deferred change.")
        if deferred.count == 0 {
            deferred.start = redo.bytes.count
            deferred.rows.reserveCapacity(DeferredChanges.countMax)
        }
        deferred.count += 1
        editor.hasDeferredChange = true
    }

    /// Runs a lookup inside an epoch. After an error the transaction can only be aborted.
    func lookUp<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        let slot = ledger.pool.epochs.enter()
        defer { ledger.pool.epochs.leave(slot) }
        do throws(EngineError) { return try body() } catch {
            hasFailed = true
            throw error
        }
    }

    // MARK: Applying

    /// Applies the deferred changes if the editor's tree has one, and returns the editor.
    func applied(_ editor: TreeEditor) throws(EngineError) -> TreeEditor {
        if editor.hasDeferredChange { try applyDeferred() }
        return editor
    }

    /// Applies the deferred changes. Later changes are not deferred.
    func applyDeferred() throws(EngineError) {
        guard !deferred.isOver else { return }
        deferred.isOver = true
        guard deferred.count > 0 else { return }
        assert(deferred.start < redo.bytes.count, "Deferred changes are recorded.")
        let recorded = redo.bytes
        try recorded.withBorrowedBytes { bytes throws(EngineError) in try apply(bytes.dropFirst(deferred.start)) }
    }

    private func apply(_ recorded: Bytes) throws(EngineError) {
        var reader = ByteReader(recorded)
        while !reader.isAtEnd {
            let code = RedoCode(rawValue: try reader.integer(UInt8.self))
            switch code {
            case .sequence: _ = try reader.integer(UInt64.self)
            case .put: try replayPut(TreeID(try reader.integer(UInt32.self)), &reader)
            case .putRow: try replayRow(TreeID(try reader.integer(UInt32.self)), try reader.integer(UInt64.self), &reader)
            default: preconditionFailure("A deferred change is of a kind that cannot be deferred.")
            }
        }
    }
}
