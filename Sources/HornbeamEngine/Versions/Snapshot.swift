// A version of the store that is open for reading.
//
// As long as a snapshot exists, the nodes and page files of its version are not released. A snapshot that is neither pinned nor of the newest
// version expires at the age limit of the engine's options. Then reads of it throw.

internal import Synchronization

/// One committed version of the store. Any thread may read it.
package final class Snapshot: Sendable {
    let version: StoreVersion
    let pool: FramePool
    private let registry: VersionRegistry
    /// True if the snapshot has no age limit.
    package let isPinned: Bool

    /// A snapshot of the newest version, or of version `number`; nil if that version is no longer live.
    init?(_ registry: VersionRegistry, pool: FramePool, at number: TransactionNumber?, isPinned: Bool) {
        guard let version = registry.acquire(number, isPinned: isPinned) else { return nil }
        self.registry = registry
        self.pool = pool
        self.isPinned = isPinned
        self.version = version
    }

    deinit { registry.release(version.number, isPinned: isPinned) }

    /// The number of the transaction that made this version.
    package var transaction: TransactionNumber { version.number }

    /// True after the snapshot has expired. Then its reads throw `snapshotExpired`.
    package var isExpired: Bool { version.isExpired }

    /// True while a transaction runs or is written to the log. It then uses one of the processors.
    package var hasRunningWriter: Bool { registry.pool.files.writersAtWork.load(ordering: .relaxed) > 0 }

    /// The pool's goal for its memory, in bytes.
    package var poolBytes: Int { poolPages * pool.pageSize }

    /// The pool's goal for the number of its pages.
    package var poolPages: Int { pool.capacity }

    package func tree(named name: String) -> TreeID? { version.names[name] }

    /// The names of all trees, sorted.
    package var treeNames: [String] { version.names.keys.sorted() }

    package func index(_ id: TreeID) throws(EngineError) -> IndexView {
        let record = try version.record(id)
        guard record.layouts == nil else { throw EngineError(.unknownTree, "Tree \(id) is a table, not an index.") }
        return IndexView(root: root(record, .indexLeaf), buffer: try record.insertBuffer.flatMap(insertBuffer), owner: self)
    }

    /// An insert buffer; nil if it is empty.
    private func insertBuffer(_ id: TreeID) throws(EngineError) -> IndexReader? {
        let record = try version.record(id)
        return record.root.isEmpty ? nil : IndexReader(IndexView(root: root(record, .indexLeaf), owner: self))
    }

    /// Throws `unknownTree` unless the version has the table.
    package func requireTable(_ id: TreeID) throws(EngineError) {
        if try version.record(id).layouts == nil { throw EngineError(.unknownTree, "Tree \(id) is an index, not a table.") }
    }

    package func table(_ id: TreeID) throws(EngineError) -> TableView {
        try requireTable(id)
        let record = try version.record(id)
        guard let layouts = record.layouts else { preconditionFailure("A table has layouts.") }
        return TableView(
            root: root(record, .tableLeaf), layouts: layouts, transaction: version.number.rawValue &+ pool.mark, owner: self)
    }

    /// A table with the columns of a new layout, which must have a higher version. Changes no row.
    package func table(_ id: TreeID, seenAs layout: ColumnLayout) throws(EngineError) -> TableView {
        let record = try version.record(id)
        guard let all = record.layouts?.all, let last = all.last, layout.version > last.version else {
            throw EngineError(.unknownTree, "A new layout of table \(id) needs a higher version.")
        }
        // Without a transaction number, so that hints from the table's own layout are not used.
        return TableView(
            root: root(record, .tableLeaf), layouts: TableLayouts(all + [layout]), transaction: TableView.noTransaction, owner: self)
    }

    private func root(_ record: TreeRecord, _ leafKind: NodeKind) -> TreeRoot {
        TreeRoot(pool: pool, reference: record.root, hint: record.hint, leafKind: leafKind, version: version)
    }

    /// A named value; nil if there is none.
    package func value(_ name: String) throws(EngineError) -> [UInt8]? {
        try index(StoreVersion.valuesTree).get(Array(name.utf8))
    }

    /// The names of the values with this prefix, sorted.
    package func valueNames(startingWith prefix: String) throws(EngineError) -> [String] {
        var names: [String] = []
        unsafe try index(StoreVersion.valuesTree).forEach(in: KeyRange(prefix: Array(prefix.utf8))) {
            (key, _) throws(EngineError) -> Bool in
            names.append(unsafe String(decoding: key, as: UTF8.self))
            return true
        }
        return names
    }
}
