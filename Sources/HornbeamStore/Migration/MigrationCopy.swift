internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Copies all rows and entries of a version to new trees. Code can change the new trees; the old trees do not change.
///
/// The size of its transactions is limited. The stored value `migration` lists the new trees, so that the next opening removes the trees of
/// an interrupted migration.
struct MigrationCopy {
    private let engine: Engine
    private let batchSize: Int
    private let progress: ProgressRelay
    private let snapshot: Snapshot
    private var transaction: WriteTransaction
    private let threads: Int
    private var writtenBytes = 0
    private var done = 0
    private var total = 0

    /// Copies the trees, and returns the schema with the numbers of the new trees.
    static func run(_ stored: StoredSchema, _ engine: Engine, _ options: MigrationOptions, _ progress: ProgressRelay) throws -> StoredSchema {
        var copy = try MigrationCopy(engine, options, progress)
        defer { copy.transaction.abort() }
        return try copy.run(stored)
    }

    private init(_ engine: Engine, _ options: MigrationOptions, _ progress: ProgressRelay) throws(EngineError) {
        self.engine = engine
        self.progress = progress
        batchSize = options.batchSize
        threads = engine.options.usesBackgroundThread ? min(Cores.count, 4) : 1
        snapshot = try engine.snapshot(isPinned: true)
        transaction = try engine.begin()
    }

    private mutating func run(_ stored: StoredSchema) throws -> StoredSchema {
        var result = stored
        result.catalogue.assignNewTrees()
        let tables = zip(stored.catalogue.tables, result.catalogue.tables).map { (old: $0.name, new: $1.name, layout: $1.layout) }
        let indexes = zip(stored.catalogue.indexTrees, result.catalogue.indexTrees).map { (old: $0, new: $1) }
        try PendingMigration.add(tables.map(\.new) + indexes.map(\.new), to: transaction)
        for table in tables { total += try rows(table.old)?.count ?? 0 }
        for index in indexes { total += try entries(index.old)?.count ?? 0 }
        for table in tables { _ = try transaction.createTable(named: table.new, layout: table.layout) }
        for index in indexes { _ = try transaction.createIndex(named: index.new) }
        for table in tables { try copyRows(table.old, to: table.new, table.layout) }
        for index in indexes { try copyEntries(index.old, to: index.new) }
        try flush()
        return result
    }

    private func rows(_ name: String) throws(EngineError) -> TableView? {
        guard let tree = snapshot.tree(named: name) else { return nil }
        return try snapshot.table(tree)
    }

    private func entries(_ name: String) throws(EngineError) -> IndexView? {
        guard let tree = snapshot.tree(named: name) else { return nil }
        return try snapshot.index(tree)
    }

    private mutating func copyRows(_ old: String, to new: String, _ layout: ColumnLayout) throws {
        guard let rows = try rows(old), let tree = transaction.tree(named: new) else { return }
        // The columns of the table may have another order than in the catalogue, after a change of layout. They are matched by ID.
        let columns = layout.columns.map { column in rows.layout.columns.firstIndex { $0.id == column.id } }
        let batches = try (0 ..< threads).map { _ in try transaction.makeLeafBatch(for: tree) }
        var window = RowWindow(count: rows.count, rowsMax: batchSize)
        while let range = window.next() {
            try rows.share(range, parts: window.parts(threads)) { part, leaf, slots in
                let batch = batches[part]
                for slot in slots {
                    let (row, copy) = (leaf.row(slot), batch.nextRow())
                    for case let (target, source?) in columns.enumerated() where !row.isNull(source) {
                        try copy.copy(row, source, to: target, layout.columns[target].kind)
                    }
                    try batch.add(key: leaf.key(slot))
                }
            }
            var bytes = 0
            for batch in batches { bytes += try transaction.append(batch, to: tree) }
            window.countWritten(bytes)
            try progress.translated { [done, total] () throws(EngineError) in try progress.report("copying", done + range.count, total) }
            try advance(range.count, bytes)
        }
    }

    private mutating func copyEntries(_ old: String, to new: String) throws {
        guard let entries = try entries(old), let tree = transaction.tree(named: new) else { return }
        try transaction.setValue(TreeName.truncatedKeysMark(new), snapshot.value(TreeName.truncatedKeysMark(old)))
        var copy = self
        try progress.translated { () throws(EngineError) in
            unsafe try entries.forEach(in: KeyRange()) { (key, value) throws(EngineError) -> Bool in
                unsafe try copy.transaction.put(key, value, in: tree)
                try copy.advance(1, key.count + value.count)
                if copy.done % batchSize == 0 { try progress.report("copying", copy.done, total) }
                return true
            }
        }
        self = copy
    }

    private mutating func advance(_ count: Int, _ bytes: Int) throws(EngineError) {
        writtenBytes += bytes
        done += count
        guard writtenBytes >= engine.options.poolBytes / 8 else { return }
        // The commit writes the pages, so that the next transaction can reuse their frames.
        transaction.commitByPages()
        try flush()
    }

    private mutating func flush() throws(EngineError) {
        writtenBytes = 0
        _ = try transaction.commit(.lazy(maxDelay: .seconds(1)))
        transaction = try engine.begin()
    }
}

extension Catalogue {
    /// Assigns unused numbers of trees to all tables, relationships and indexes.
    fileprivate mutating func assignNewTrees() {
        func next(_ catalogue: inout Catalogue) -> Int {
            defer { catalogue.nextNumber += 1 }
            return catalogue.nextNumber
        }
        for position in entities.indices where !entities[position].isAbstract { entities[position].table = next(&self) }
        for position in relationships.indices { relationships[position].trees = next(&self) }
        for position in indexes.indices { indexes[position].number = next(&self) }
    }
}
