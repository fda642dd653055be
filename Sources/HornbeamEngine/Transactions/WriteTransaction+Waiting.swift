// Changes that wait: a small transaction records what it is to do and leaves the trees as they are, so that the log can have it before
// the trees are changed, and the device writes meanwhile. They are carried out as replay does it, from what was recorded.
//
// What holds: each tree has one such change at most; who looks at that tree, changes it again or makes a change of another kind has all
// of them carried out first, and from then on nothing waits. A change waits only after the way to its leaf was read and checked: nothing
// but a page that has left the memory since and cannot be read again, or frames that others have taken since, can keep it from being carried out.

/// What a transaction has recorded and not carried out.
struct WaitingChanges {
    /// Nothing waits any more: changes are carried out at once.
    fileprivate(set) var isOver = false
    fileprivate var count = 0
    /// Where the first begins in the redo.
    fileprivate var start = 0

    /// More than so many changes make a transaction that gains nothing by waiting.
    fileprivate static let countMax = 12
}

extension WriteTransaction {
    /// True if all that the transaction changes waits to be carried out.
    var isWaiting: Bool { !waiting.isOver && waiting.count > 0 && ended.isEmpty }

    // MARK: Recording

    /// Records an entry to be put later and says whether it is, as `putNew` does; nil if it cannot wait.
    func putLater(_ key: Bytes, _ value: Bytes, in editor: TreeEditor, onlyNew: Bool) throws(EngineError) -> Bool? {
        guard mayWait(editor), value.count <= blobThreshold else { return nil }
        if try look({ () throws(EngineError) in try editor.contains(key) }), onlyNew { return false }
        beginWaiting(editor)
        redo.put(editor.id, key, value, isBlob: false)
        return true
    }

    /// Records a row to be put later and says whether it is new; nil if it cannot wait. `room` is what its variable cells may take.
    func putLater(_ row: RowBuffer, key: UInt64, in editor: TreeEditor, room: Int) throws(EngineError) -> Bool? {
        guard mayWait(editor), row.variableBytes <= room else { return nil }
        let isNew = try look { () throws(EngineError) in try !editor.contains(key) }
        beginWaiting(editor)
        redo.putRow(editor.id, key, row)
        return isNew
    }

    private func mayWait(_ editor: TreeEditor) -> Bool {
        !waiting.isOver && waiting.count < WaitingChanges.countMax && editor.root.count < NodeCheck.countMax - UInt64(WaitingChanges.countMax)
    }

    private func beginWaiting(_ editor: TreeEditor) {
        if waiting.count == 0 { waiting.start = redo.bytes.count }
        waiting.count += 1
        editor.hasWaitingChange = true
    }

    /// A look that fails ends the transaction, as the change would have done.
    private func look<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        let slot = ledger.pool.epochs.enter()
        defer { ledger.pool.epochs.leave(slot) }
        do throws(EngineError) { return try body() } catch {
            hasFailed = true
            throw error
        }
    }

    // MARK: Carrying out

    /// An editor whose tree is as the transaction has it.
    func settled(_ editor: TreeEditor) throws(EngineError) -> TreeEditor {
        if editor.hasWaitingChange { try carryOutWaiting() }
        return editor
    }

    /// Carries out what waits; nothing waits from now on.
    func carryOutWaiting() throws(EngineError) {
        guard !waiting.isOver else { return }
        waiting.isOver = true
        guard waiting.count > 0 else { return }
        let recorded = redo.bytes
        try recorded.lend { bytes throws(EngineError) in try carryOut(bytes.dropFirst(waiting.start)) }
    }

    private func carryOut(_ recorded: Bytes) throws(EngineError) {
        var reader = ByteReader(recorded)
        while !reader.isAtEnd {
            let code = RedoCode(rawValue: try reader.integer(UInt8.self))
            switch code {
            case .sequence: _ = try reader.integer(UInt64.self)
            case .put: try replayPut(TreeID(try reader.integer(UInt32.self)), &reader)
            case .putRow: try replayRow(TreeID(try reader.integer(UInt32.self)), try reader.integer(UInt64.self), &reader)
            default: preconditionFailure("Among the changes that wait is one that cannot.")
            }
        }
    }
}
