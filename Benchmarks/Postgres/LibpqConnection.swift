#if Postgres
import CPostgres
import Foundation

/// A connection to a PostgreSQL server, used as by hand: prepared statements, `COPY`, values in text form.
final class LibpqConnection {
    private let handle: OpaquePointer

    init(_ parameters: String) throws {
        guard let handle = PQconnectdb(parameters) else { throw BenchmarkError("libpq has no memory.") }
        self.handle = handle
        guard PQstatus(handle) == CONNECTION_OK else { throw BenchmarkError("libpq: \(message)") }
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
    }

    deinit { PQfinish(handle) }

    private var message: String { String(cString: PQerrorMessage(handle)) }

    @discardableResult
    func run(_ sql: String) throws -> LibpqResult { try checked(PQexec(handle, sql)) }

    func prepare(_ name: String, _ sql: String) throws { try checked(PQprepare(handle, name, sql, 0, nil)) }

    @discardableResult
    func execute(_ name: String, _ parameters: [String] = []) throws -> LibpqResult {
        let texts = parameters.map { strdup($0) }
        defer { for text in texts { free(text) } }
        let values = texts.map { UnsafePointer($0) }
        return try checked(PQexecPrepared(handle, name, Int32(values.count), values, nil, nil, 0))
    }

    /// Copies rows in the server's text form into a table.
    func copy(_ sql: String, _ rows: [UInt8]) throws {
        guard let start = PQexec(handle, sql), PQresultStatus(start) == PGRES_COPY_IN else { throw BenchmarkError("libpq: \(message)") }
        PQclear(start)
        let sent = rows.withUnsafeBytes { bytes in PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count)) }
        guard sent == 1, PQputCopyEnd(handle, nil) == 1 else { throw BenchmarkError("libpq: \(message)") }
        try checked(PQgetResult(handle))
        while let rest = PQgetResult(handle) { PQclear(rest) }
    }

    @discardableResult
    private func checked(_ result: OpaquePointer?) throws -> LibpqResult {
        guard let result else { throw BenchmarkError("libpq: \(message)") }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else {
            PQclear(result)
            throw BenchmarkError("libpq: \(message)")
        }
        return LibpqResult(result)
    }
}

final class LibpqResult {
    private let handle: OpaquePointer
    let count: Int

    init(_ handle: OpaquePointer) {
        self.handle = handle
        count = Int(PQntuples(handle))
    }

    deinit { PQclear(handle) }

    /// The number of rows that an update has changed.
    var affected: Int { strtol(PQcmdTuples(handle), nil, 10) }

    func text(_ row: Int, _ column: Int) -> String {
        let length = Int(PQgetlength(handle, Int32(row), Int32(column)))
        let start = UnsafeRawPointer(PQgetvalue(handle, Int32(row), Int32(column)))
        return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    }

    func integer(_ row: Int, _ column: Int) -> Int { strtol(PQgetvalue(handle, Int32(row), Int32(column)), nil, 10) }

    func double(_ row: Int, _ column: Int) -> Double { strtod(PQgetvalue(handle, Int32(row), Int32(column)), nil) }
}
#endif
