#if Postgres
public import Foundation
public import HornbeamModel
internal import HornbeamThreads

extension PostgresStore: HistoryKeepingStore {
    public func setHistoryTracking(_ tracking: HistoryTracking?) { historyState.withLock { $0.tracking = tracking } }

    /// True also if the container keeps no history, while other processes keep it.
    public var keepsHistory: Bool { historyState.withLock { $0.isRecording } }

    // MARK: Reading

    public func historyRange() throws -> StoreHistoryRange {
        let tables = try readableHistory()
        let results = try withConnection { try $0.execute(all: numbering(tables) + [Self.rangeStatement(tables)]) }
        return Self.range(results[results.count - 1], 0)
    }

    public func history(after number: UInt64, limit: Int) throws -> StoreHistoryPage {
        let tables = try readableHistory()
        let after = String(Int64(clamping: number))
        let before = """
            SELECT \(HistoryTables.microseconds("saved_at")) FROM \(tables.entries) WHERE number <= $1::bigint ORDER BY number DESC LIMIT 1
            """
        let records = """
            SELECT number, \(HistoryTables.microseconds("saved_at")), \(StoreHistoryEntry.columns) FROM \(tables.entries) \
            WHERE number > $1::bigint AND number > (SELECT start FROM \(tables.state)) ORDER BY number\(limit > 0 ? " LIMIT \(limit)" : "")
            """
        let results = try withConnection { connection in
            try connection.execute(
                all: numbering(tables) + [
                    Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), Self.rangeStatement(tables), Statement(before, [after]),
                    Statement(records, [after]), Statement("COMMIT"),
                ])
        }
        let (range, earlier, found) = (results[results.count - 4], results[results.count - 3], results[results.count - 2])
        return StoreHistoryPage(
            range: Self.range(range, 0), timeBefore: earlier.rowCount > 0 ? earlier.integer(0, 0).map(Self.date) : nil,
            records: try (0 ..< found.rowCount).map { row in
                StoreHistoryRecord(
                    number: UInt64(clamping: found.integer(row, 0) ?? 0), time: Self.date(found.integer(row, 1) ?? 0),
                    entry: try StoreHistoryEntry(found, row, from: 2))
            })
    }

    public func historyNumber(before date: Date) throws -> UInt64? {
        let tables = try readableHistory()
        let time = HistoryTables.time("$1")
        let search = Statement(
            "SELECT max(number) FROM \(tables.entries) WHERE saved_at < \(time) AND number > (SELECT start FROM \(tables.state))",
            [Self.microseconds(date)])
        let results = try withConnection { try $0.execute(all: numbering(tables) + [search]) }
        return results[results.count - 1].value.flatMap(UInt64.init)
    }

    /// A transaction that numbers the committed entries. It waits a limited time for another one that numbers or removes entries.
    private func numbering(_ tables: HistoryTables) -> [Statement] {
        [Statement("BEGIN"), pool.options.lockLimit, tables.number, Statement("COMMIT")]
    }

    private static func rangeStatement(_ tables: HistoryTables) -> Statement {
        let time = HistoryTables.microseconds("last_time")
        return Statement("SELECT start, last, CASE WHEN last > start THEN \(time) END FROM \(tables.state)")
    }

    private static func range(_ result: QueryResult, _ row: Int) -> StoreHistoryRange {
        StoreHistoryRange(
            start: UInt64(clamping: result.integer(row, 0) ?? 0), newest: UInt64(clamping: result.integer(row, 1) ?? 0),
            newestTime: result.integer(row, 2).map(date))
    }

    // MARK: Removing

    public func removeHistory(through number: UInt64) throws {
        try changeHistory { tables in
            let cut = "SELECT least($1::bigint, last) AS number FROM \(tables.state)"
            return [Self.removal(tables, cut, [String(Int64(clamping: number))])]
        }
    }

    /// Removes the entries that exceed the limits, after each of a number of saves.
    func trimHistory() {
        let tracking: HistoryTracking? = historyState.withLock { state in
            guard state.isRecording, let tracking = state.tracking else { return nil }
            state.savesSinceTrimming += 1
            guard state.savesSinceTrimming > min(64, tracking.recordCount / 8) else { return nil }
            state.savesSinceTrimming = 0
            return tracking
        }
        guard let tracking else { return }
        // An error is ignored: the save is complete, and a later one removes the entries.
        try? trimHistory(to: tracking)
    }

    private func trimHistory(to tracking: HistoryTracking) throws {
        try changeHistory { tables in
            // Entries that a consumer has not read have a limit of their own.
            let cut = """
                SELECT greatest(least(greatest(last - $1::bigint, (SELECT max(number) FROM \(tables.entries) \
                WHERE saved_at < clock_timestamp() - $3::double precision * interval '1 second')), \
                (SELECT min(number) FROM \(tables.consumers))), last - $2::bigint) AS number FROM \(tables.state)
                """
            let limits = [String(tracking.recordCount), String(tracking.unreadRecordCount), ColumnValue.text(of: tracking.age / .seconds(1))]
            return [Self.removal(tables, cut, limits)]
        }
    }

    /// Removes the entries up to a number.
    private static func removal(_ tables: HistoryTables, _ cut: String, _ parameters: [String?]) -> Statement {
        Statement(
            """
            WITH cut AS (\(cut)), gone AS (DELETE FROM \(tables.entries) e USING cut WHERE e.number <= cut.number) \
            UPDATE \(tables.state) s SET start = cut.number FROM cut WHERE s.start < cut.number
            """, parameters)
    }

    /// Changes history in a transaction in which no other process changes it.
    private func changeHistory(_ statements: (HistoryTables) -> [Statement]) throws {
        let tables = try readableHistory()
        let begin = [Statement("BEGIN"), pool.options.lockLimit, tables.number, Statement("SELECT FROM \(tables.state) FOR UPDATE")]
        _ = try withConnection { try $0.execute(all: begin + statements(tables) + [Statement("COMMIT")]) }
    }

    // MARK: Consumers

    public func historyConsumers() throws -> [StoreHistoryConsumer] {
        let tables = try readableHistory()
        let (time, lastRead) = (HistoryTables.microseconds("time"), HistoryTables.microseconds("read_at"))
        let found = try withConnection { try $0.execute(Statement("SELECT name, number, \(time), \(lastRead) FROM \(tables.consumers)")) }
        return (0 ..< found.rowCount).map { row in
            StoreHistoryConsumer(
                name: ColumnValue.unescaped(found[row, 0] ?? ""), number: UInt64(clamping: found.integer(row, 1) ?? 0),
                time: found.integer(row, 2).map(Self.date), lastRead: Self.date(found.integer(row, 3) ?? 0))
        }
    }

    public func setHistoryConsumer(_ consumer: StoreHistoryConsumer) throws {
        try changeHistory { tables in
            [
                Statement(
                    """
                    INSERT INTO \(tables.consumers) VALUES ($1, $2, \(HistoryTables.time("$3")), \(HistoryTables.time("$4"))) \
                    ON CONFLICT (name) DO UPDATE SET number = excluded.number, time = excluded.time, read_at = excluded.read_at
                    """,
                    [
                        ColumnValue.escaped(consumer.name), String(Int64(clamping: consumer.number)), consumer.time.map(Self.microseconds),
                        Self.microseconds(consumer.lastRead),
                    ])
            ]
        }
    }

    public func removeHistoryConsumer(_ name: String) throws {
        try changeHistory { tables in [Statement("DELETE FROM \(tables.consumers) WHERE name = $1", [ColumnValue.escaped(name)])] }
    }

    // MARK: Support

    /// - Throws: `unsupportedRequest` if the container keeps no history.
    private func readableHistory() throws -> HistoryTables {
        let layout = try layout
        guard historyState.withLock({ $0.isRecording && $0.tracking != nil }) else {
            throw HornbeamError(
                .unsupportedRequest, "The PostgreSQL store was opened without history. Open it with history tracking; recording begins then.")
        }
        return layout.history
    }

    private static func date(_ microseconds: Int64) -> Date { Date(timeIntervalSinceReferenceDate: Double(microseconds) / 1_000_000) }

    private static func microseconds(_ date: Date) -> String {
        let limit = 9e15
        return String(Int64((min(max(date.timeIntervalSinceReferenceDate * 1_000_000, -limit), limit)).rounded()))
    }
}
#endif
