#if Rivals
import Foundation

/// The graph of packages as a table of edges, with an index that covers each direction; recursive queries follow it.
final class SQLiteWalk: WalkContestant {
    static let contestant = Contestant.sqlite

    private let connection: SQLiteConnection
    private var all: SQLiteStatement?
    private var some: SQLiteStatement?

    init(path: String) throws {
        connection = try SQLiteConnection(path: path)
        try connection.run(
            """
            CREATE TABLE module (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE edge (source INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (source, target)) WITHOUT ROWID;
            CREATE INDEX edge_target ON edge (target, source)
            """)
    }

    func load(_ graph: PackageGraph) throws {
        let module = try connection.prepare("INSERT INTO module VALUES (?, ?)")
        let edge = try connection.prepare("INSERT INTO edge VALUES (?, ?)")
        try connection.transaction {
            for (place, name) in graph.names.enumerated() {
                module.bind(1, place + 1)
                module.bind(2, copying: name)
                try module.run()
            }
            for (place, targets) in graph.requirements.enumerated() {
                for target in targets {
                    edge.bind(1, place + 1)
                    edge.bind(2, target + 1)
                    try edge.run()
                }
            }
        }
        try connection.run("ANALYZE")
        // Without depths, UNION ends cycles by itself, which is the fastest form.
        all = try connection.prepare(
            """
            WITH RECURSIVE reached (id) AS (
              SELECT id FROM module WHERE name = ?1 UNION SELECT edge.source FROM reached JOIN edge ON edge.target = reached.id)
            SELECT id FROM reached WHERE id <> (SELECT id FROM module WHERE name = ?1)
            """)
        some = try connection.prepare(
            """
            WITH RECURSIVE reached (id, depth) AS (
              SELECT id, 0 FROM module WHERE name = ?1
              UNION SELECT edge.source, depth + 1 FROM reached JOIN edge ON edge.target = reached.id WHERE depth < ?2)
            SELECT id, min(depth) FROM reached GROUP BY id
            """)
    }

    func dependents(of name: String) throws -> UInt64 {
        guard let all else { return 0 }
        var count: UInt64 = 0
        all.bind(1, copying: name)
        while try all.step() { count += 1 }
        all.reset()
        return count
    }

    func dependents(of name: String, depth: Int) throws -> UInt64 {
        guard let some else { return 0 }
        var sum: UInt64 = 0
        some.bind(1, copying: name)
        some.bind(2, depth)
        while try some.step() { sum &+= UInt64(some.int(1)) }
        some.reset()
        return sum
    }

    func close() throws {
        (all, some) = (nil, nil)
        connection.close()
    }
}
#endif
