#if Rivals
import CSQLite
import Foundation

/// SQLite with records in a table without row identifiers.
final class SQLiteKeyValue: KeyValueContestant {
    static let contestant = Contestant.sqlite
    static let settings = SQLiteConnection.settings

    private let path: String
    private let connection: SQLiteConnection
    private var insert: SQLiteStatement?
    /// SQLite allows one writer at a time. Waiting for a lock is faster than SQLite's own polling.
    private let lock = NSLock()

    init(path: String) throws {
        self.path = path
        connection = try SQLiteConnection(path: path)
        try connection.run("CREATE TABLE IF NOT EXISTS record (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        insert = try connection.prepare("INSERT INTO record VALUES (?, ?)")
    }

    func load(_ data: KeyValueData, _ order: [Int], isSorted: Bool) throws {
        try connection.transaction { for i in order { try put(data.key(i), data.value(i)) } }
    }

    private func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        insert?.bind(1, key)
        insert?.bind(2, value)
        try insert?.run()
    }

    /// A second connection, because each thread needs its own.
    func get(_ data: KeyValueData, _ records: ArraySlice<Int>) throws -> UInt64 {
        let reader = try SQLiteConnection(path: path)
        defer { reader.close() }
        let select = try reader.prepare("SELECT value FROM record WHERE key = ?")
        return try reader.reading {
            var sum: UInt64 = 0
            for i in records {
                select.bind(1, data.key(i))
                guard try select.step() else { throw BenchmarkError("SQLite lost a record.") }
                sum &+= digest(select.blob(0))
                select.reset()
            }
            return sum
        }
    }

    func scan() throws -> UInt64 {
        let select = try connection.prepare("SELECT key, value FROM record ORDER BY key")
        var sum: UInt64 = 0
        while try select.step() { sum &+= digest(select.blob(1)) }
        return sum
    }

    func commit(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        lock.lock()
        defer { lock.unlock() }
        try put(key, value)
    }

    func commitBatch(_ data: KeyValueData, _ records: ArraySlice<Int>) throws {
        try connection.transaction { for i in records { try put(data.key(i), data.value(i)) } }
    }

    func holdLog() throws { try connection.run("PRAGMA wal_autocheckpoint=0") }

    func close() throws {
        insert = nil
        connection.close()
    }
}
#endif
