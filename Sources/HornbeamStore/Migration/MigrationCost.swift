internal import HornbeamEngine
internal import HornbeamModel

/// The estimated amount of data that a migration writes.
struct MigrationCost {
    /// Rows that are rewritten.
    private(set) var rows = 0
    /// Entries of relationships and indexes that are rewritten.
    private(set) var entries = 0
    /// Bytes on disk, including the old trees, which are removed at the end.
    private(set) var bytes = 0

    /// The approximate size of an index entry.
    private static let entryBytes = 48

    init(_ draft: MigrationDraft, _ engine: Engine) throws(EngineError) {
        var total = 0
        for case let (name, _) in draft.old.catalogue.tables {
            if let tree = draft.snapshot.tree(named: name) { total += try draft.snapshot.table(tree).count }
        }
        for step in draft.tables where step.isRewritten || step.way == .fill { rows += step.rowCount }
        for step in draft.indexes where step.isBuilt {
            for table in draft.tables where table.entity.name == step.stored.entity { entries += table.rowCount }
        }
        for step in draft.links where step.isBuilt {
            for table in draft.tables where table.entity === step.relationship.entity { entries += table.rowCount }
        }
        let live = Int(try engine.statistics().liveBytes)
        bytes = Self.bytes(ofRows: rows, among: total, live: live) + entries * Self.entryBytes + (1 << 20)
    }

    /// Twice the share of the rows in the live bytes. Computed as a `Double`, because the product of bytes and rows can exceed an `Int`.
    static func bytes(ofRows rows: Int, among total: Int, live: Int) -> Int {
        total > 0 ? Int(Double(live) * (Double(rows) / Double(total)) * 2) : 0
    }
}
