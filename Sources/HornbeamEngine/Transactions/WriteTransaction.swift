// A write transaction: changes trees privately, then commits them as the next version.
//
// It has the writer's turn from `begin` until it is executed or aborted. Each change is recorded as redo for the log, and made in copies of
// nodes. A small transaction may write the log first (WriteTransaction+DeferredApply.swift). After an error inside a change it can only be
// aborted, since a tree may be changed partly.

/// A write transaction. One thread uses it. If it is released without a commit, it is aborted.
///
/// Its fields skip the check of exclusive access: no method lends one of them to code that reads it again.
package final class WriteTransaction {
    let engine: Engine
    let base: StoreVersion
    let ledger: NodeLedger
    /// Those of the ledger's pool. A field of its own spares each change the reference counts of the pool.
    private let epochs: Epochs
    /// The number that the commit will have. It increases when a transaction is added that shares the version, and during a replay.
    @safe @exclusivity(unchecked) package internal(set) var number: TransactionNumber
    @safe @exclusivity(unchecked) var redo: Redo
    @safe @exclusivity(unchecked) private(set) var nextObjectKey: UInt64
    @safe @exclusivity(unchecked) private(set) var nextTree: UInt32
    @safe @exclusivity(unchecked) private(set) var editors = TreeEditors()
    /// The ended transactions that share the version of this one (WriteTransaction+Sharing.swift).
    @safe @exclusivity(unchecked) var ended: [EndedTransaction] = []
    @safe @exclusivity(unchecked) private(set) var created: [TreeID: String] = [:]
    @safe @exclusivity(unchecked) private(set) var dropped: Set<TreeID> = []
    @safe @exclusivity(unchecked) private(set) var names: [String: TreeID]
    @safe @exclusivity(unchecked) private var isOpen = true
    @safe @exclusivity(unchecked) var hasFailed = false
    /// A user of the turn of this process, if the store is shared.
    @safe @exclusivity(unchecked) var user: TurnUser?
    /// The recorded changes that are not applied yet (WriteTransaction+DeferredApply.swift).
    @safe @exclusivity(unchecked) var deferred: DeferredChanges
    /// The leaves that are written before the commit; nil before the first (WriteTransaction+EarlyLeaves.swift).
    @safe @exclusivity(unchecked) var earlyLeaves: EarlyLeaves?
    /// True if the transaction has changed selected rows leaf by leaf: its redo is short, its new nodes may be many.
    @safe @exclusivity(unchecked) var changesManyLeaves = false
    /// The number of nodes in memory from which leaves are written.
    @safe @exclusivity(unchecked) var unwrittenMax: Int

    var pageSize: Int { ledger.pool.pageSize }
    var blobThreshold: Int { pageSize / 4 }
    private let attachThreshold: Int

    init(engine: Engine, base: StoreVersion, pool: FramePool) {
        self.engine = engine
        self.base = base
        number = base.number.next
        ledger = NodeLedger(pool: pool, birth: number.rawValue)
        epochs = pool.epochs
        unwrittenMax = pool.capacity / 2
        attachThreshold = engine.options.attachThreshold
        redo = Redo(isOmitted: !engine.options.logsChanges)
        // Changes that are not recorded cannot be applied later.
        deferred = DeferredChanges(isOver: redo.isOmitted)
        nextObjectKey = base.nextObjectKey
        nextTree = base.nextTree
        names = base.names
    }

    deinit { abort() }

    /// The number of the version on which the transaction is based.
    package var baseTransaction: TransactionNumber { base.number }

    // MARK: Trees

    package func tree(named name: String) -> TreeID? { names[name] }

    func hasTree(_ id: TreeID) -> Bool { base.position(of: id) != nil }

    package func createIndex(named name: String) throws(EngineError) -> TreeID {
        let id = TreeID(nextTree)
        try create(id, named: name, layout: nil)
        return id
    }

    package func createTable(named name: String, layout: ColumnLayout) throws(EngineError) -> TreeID {
        if let fault = TableLayouts.fault(in: layout, pageSize: pageSize) {
            throw EngineError(.tooLarge, "Table \(name) cannot have this layout: \(fault).")
        }
        let id = TreeID(nextTree)
        try create(id, named: name, layout: layout)
        return id
    }

    func create(_ id: TreeID, named name: String, layout: ColumnLayout?) throws(EngineError) {
        try requireOpen()
        try applyDeferred()
        guard names[name] == nil else { throw EngineError(.unknownTree, "There is a tree named \(name) already.") }
        guard id.rawValue >= nextTree, id < TreeID.max, name.utf8.count <= 1024 else {
            throw EngineError(.tooLarge, "Tree \(id) cannot be created: its number or its name is out of range.")
        }
        assert(editors[id] == nil, "A new tree has a new number.")
        if layout == nil, let index = InsertBuffer.index(of: name).flatMap({ names[$0] }) { try self.index(editing: index).insertBuffer = id }
        names[name] = id
        created[id] = name
        nextTree = id.rawValue + 1
        let layouts = layout.map { TableLayouts([$0]) }
        editors.insert(TreeEditor(id: id, root: .empty, layouts: layouts, ledger: ledger))
        if let layout { redo.createTable(id, name, layout) } else { redo.createIndex(id, name) }
    }

    /// Sets a new layout of a table. Changes no row.
    package func setLayout(_ layout: ColumnLayout, of table: TreeID) throws(EngineError) {
        let editor = try self.table(editing: table)
        if let fault = TableLayouts.fault(in: layout, pageSize: pageSize) {
            throw EngineError(.tooLarge, "Table \(table) cannot have this layout: \(fault).")
        }
        guard let all = editor.layouts?.all, let last = all.last, layout.version > last.version else {
            throw EngineError(.unknownTree, "A new layout of table \(table) needs a higher version.")
        }
        try applyDeferred()
        redo.setLayout(table, layout)
        editor.layouts = TableLayouts(all + [layout])
        editor.forgetPath()
    }

    package func drop(_ tree: TreeID) throws(EngineError) {
        guard tree != StoreVersion.valuesTree else {
            throw EngineError(.unknownTree, "The tree of named values cannot be dropped.")
        }
        if let buffer = try editor(tree).insertBuffer { try dropTree(buffer) }
        try dropTree(tree)
        // A replay finds the insert buffer by itself.
        redo.drop(tree)
    }

    private func dropTree(_ tree: TreeID) throws(EngineError) {
        let editor = try editor(tree)
        try mutateInSteps { () throws(EngineError) in try editor.retireAll() }
        engine.insertBuffers.forget(tree, ledger.pool)
        if let index = names.first(where: { $0.value == tree }).flatMap({ InsertBuffer.index(of: $0.key) }).flatMap({ names[$0] }) {
            try self.editor(index).insertBuffer = nil
        }
        names = names.filter { $0.value != tree }
        assert(editors[tree] === editor, "A dropped tree was changed by its editor.")
        editors.remove(tree)
        created[tree] = nil
        dropped.insert(tree)
    }

    func layout(of table: TreeID) throws(EngineError) -> ColumnLayout {
        let all = try self.table(editing: table).layouts!.all
        return all[all.count - 1]
    }

    // MARK: The sequence and named values

    /// Reserves `count` object keys, and returns the first of them.
    package func reserve(_ count: Int) throws(EngineError) -> UInt64 {
        try requireOpen()
        precondition(count >= 0, "The number of keys to reserve is negative.")
        let first = nextObjectKey
        guard first + UInt64(count) < StoreLimits.numberMax else { throw full("object keys") }
        setNextObjectKey(first + UInt64(count))
        return first
    }

    func setNextObjectKey(_ next: UInt64) {
        nextObjectKey = next
        redo.sequence(next)
    }

    package func value(_ name: String) throws(EngineError) -> [UInt8]? {
        try index(StoreVersion.valuesTree).get(Array(name.utf8))
    }

    package func setValue(_ name: String, _ bytes: [UInt8]?) throws(EngineError) {
        let key = Array(name.utf8)
        if let bytes {
            try put(key, bytes, in: StoreVersion.valuesTree)
        } else {
            _ = try delete(key, from: StoreVersion.valuesTree)
        }
    }

    // MARK: Indexes

    package func put(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in index: TreeID
    ) throws(EngineError) {
        _ = try put(unsafe Bytes(key), unsafe Bytes(value), in: index, onlyNew: false)
    }

    package func put(_ key: [UInt8], _ value: [UInt8], in index: TreeID) throws(EngineError) {
        try key.withBorrowedBytes { key throws(EngineError) in
            try value.withBorrowedBytes { value throws(EngineError) in _ = try put(key, value, in: index, onlyNew: false) }
        }
    }

    /// Inserts an entry. Returns false, and changes nothing, if the key exists already.
    package func putNew(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in index: TreeID
    ) throws(EngineError) -> Bool {
        try put(unsafe Bytes(key), unsafe Bytes(value), in: index, onlyNew: true)
    }

    package func putNew(_ key: [UInt8], _ value: [UInt8], in index: TreeID) throws(EngineError) -> Bool {
        try key.withBorrowedBytes { key throws(EngineError) in
            try value.withBorrowedBytes { value throws(EngineError) in try put(key, value, in: index, onlyNew: true) }
        }
    }

    package func delete(_ key: UnsafeRawBufferPointer, from index: TreeID) throws(EngineError) -> Bool {
        try delete(unsafe Bytes(key), from: index)
    }

    package func delete(_ key: [UInt8], from index: TreeID) throws(EngineError) -> Bool {
        try key.withBorrowedBytes { key throws(EngineError) in try delete(key, from: index) }
    }

    func put(_ key: Bytes, _ value: Bytes, in index: TreeID, onlyNew: Bool) throws(EngineError) -> Bool {
        let editor = try self.index(editing: index)
        guard key.count <= keyLengthMax else {
            throw EngineError(.tooLarge, "A key of \(key.count) bytes is too long for an index; the limit is \(keyLengthMax).")
        }
        if let isPut = try putBuffered(key, value, in: editor, onlyNew: onlyNew) { return isPut }
        if let isPut = try putDeferred(key, value, in: editor, onlyNew: onlyNew) { return isPut }
        try writeLeavesEarly()
        return try mutate { () throws(EngineError) in
            guard value.count > blobThreshold else {
                return try store(editor, key, value, isBlob: false, onlyNew: onlyNew)
            }
            if onlyNew, try self.index(index).withValue(key, { _ in true }) == true { return false }
            var reference = try engine.appendBlob(value, tree: index)
            ledger.newBlobs.append(reference)
            let bytes = unsafe withUnsafeBytes(of: &reference) { unsafe Array($0) }
            return try bytes.withBorrowedBytes { cell throws(EngineError) in
                try store(editor, key, cell, isBlob: true, onlyNew: onlyNew)
            }
        }
    }

    /// Puts a part of a batch in one epoch. With `onlyNew`, stops at a key that exists already, and returns its index.
    func put(
        _ part: Range<Int>, _ entry: (Int) -> (key: Bytes, value: Bytes), in index: TreeID, onlyNew: Bool
    ) throws(EngineError) -> Int? {
        let editor = try self.index(editing: index)
        guard deferred.isOver || part.count > DeferredChanges.countMax, part.allSatisfy({ isPlain(entry($0)) }) else {
            for n in part where try !put(entry(n).key, entry(n).value, in: index, onlyNew: onlyNew) { return n }
            return nil
        }
        try writeLeavesEarly()
        let existing = try mutate { () throws(EngineError) -> Int? in
            for n in part {
                let (key, value) = entry(n)
                guard try editor.put(key, value, onlyNew: onlyNew) != .exists else { return n }
                redo.put(editor.id, key, value, isBlob: false)
            }
            return nil
        }
        abandonRedoOfBigTransaction()
        try writeFilledLeaves(of: editor)
        return existing
    }

    var keyLengthMax: Int { min(StoreLimits.keyLengthMax, pageSize / 8) }

    /// True if an entry can be put into a leaf as it is.
    func isPlain(_ entry: (key: Bytes, value: Bytes)) -> Bool { entry.key.count <= keyLengthMax && entry.value.count <= blobThreshold }

    private func store(
        _ editor: TreeEditor, _ key: Bytes, _ value: Bytes, isBlob: Bool, onlyNew: Bool
    ) throws(EngineError) -> Bool {
        guard try editor.put(key, value, isBlob: isBlob, onlyNew: onlyNew) != .exists else { return false }
        redo.put(editor.id, key, value, isBlob: isBlob)
        abandonRedoOfBigTransaction()
        try writeFilledLeaves(of: editor)
        return true
    }

    /// Stops recording redo when it is certain that the transaction is big, so that its pages are written instead: when the redo is larger than
    /// half of the nodes, or when the nodes fill half of the pool.
    func abandonRedoOfBigTransaction() {
        if redo.isOmitted {
            if ledger.unwritten >= unwrittenMax { redo.abandon() }
            return
        }
        let count = redo.bytes.count
        guard count > attachThreshold, ended.isEmpty,
            count * 2 > ledger.born.count * pageSize || ledger.unwritten >= unwrittenMax
        else { return }
        redo.abandon()
    }

    func replayPut(_ tree: TreeID, _ key: Bytes, _ value: Bytes, isBlob: Bool) throws(EngineError) {
        let editor = try index(editing: tree)
        guard !isBlob || value.count == BlobCell.size, key.count <= pageSize / 8, value.count <= blobThreshold else {
            throw EngineError(.damaged, "The log puts an impossible entry into tree \(tree).")
        }
        if isBlob { ledger.newBlobs.append(value.load(0)) }
        _ = try mutate { () throws(EngineError) in try editor.put(key, value, isBlob: isBlob) }
    }

    func delete(_ key: Bytes, from index: TreeID) throws(EngineError) -> Bool {
        let editor = try self.index(editing: index)
        if try deleteBuffered(key, of: editor) { return true }
        let isDeleted = try mutate { () throws(EngineError) in try editor.delete(key) }
        if isDeleted { redo.delete(index, key) }
        return isDeleted
    }

    // MARK: Tables

    /// Inserts or replaces a row. Returns false if it replaced one. Writes values that are too large for a leaf to the page files at once.
    @discardableResult
    package func put(_ row: RowBuffer, key: UInt64, in table: TreeID) throws(EngineError) -> Bool {
        let editor = try self.table(editing: table, appliesDeferred: false)
        let layouts = editor.layouts!
        guard layouts.hasCurrentLayout(row) else {
            throw EngineError(.unknownTree, "The row was made for another layout than the current one of table \(table).")
        }
        let room = layouts.variableBytesMax(pageSize: pageSize)
        guard deferred.isOver, row.variableBytes <= room else { return try put(row, key: key, in: editor, room: room) }
        try writeLeavesEarly()
        return try putPlain(row, key: key, in: editor)
    }

    private func put(_ row: RowBuffer, key: UInt64, in editor: TreeEditor, room: Int) throws(EngineError) -> Bool {
        if let isNew = try putDeferred(row, key: key, in: editor, room: room) { return isNew }
        try writeLeavesEarly()
        let cells = try mutate { () throws(EngineError) in
            try row.spill(to: room) { value throws(EngineError) in
                let reference = try engine.appendBlob(value, tree: editor.id)
                ledger.newBlobs.append(reference)
                return reference
            }
        }
        defer { if let cells { row.restore(cells) } }
        return try putPlain(row, key: key, in: editor)
    }

    /// Puts a row whose values fit in a leaf.
    private func putPlain(_ row: RowBuffer, key: UInt64, in editor: TreeEditor) throws(EngineError) -> Bool {
        let isNew = try mutate { () throws(EngineError) in try editor.put(key: key, row) }
        if redo.isAbandoned {
            try writeFilledLeaves(of: editor)
            return isNew
        }
        redo.putRow(editor.id, key, row)
        abandonRedoOfBigTransaction()
        return isNew
    }

    package func delete(_ key: UInt64, from table: TreeID) throws(EngineError) -> Bool {
        try delete([key], from: table) == 1
    }

    /// Deletes the rows with the given keys, which must ascend. Returns the number of deleted rows.
    package func delete(_ keys: [UInt64], from table: TreeID) throws(EngineError) -> Int {
        let editor = try self.table(editing: table)
        guard !keys.isEmpty else { return 0 }
        let deleted = try mutate { () throws(EngineError) in try editor.delete(keys) }
        if deleted > 0 { redo.deleteRows(table, keys) }
        return deleted
    }

    /// Sets one fixed-width column in the rows with the given keys, which must ascend. Skips keys without a row.
    package func patch(
        _ column: Int, of keys: [UInt64], values: UnsafeRawBufferPointer, nulls: [Bool]? = nil, in table: TreeID
    ) throws(EngineError) {
        try patch(column, of: keys, values: unsafe Bytes(values), nulls: nulls, in: table)
    }

    func patch(
        _ column: Int, of keys: [UInt64], values: Bytes, nulls: [Bool]?, in table: TreeID
    ) throws(EngineError) {
        let editor = try self.table(editing: table)
        let description = try layout(of: table).columns[column]
        let width = description.kind == .bit ? 1 : description.kind.width
        guard width > 0, values.count == width * keys.count, nulls == nil || nulls!.count == keys.count else {
            throw EngineError(.tooLarge, "A patch of column \(description.id) of table \(table) does not fit its width.")
        }
        try mutate { () throws(EngineError) in
            try editor.patch(column, of: keys) { n in
                nulls?[n] == true ? nil : values.dropFirst(n * width).prefix(width)
            }
        }
        redo.patch(table, description.id, keys, values, nulls)
    }

    // MARK: Reading the transaction's own changes

    package func index(_ id: TreeID) throws(EngineError) -> IndexView {
        let editor = try index(editing: id)
        let buffer = try editor.insertBuffer.map { (buffer) throws(EngineError) in IndexReader(try index(buffer)) }
        return IndexView(
            root: TreeRoot(pool: ledger.pool, reference: editor.root, hint: RootHint(), leafKind: .indexLeaf, version: nil),
            buffer: buffer, owner: engine)
    }

    package func table(_ id: TreeID) throws(EngineError) -> TableView {
        let editor = try table(editing: id)
        return TableView(
            root: TreeRoot(pool: ledger.pool, reference: editor.root, hint: RootHint(), leafKind: .tableLeaf, version: nil),
            layouts: editor.layouts!, transaction: TableView.noTransaction, owner: engine)
    }

    // MARK: Editors

    /// - Parameter appliesDeferred: False for a change that may be deferred beside others of the same tree.
    func editor(_ id: TreeID, appliesDeferred: Bool = true) throws(EngineError) -> TreeEditor {
        try requireOpen()
        if let editor = editors[id] { return appliesDeferred ? try applied(editor) : editor }
        guard !dropped.contains(id) else { throw EngineError(.unknownTree, "Tree \(id) was dropped in this transaction.") }
        let record = try base.record(id)
        let editor = TreeEditor(id: id, root: record.root, layouts: record.layouts, insertBuffer: record.insertBuffer, ledger: ledger)
        editors.insert(editor)
        return editor
    }

    func index(editing id: TreeID) throws(EngineError) -> TreeEditor {
        let editor = try editor(id)
        guard !editor.isTable else { throw EngineError(.unknownTree, "Tree \(id) is a table, not an index.") }
        return editor
    }

    func table(editing id: TreeID, appliesDeferred: Bool = true) throws(EngineError) -> TreeEditor {
        let editor = try editor(id, appliesDeferred: appliesDeferred)
        guard editor.isTable else { throw EngineError(.unknownTree, "Tree \(id) is an index, not a table.") }
        return editor
    }

    private func requireOpen() throws(EngineError) {
        guard isOpen else { throw EngineError(.closed, "The transaction has been committed or aborted.") }
        guard !hasFailed else {
            throw EngineError(.closed, "The transaction failed in an earlier change and can only be aborted.")
        }
        guard ended.isEmpty || !redo.isAbandoned else {
            throw EngineError(.tooLarge, "The transaction is too large to share a version with those before it.")
        }
    }

    /// Runs a change inside an epoch. After an error the transaction can only be aborted.
    @inline(__always)
    func mutate<R>(_ change: () throws(EngineError) -> R) throws(EngineError) -> R {
        let slot = epochs.enter()
        defer { epochs.leave(slot) }
        return try mutateInSteps(change)
    }

    /// Runs a change that has several steps and enters an epoch in each, so that frames can be freed between them. Errors as in `mutate`.
    @inline(__always)
    func mutateInSteps<R>(_ change: () throws(EngineError) -> R) throws(EngineError) -> R {
        try applyDeferred()
        do throws(EngineError) { return try change() } catch {
            hasFailed = true
            throw error
        }
    }

    // MARK: Commit and abort

    /// Commits the changes as the next version. Returns when they have the requested durability. Throws `full`, and then nothing has changed; or
    /// `durabilityLost`, and then the store is poisoned. `published` is called when the version is published, on any thread, in the order of the
    /// versions.
    package func commit(
        _ durability: Durability = .full, published: (@Sendable (TransactionNumber) -> Void)? = nil
    ) throws(EngineError) -> TransactionNumber {
        try commit(durability, published: published, isUpkeep: false)
    }

    /// Commits the changes as the next version, and calls `steps` during the commit.
    package func commit(
        _ durability: Durability, steps: CommitSteps, published: (@Sendable (TransactionNumber) -> Void)?
    ) throws(EngineError) -> TransactionNumber {
        try commit(durability, steps: steps, published: published, isUpkeep: false)
    }

    /// `isUpkeep`: the commit is part of upkeep, such as cleaning, so it must not start a checkpoint.
    func commit(
        _ durability: Durability, steps: CommitSteps = CommitSteps(), published: (@Sendable (TransactionNumber) -> Void)? = nil,
        isUpkeep: Bool
    ) throws(EngineError) -> TransactionNumber {
        do throws(EngineError) { try requireOpen() } catch {
            abort()
            throw error
        }
        assert(zip(ended, ended.dropFirst()).allSatisfy { $0.number < $1.number }, "Transactions end in the order of their numbers.")
        // Not with `??`: a closure as the argument of a generic operator is converted, which takes two allocations.
        var published = published
        if let ofLastEnded = continueLastEnded() { published = ofLastEnded }
        defer {
            isOpen = false
            user?.exit()
        }
        return try engine.commit(self, durability, steps: steps, published: published, isUpkeep: isUpkeep)
    }

    /// Ends the transaction of a replay. The replay publishes its version.
    func finishReplay() { isOpen = false }

    package func abort() {
        guard isOpen else { return }
        isOpen = false
        engine.abort(self)
        user?.exit()
    }
}
