#if Rivals
/// Migrations in SQLite as its documentation describes: for changes that ALTER TABLE does not support, one transaction makes a new table, copies
/// the rows and renames the table.
final class SQLiteMigration: MigrationContestant {
    static let contestant = Contestant.sqlite

    private let connection: SQLiteConnection

    init(path: String) throws {
        connection = try SQLiteConnection(path: path)
        try connection.run("CREATE TABLE IF NOT EXISTS note (\(Self.columns("", "")))")
    }

    private static func columns(_ grade: String, _ remark: String) -> String {
        "id INTEGER PRIMARY KEY, code TEXT NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL, name TEXT NOT NULL, "
            + "grade INTEGER \(grade), remark TEXT \(remark)"
    }

    func load(_ rows: Int) throws {
        let insert = try connection.prepare("INSERT INTO note VALUES (?, ?, ?, ?, ?, ?, ?)")
        try connection.transaction {
            for (number, event) in EventGenerator(count: rows).enumerated() {
                insert.bind(1, number + 1)
                insert.bind(2, copying: event.uid)
                insert.bind(3, event.latitude)
                insert.bind(4, event.longitude)
                insert.bind(5, copying: event.name)
                if number % 2 == 0 {
                    insert.bind(6, event.magnitude)
                    insert.bind(7, copying: event.name)
                } else {
                    insert.bindNull(6)
                    insert.bindNull(7)
                }
                try insert.run()
            }
        }
        connection.close()
    }

    func requireNumber() throws -> UInt64 {
        try copy(Self.columns("NOT NULL DEFAULT 77", ""), "id, code, latitude, longitude, name, coalesce(grade, 77), remark", "grade = 77")
    }

    func requireText() throws -> UInt64 {
        try copy(
            Self.columns("", "NOT NULL DEFAULT 'none'"), "id, code, latitude, longitude, name, grade, coalesce(remark, 'none')", "remark = 'none'")
    }

    func updateNumber() throws -> UInt64 { try change("UPDATE note SET grade = 77 WHERE grade IS NULL", "grade = 77") }
    func updateText() throws -> UInt64 { try change("UPDATE note SET remark = 'none' WHERE remark IS NULL", "remark = 'none'") }
    func updateTextFromAnother() throws -> UInt64 {
        try change("UPDATE note SET remark = upper(name) WHERE remark IS NULL", "remark IS NOT NULL")
    }

    func addConstraint() throws -> UInt64 { try change("CREATE UNIQUE INDEX codes ON note (code)", "latitude > 0") }

    private func copy(_ columns: String, _ values: String, _ condition: String) throws -> UInt64 {
        try change(
            """
            CREATE TABLE fresh (\(columns));
            INSERT INTO fresh SELECT \(values) FROM note;
            DROP TABLE note;
            ALTER TABLE fresh RENAME TO note
            """, condition)
    }

    private func change(_ text: String, _ condition: String) throws -> UInt64 {
        try connection.transaction { try connection.run(text) }
        let count = try connection.prepare("SELECT count(*) FROM note WHERE \(condition)")
        let found = try count.step() ? UInt64(count.int(0)) : 0
        count.reset()
        connection.close()
        return found
    }
}
#endif
