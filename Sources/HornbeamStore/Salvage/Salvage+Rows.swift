internal import HornbeamEngine
internal import HornbeamModel

extension Salvage {
    /// Rows written in one transaction.
    private static let rowsPerTransaction = 20_000

    func copyRows(_ old: EntityTable, _ new: EntityTable) throws {
        let tree = try readable(old.tree)
        recordGaps(of: tree, as: new.entity.name)
        var saved = 0
        var transaction = try target.begin()
        defer { transaction.abort() }
        let row = RowBuffer(layout: new.layout)
        var rows = 0
        try tree.forEachLeaf { (leaf) throws(EngineError) in
            for slot in 0 ..< leaf.count {
                row.reset()
                report.lostValues += try row.salvage(leaf.row(slot), new.layout)
                try transaction.put(row, key: leaf.key(slot), in: new.tree)
                highestKey = max(highestKey, leaf.key(slot))
            }
            saved += leaf.count
            rows += leaf.count
            if rows >= Self.rowsPerTransaction {
                rows = 0
                _ = try transaction.commit(.lazy(maxDelay: .seconds(60)))
                transaction = try target.begin()
            }
            try progress.report(new.entity.name, saved, tree.count)
        }
        _ = try transaction.commit(.lazy(maxDelay: .seconds(60)))
        report.objects[new.entity.name] = saved
    }

    /// Sets references to lost objects to null. References to objects that were deleted before do not change.
    func clearReferences() throws {
        let lost = Dictionary(grouping: report.losses, by: \.name).mapValues { $0.compactMap(\.keys) }
        for case let table? in schema.tables {
            let columns = table.columns.compactMap { $0 }.filter { $0.type == .reference }
            guard !columns.isEmpty else { continue }
            let view = try target.snapshot()
            try write { transaction in
                let row = RowBuffer(layout: table.layout)
                try view.table(table.tree).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                    for slot in 0 ..< leaf.count {
                        let old = leaf.row(slot)
                        var dangling: [StoredColumn] = []
                        for column in columns where try isLost(column.reference(in: old, schema: schema), lost, view) {
                            dangling.append(column)
                        }
                        guard !dangling.isEmpty else { continue }
                        row.reset()
                        try row.copy(old, table: table)
                        for column in dangling { column.writeNull(to: row) }
                        report.clearedReferences += dangling.count
                        try transaction.put(row, key: leaf.key(slot), in: table.tree)
                    }
                    return true
                }
            }
        }
    }

    private func isLost(
        _ object: ObjectReference?, _ lost: [String: [ClosedRange<UInt64>]], _ view: Snapshot
    ) throws(EngineError) -> Bool {
        guard let object else { return false }
        let table = schema.table(at: object.entityIndex)
        guard lost[table.entity.name]?.contains(where: { $0.contains(object.key) }) == true else { return false }
        return try !view.table(table.tree).contains(object.key)
    }

    /// Fills an index from the saved rows.
    func build(_ index: ValueIndex) throws {
        try progress.report("index \(index.title)", 0, 1)
        let snapshot = try target.snapshot()
        try write { transaction in
            let doubles = try IndexBuilder.build(index, from: snapshot, in: transaction, schema: schema)
            guard doubles > 0 else { return }
            report.losses.append(
                SalvageReport.Loss(
                    name: index.title, count: doubles,
                    reason: "These objects have a unique value that another object has too. They are in the store, but not in this index."))
        }
    }
}
