#if Rivals
import CSQLite
import Foundation

/// SQLite with a table of events and a unique constraint on uid.
final class SQLiteEvents: EventContestant {
    static let contestant = Contestant.sqlite

    private let connection: SQLiteConnection
    private let lock = NSLock()
    private var single: SQLiteStatement?

    private let path: String
    private let cacheBytes: Int?

    init(path: String, poolBytes: Int) throws {
        self.path = path
        cacheBytes = poolBytes < 1 << 30 ? poolBytes : nil
        connection = try SQLiteConnection(path: path, cacheBytes: cacheBytes)
        try connection.run(
            """
            CREATE TABLE IF NOT EXISTS event (
              id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, latitude REAL, longitude REAL, created REAL, name TEXT,
              magnitude INTEGER)
            """)
    }

    func load(_ events: [EventGenerator.Event]) throws {
        let insert = try connection.prepare(Self.insertion)
        try connection.transaction {
            for (n, event) in events.enumerated() { try put(event, n + 1, insert) }
        }
    }

    private static let insertion = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)"

    private func put(_ event: EventGenerator.Event, _ key: Int?, _ insert: SQLiteStatement) throws {
        var (uid, name) = (event.uid, event.name)
        try uid.withUTF8 { uid in
            try name.withUTF8 { name in
                if let key { insert.bind(1, key) }
                insert.bind(2, text: uid)
                insert.bind(3, event.latitude)
                insert.bind(4, event.longitude)
                insert.bind(5, event.created)
                insert.bind(6, text: name)
                insert.bind(7, event.magnitude)
                try insert.run()
            }
        }
    }

    func get(uids: [String]) throws -> UInt64 {
        let select = try connection.prepare("SELECT latitude, name FROM event WHERE uid = ?")
        return try connection.reading {
            var sum: UInt64 = 0
            for uid in uids {
                var uid = uid
                sum &+= try uid.withUTF8 { uid in
                    select.bind(1, text: uid)
                    return try read(select)
                }
            }
            return sum
        }
    }

    func get(keys: [UInt64]) throws -> UInt64 {
        let select = try connection.prepare("SELECT latitude, name FROM event WHERE id = ?")
        return try connection.reading {
            var sum: UInt64 = 0
            for key in keys {
                select.bind(1, Int(key))
                sum &+= try read(select)
            }
            return sum
        }
    }

    @inline(__always)
    private func read(_ select: SQLiteStatement) throws -> UInt64 {
        defer { select.reset() }
        guard try select.step() else { throw BenchmarkError("SQLite lost an event.") }
        return eventDigest(select.double(0), select.text(1))
    }

    func countEast() throws -> UInt64 { try count("longitude > 37") }
    func countSevens() throws -> UInt64 { try count("magnitude > 5 AND name LIKE '%7'") }

    private func count(_ condition: String) throws -> UInt64 {
        let select = try connection.prepare("SELECT count(*) FROM event WHERE \(condition)")
        defer { select.reset() }
        return try select.step() ? UInt64(select.int(0)) : 0
    }

    func readEast() throws -> UInt64 {
        let select = try connection.prepare("SELECT latitude, name FROM event WHERE longitude > 37")
        var sum: UInt64 = 0
        while try select.step() { sum &+= eventDigest(select.double(0), select.text(1)) }
        return sum
    }

    func firstByLongitude() throws -> UInt64? {
        let select = try connection.prepare("SELECT * FROM event ORDER BY longitude LIMIT 20")
        var sum: UInt64 = 0
        while try select.step() { sum &+= select.double(3).bitPattern }
        return sum
    }

    /// SQLite allows one writer at a time. Waiting for a lock is faster than SQLite's own polling.
    func insertOne(_ event: EventGenerator.Event) throws {
        lock.lock()
        defer { lock.unlock() }
        let insert = try single ?? connection.prepare(Self.insertion)
        single = insert
        try put(event, nil, insert)
    }

    /// Waits up to a minute for the locks of other processes.
    func updateEast() throws -> UInt64 { try change("UPDATE event SET magnitude = magnitude + 1 WHERE longitude > 37") }
    func deleteEast() throws -> UInt64 { try change("DELETE FROM event WHERE longitude > 37") }

    private func change(_ text: String) throws -> UInt64 {
        try connection.transaction { try connection.run(text) }
        return UInt64(sqlite3_changes(connection.handle))
    }

    /// A second connection, because each thread needs its own.
    func reader() throws -> any EventReader { try SQLiteEvents(path: path, poolBytes: cacheBytes ?? 1 << 30) }

    func closeReader() throws { try close() }

    func close() throws {
        single = nil
        connection.close()
    }
}
#endif
