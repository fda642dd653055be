#if Rivals
import Foundation

/// A connection with prepared statements that serves the requests of a day. The connections of a process take turns to write by a lock, because
/// waiting for a lock is faster than SQLite's own polling.
final class SQLiteDay: DayClient {
    private let connection: SQLiteConnection
    private let writers: NSLock
    private let begin, beginWriting, commit, package, named, targets, page, count, group, update, insert: SQLiteStatement

    init(path: String, writers: NSLock) throws {
        let connection = try SQLiteConnection(path: path)
        self.connection = connection
        self.writers = writers
        let columns = "SELECT p.id, p.version, p.size, s.name FROM package p JOIN section s ON s.id = p.section WHERE"
        begin = try connection.prepare("BEGIN")
        beginWriting = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        package = try connection.prepare("\(columns) p.id = ?")
        named = try connection.prepare("\(columns) p.name = ? ORDER BY p.id LIMIT 1")
        targets = try connection.prepare("SELECT target FROM dependency WHERE package = ?")
        page = try connection.prepare("SELECT name, size FROM package WHERE name >= ? AND size > 100 ORDER BY name, id LIMIT 50")
        count = try connection.prepare(SQLiteCatalogue.dependenciesInLibraries)
        group = try connection.prepare(
            """
            SELECT sum(p.size), count(*) FROM package p WHERE p.section = (SELECT id FROM section WHERE name = ?) GROUP BY p.architecture
            """)
        update = try connection.prepare("UPDATE package SET version = ? WHERE id = ?")
        insert = try connection.prepare("INSERT INTO dependency (target, package) VALUES (?, ?)")
    }

    func answer(_ request: DayRequest) throws -> UInt64 {
        switch request {
        case .package(let number):
            package.bind(1, number + 1)
            return try digest(package)
        case .named(let name):
            named.bind(1, copying: name)
            return try digest(named)
        case .page(let name): return try sum(page, name) { UInt64(page.text(0).count) &+ UInt64(page.int(1)) }
        case .count(let target): return try sum(count, target) { UInt64(count.int(0)) }
        case .group(let section): return try sum(group, section) { UInt64(group.int(0)) &* UInt64(group.int(1)) }
        case .save(let numbers, let version, let target):
            try save(numbers, version, target)
            return 0
        }
    }

    private func sum(_ select: SQLiteStatement, _ text: String, _ row: () -> UInt64) throws -> UInt64 {
        select.bind(1, copying: text)
        defer { select.reset() }
        var sum: UInt64 = 0
        while try select.step() { sum &+= row() }
        return sum
    }

    /// Reads a package and its dependencies in one read transaction.
    private func digest(_ select: SQLiteStatement) throws -> UInt64 {
        try begin.run()
        defer { try? commit.run() }
        defer { select.reset() }
        guard try select.step() else { return 0 }
        var sum = UInt64(select.text(1).count &+ select.int(2) &+ select.text(3).count)
        targets.bind(1, select.int(0))
        while try targets.step() { sum &+= UInt64(targets.text(0).count) }
        targets.reset()
        return sum
    }

    private func save(_ numbers: [Int], _ version: String, _ target: String) throws {
        writers.lock()
        defer { writers.unlock() }
        try beginWriting.run()
        for number in numbers {
            update.bind(1, copying: version)
            update.bind(2, number + 1)
            try update.run()
        }
        insert.bind(1, copying: target)
        insert.bind(2, numbers[0] + 1)
        try insert.run()
        try commit.run()
    }

    func close() throws { connection.close() }
}
#endif
