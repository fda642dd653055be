internal import HornbeamEngine
internal import HornbeamModel

/// One salvage: copies the readable parts of a damaged store to a new one.
///
/// It copies the rows first, then clears references to lost objects, copies the members, and builds the indexes from the new rows. The
/// damaged store's indexes are not read.
final class Salvage {
    let source: Snapshot
    let target: Engine
    let stored: StoredSchema
    /// The schema of the damaged store. The new store's trees have other numbers.
    let sourceSchema: Schema
    private(set) var schema: Schema
    var report = SalvageReport()
    let progress: ProgressRelay
    private let search: LeafSearch
    private let margin: UInt64

    init(
        from engine: Engine, to target: Engine, model: ManagedObjectModel?, _ location: String, _ progress: ProgressRelay
    ) throws {
        source = try engine.snapshot()
        search = engine.leafSearch()
        self.target = target
        self.progress = progress
        let source = source
        stored = try Self.storedSchema(source, search, model, location)
        sourceSchema = try Schema(stored.catalogue, model: stored.model) { source.tree(named: $0) }
        try sourceSchema.checkTables(in: source)
        schema = sourceSchema
        // Transactions that the log has lost may have used further keys.
        margin = engine.loss == nil ? 0 : 1 << 20
    }

    /// The stored schema, or one made from the caller's model if the stored schema is unreadable.
    private static func storedSchema(
        _ source: Snapshot, _ search: LeafSearch, _ model: ManagedObjectModel?, _ location: String
    ) throws -> StoredSchema {
        do {
            if let stored = try StoredSchema(source, location) { return stored }
        } catch let error as EngineError where error.isUnreadable {
            guard model != nil else { throw unreadableModel(location) }
        } catch let error as HornbeamError where [.damaged, .inputOutput].contains(error.code) {
            guard model != nil else { throw error }
        }
        guard let model else { throw unreadableModel(location) }
        return StoredSchema(catalogue: Catalogue(model: model), model: model, modelBytes: try model.encoded())
    }

    private static func unreadableModel(_ location: String) -> HornbeamError {
        HornbeamError(
            .damaged, "The model inside “\(location)” cannot be read. Pass the model with which the store was made.")
    }

    func run() throws {
        try createTrees()
        for case let (old?, new?) in zip(sourceSchema.tables, schema.tables) { try copyRows(old, new) }
        if !report.losses.isEmpty { try clearReferences() }
        for (old, new) in zip(sourceSchema.links, schema.links) { try copyLinks(old, new) }
        for index in schema.indexes { try build(index) }
        try copyRest()
        try finishSequence()
    }

    /// The readable parts of a tree of the damaged store.
    func readable(_ tree: TreeID) throws(EngineError) -> ReadableTree { try source.readable(tree, search) }

    /// Runs a body in a transaction of the new store.
    func write<R>(_ body: (WriteTransaction) throws -> R) throws -> R {
        let transaction = try target.begin()
        do {
            let result = try body(transaction)
            _ = try transaction.commit(.lazy(maxDelay: .seconds(60)))
            return result
        } catch {
            transaction.abort()
            throw error
        }
    }

    // MARK: Trees and stored values

    private func createTrees() throws {
        try write { transaction in
            for (name, layout) in stored.catalogue.tables {
                _ = try transaction.createTable(named: name, layout: layout)
            }
            for name in stored.catalogue.indexTrees { _ = try transaction.createIndex(named: name) }
            try stored.write(to: transaction)
            schema = try Schema(stored.catalogue, model: stored.model) { transaction.tree(named: $0) }
        }
    }

    /// Copies stored values, and trees that the catalogue does not contain. Omits history, because its transaction numbers are not those of
    /// the new store; its consumers receive a resync.
    private func copyRest() throws {
        for (name, id) in source.allTrees where name != HistoryKey.treeName {
            let tree = try readable(id)
            if name.isEmpty {
                try copyValues(tree)
            } else if try target.snapshot().tree(named: name) == nil {
                if tree.isTable { try copyTable(tree) } else { try copyIndex(tree) }
                recordGaps(of: tree, as: name)
            }
        }
    }

    private func copyValues(_ tree: ReadableTree) throws {
        try write { transaction in
            unsafe try tree.forEachEntry { (key, value) throws(EngineError) in
                let name = unsafe String(decoding: key, as: UTF8.self)
                guard let value = unsafe value, !HistoryState.owns(name), try transaction.value(name) == nil else { return }
                unsafe try transaction.setValue(name, [UInt8](value))
            }
        }
    }

    private func copyIndex(_ tree: ReadableTree) throws {
        try write { transaction in
            let index = try transaction.createIndex(named: tree.name)
            unsafe try tree.forEachEntry { (key, value) throws(EngineError) in
                guard let value = unsafe value else { return report.lostValues += 1 }
                unsafe try transaction.put([UInt8](key), [UInt8](value), in: index)
            }
        }
    }

    private func copyTable(_ tree: ReadableTree) throws {
        guard let layout = tree.layout else { return }
        try write { transaction in
            let table = try transaction.createTable(named: tree.name, layout: layout)
            let row = RowBuffer(layout: layout)
            try tree.forEachLeaf { (leaf) throws(EngineError) in
                for slot in 0 ..< leaf.count {
                    row.reset()
                    report.lostValues += try row.salvage(leaf.row(slot), layout)
                    try transaction.put(row, key: leaf.key(slot), in: table)
                }
            }
        }
    }

    /// Advances the sequence, so that keys of the damaged store's objects are not assigned again.
    private func finishSequence() throws {
        try write { transaction in
            // A damaged store may contain any number; the sequence of an intact one is far below the limit.
            let highest = min(max(source.nextObjectKey, highestKey), 1 << 60)
            let next = try transaction.reserve(1)
            if next <= highest + margin { _ = try transaction.reserve(Int(highest + margin - next) + 1) }
        }
    }

    /// The highest key of a saved object.
    var highestKey: UInt64 = 0

    /// Records the unreadable parts of a tree.
    func recordGaps(of tree: ReadableTree, as name: String) {
        for gap in tree.gaps {
            report.losses.append(
                SalvageReport.Loss(
                    name: name, count: gap.entries, found: gap.found, keys: tree.isTable ? gap.objectKeys : nil,
                    reason: gap.reason))
        }
    }
}

extension UnreadablePart {
    /// The range of the object keys in an unreadable part of a table.
    var objectKeys: ClosedRange<UInt64> {
        let lower = unsafe range.lower.count == 8 ? range.lower.withUnsafeBytes { unsafe KeyBytes.number($0, at: 0) } : 0
        let upper = range.upper.flatMap { unsafe $0.count == 8 ? $0.withUnsafeBytes { unsafe KeyBytes.number($0, at: 0) } : nil }
        return lower ... max(upper.map { $0 &- 1 } ?? .max, lower)
    }
}

extension RowBuffer {
    /// Copies all readable cells of a stored row; returns how many are unreadable.
    func salvage(_ row: RowView, _ layout: ColumnLayout) throws(EngineError) -> Int {
        var lost = 0
        for (column, description) in layout.columns.enumerated() {
            do throws(EngineError) { try copy(row, column, description.kind) } catch {
                guard error.isUnreadable else { throw error }
                setNull(column)
                lost += 1
            }
        }
        return lost
    }
}
