#if Rivals
import CSQLite
import Foundation

/// A connection to a SQLite database, with the settings that the footnote of the table lists.
final class SQLiteConnection {
    static let settings = "SQLite: C API, WAL, synchronous=FULL, prepared statements, cache 256 MiB, mmap 1 GiB (where the data set is to be "
        + "larger than the memory for pages: cache of that size, no mmap), secure_delete off"
    let handle: OpaquePointer

    /// - Parameter cacheBytes: The size of the cache; nil for the default of the benchmarks.
    init(path: String, cacheBytes: Int? = nil) throws {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
            throw BenchmarkError("SQLite cannot open \(path).")
        }
        self.handle = handle
        // In the rows with several processes, opening waits for the others too.
        sqlite3_busy_timeout(handle, 60_000)
        try run("PRAGMA journal_mode=WAL")
        try run("PRAGMA synchronous=FULL")
        try run("PRAGMA cache_size=-\((cacheBytes ?? 256 << 20) >> 10)")
        try run("PRAGMA mmap_size=\(cacheBytes == nil ? 1 << 30 : 0)")
        try run("PRAGMA secure_delete=OFF")
    }

    func run(_ text: String) throws {
        var message: UnsafeMutablePointer<CChar>?
        guard sqlite3_exec(handle, text, nil, nil, &message) == SQLITE_OK else {
            throw BenchmarkError("SQLite: \(message.map { String(cString: $0) } ?? "error") in \(text)")
        }
    }

    /// - Parameter persistent: True for a statement that is executed many times.
    func prepare(_ text: String, persistent: Bool = true) throws -> SQLiteStatement { try SQLiteStatement(handle, text, persistent: persistent) }

    func transaction<R>(_ body: () throws -> R) throws -> R {
        try run("BEGIN IMMEDIATE")
        let result = try body()
        try run("COMMIT")
        return result
    }

    /// Runs the body in one read transaction.
    func reading<R>(_ body: () throws -> R) throws -> R {
        try run("BEGIN")
        defer { try? run("COMMIT") }
        return try body()
    }

    func close() { sqlite3_close_v2(handle) }
}

/// A prepared statement, finalised with its last reference.
final class SQLiteStatement {
    let handle: OpaquePointer
    private let database: OpaquePointer

    init(_ database: OpaquePointer, _ text: String, persistent: Bool) throws {
        var handle: OpaquePointer?
        guard sqlite3_prepare_v3(database, text, -1, UInt32(persistent ? SQLITE_PREPARE_PERSISTENT : 0), &handle, nil) == SQLITE_OK, let handle else {
            throw BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(database))) in \(text)")
        }
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Binds bytes that stay valid until the statement has run.
    @inline(__always)
    func bind(_ i: Int32, _ bytes: UnsafeRawBufferPointer) {
        sqlite3_bind_blob(handle, i, bytes.baseAddress, Int32(bytes.count), nil)
    }

    @inline(__always)
    func bind(_ i: Int32, text: UnsafeBufferPointer<UInt8>) {
        text.withMemoryRebound(to: CChar.self) { _ = sqlite3_bind_text(handle, i, $0.baseAddress, Int32($0.count), nil) }
    }

    func bind(_ i: Int32, copying text: String) {
        var text = text
        text.withUTF8 { text in
            text.withMemoryRebound(to: CChar.self) {
                _ = sqlite3_bind_text(handle, i, $0.baseAddress, Int32($0.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
        }
    }

    func bind(_ i: Int32, _ value: Double) { sqlite3_bind_double(handle, i, value) }
    func bind(_ i: Int32, _ value: Int) { sqlite3_bind_int64(handle, i, Int64(value)) }
    func bindNull(_ i: Int32) { sqlite3_bind_null(handle, i) }

    /// True while there is a row.
    @inline(__always)
    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(database)))")
        }
    }

    @inline(__always)
    func reset() { sqlite3_reset(handle) }

    /// Runs a statement that returns no rows.
    @inline(__always)
    func run() throws {
        while try step() {}
        reset()
    }

    func blob(_ i: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: sqlite3_column_blob(handle, i), count: Int(sqlite3_column_bytes(handle, i)))
    }

    /// The text of a column as bytes.
    func text(_ i: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: sqlite3_column_text(handle, i), count: Int(sqlite3_column_bytes(handle, i)))
    }

    func double(_ i: Int32) -> Double { sqlite3_column_double(handle, i) }
    func int(_ i: Int32) -> Int { Int(sqlite3_column_int64(handle, i)) }
}
#endif
