package import HornbeamModel

/// A batch insert into a querying store: collects rows and writes them together.
///
/// The querying store can refuse rows because of unique values that are not cached. Then their holders are cached, and the rows are written again.
package final class BufferedBatchInsert {
    struct Row {
        /// Attributes and to-ones by property index; nil for the default.
        let values: [PropertyValue?]
        /// Members of to-many relationships to add, by property index.
        let members: [Int: [ObjectReference]]
    }

    private let store: Store
    private let entity: EntityDescription
    private let options: BatchWriter.Options
    private var rows: [Row] = []
    private var rowsBefore = 0

    package init(_ store: Store, _ entity: EntityDescription, _ options: BatchWriter.Options) {
        self.store = store
        self.entity = entity
        self.options = options
    }

    /// Runs the handler that fills a row. Other changes of the store are refused in it, as in batches of Hornbeam's own stores.
    package func filling<R>(_ body: () throws -> R) rethrows -> R {
        store.batchThread.begin()
        defer { store.batchThread.end(BatchThread.current) }
        return try body()
    }

    /// Adds a row. Returns the outcomes of the rows that were written: of none, or after `commitEvery` rows of these.
    package func append(_ values: [PropertyValue?], members: [Int: [ObjectReference]]) throws -> [BatchWriter.RowOutcome] {
        rows.append(Row(values: values, members: members))
        return options.commitEvery > 0 && rows.count >= options.commitEvery ? try finish() : []
    }

    /// Writes the rows in one transaction, and returns their outcomes.
    package func finish() throws -> [BatchWriter.RowOutcome] {
        if rows.isEmpty { return [] }
        var once = options
        once.commitEvery = 0
        let outcomes = try store.repeatingBatch {
            try store.load(for: rows, of: entity)
        } _: {
            let writer = BatchWriter(store, entity, once, rowsBefore: rowsBefore, rowsExpected: rows.count)
            let outcomes = try rows.map { try writer.append($0.values, members: $0.members) }
            try writer.finish()
            return outcomes
        }
        rowsBefore += rows.count
        rows = []
        return outcomes
    }
}
