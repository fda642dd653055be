// Deferred apply: a small transaction records its changes and does not change the trees yet, so that the log is written before the trees are
// changed, and the device works meanwhile. The changes are applied from their redo, as in a replay.
//
// Invariants:
// - Each tree has at most one deferred change. A read of that tree, another change of it, or a change of another kind applies all deferred
//   changes first; from then on nothing is deferred.
// - A change is deferred only after the path to its leaf was read and checked. So applying it fails only if a page has been evicted since and
//   cannot be read again, or if other transactions have taken the frames.

/// The changes that a transaction has recorded and not applied.
struct DeferredChanges {
    /// No more changes are deferred: they are applied at once.
    fileprivate(set) var isOver = false
    fileprivate var count = 0
    /// The start of the first one in the redo.
    fileprivate var start = 0

    /// With more changes, a transaction gains nothing from deferred apply.
    fileprivate static let countMax = 12
}

extension WriteTransaction {
    /// True if all changes of the transaction are deferred.
    var isDeferred: Bool { !deferred.isOver && deferred.count > 0 && ended.isEmpty }

    // MARK: Recording

    /// Records a deferred put and returns whether the entry will be put, like `putNew`; nil if it cannot be deferred.
    func putDeferred(_ key: Bytes, _ value: Bytes, in editor: TreeEditor, onlyNew: Bool) throws(EngineError) -> Bool? {
        guard mayDefer(editor), value.count <= blobThreshold else { return nil }
        if try lookUp({ () throws(EngineError) in try editor.contains(key) }), onlyNew { return false }
        beginDeferring(editor)
        redo.put(editor.id, key, value, isBlob: false)
        return true
    }

    /// Records a deferred row and returns whether it is new; nil if it cannot be deferred. `room` limits the bytes of its variable cells.
    func putDeferred(_ row: RowBuffer, key: UInt64, in editor: TreeEditor, room: Int) throws(EngineError) -> Bool? {
        guard mayDefer(editor), row.variableBytes <= room else { return nil }
        let isNew = try lookUp { () throws(EngineError) in try !editor.contains(key) }
        beginDeferring(editor)
        redo.putRow(editor.id, key, row)
        return isNew
    }

    private func mayDefer(_ editor: TreeEditor) -> Bool {
        !deferred.isOver && deferred.count < DeferredChanges.countMax && editor.root.count < NodeCheck.countMax - UInt64(DeferredChanges.countMax)
    }

    private func beginDeferring(_ editor: TreeEditor) {
        assert(!deferred.isOver && !editor.hasDeferredChange, "Each tree has at most one deferred change.")
        if deferred.count == 0 { deferred.start = redo.bytes.count }
        deferred.count += 1
        editor.hasDeferredChange = true
    }

    /// A failed lookup ends the transaction, like a failed change.
    private func lookUp<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        let slot = ledger.pool.epochs.enter()
        defer { ledger.pool.epochs.leave(slot) }
        do throws(EngineError) { return try body() } catch {
            hasFailed = true
            throw error
        }
    }

    // MARK: Applying

    /// The editor, after its deferred changes have been applied.
    func applied(_ editor: TreeEditor) throws(EngineError) -> TreeEditor {
        if editor.hasDeferredChange { try applyDeferred() }
        return editor
    }

    /// Applies the deferred changes; later changes are not deferred.
    func applyDeferred() throws(EngineError) {
        guard !deferred.isOver else { return }
        deferred.isOver = true
        guard deferred.count > 0 else { return }
        assert(deferred.start < redo.bytes.count, "Deferred changes are recorded.")
        let recorded = redo.bytes
        try recorded.lend { bytes throws(EngineError) in try apply(bytes.dropFirst(deferred.start)) }
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
