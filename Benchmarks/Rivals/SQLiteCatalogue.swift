#if Rivals
import Foundation

/// Packages in tables with the indexes that the queries need.
final class SQLiteCatalogue: CatalogueContestant {
    static let contestant = Contestant.sqlite

    static let dependenciesInLibraries = """
        SELECT count(*) FROM dependency d JOIN package p ON p.id = d.package JOIN section s ON s.id = p.section
        WHERE d.target = ? AND s.name = 'libs'
        """

    private let path: String
    private let connection: SQLiteConnection
    private let writers = NSLock()

    init(path: String) throws {
        self.path = path
        connection = try SQLiteConnection(path: path)
        try connection.run(
            """
            CREATE TABLE section (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE package (id INTEGER PRIMARY KEY, name TEXT, version TEXT, architecture TEXT, summary TEXT, size INTEGER,
              section INTEGER);
            CREATE INDEX package_name ON package (name);
            CREATE INDEX package_section ON package (section);
            CREATE TABLE dependency (id INTEGER PRIMARY KEY, target TEXT, package INTEGER);
            CREATE INDEX dependency_target ON dependency (target);
            CREATE INDEX dependency_package ON dependency (package)
            """)
    }

    func load(_ packages: [PackageCatalogue.Package]) throws {
        let section = try connection.prepare("INSERT INTO section VALUES (?, ?)")
        let package = try connection.prepare("INSERT INTO package VALUES (?, ?, ?, ?, ?, ?, ?)")
        let dependency = try connection.prepare("INSERT INTO dependency (target, package) VALUES (?, ?)")
        let names = Array(Set(packages.map(\.section))).sorted()
        let sections = Dictionary(uniqueKeysWithValues: zip(names, 1...))
        try connection.transaction {
            for name in names {
                section.bind(1, sections[name]!)
                section.bind(2, copying: name)
                try section.run()
            }
            for (number, one) in packages.enumerated() {
                package.bind(1, number + 1)
                for (place, text) in [one.name, one.version, one.architecture, one.summary].enumerated() {
                    package.bind(Int32(place + 2), copying: text)
                }
                package.bind(6, one.installedSize)
                package.bind(7, sections[one.section]!)
                try package.run()
                for target in one.depends {
                    dependency.bind(1, copying: target)
                    dependency.bind(2, number + 1)
                    try dependency.run()
                }
            }
        }
    }

    func sizes(of names: [String], prepared: Bool) throws -> UInt64 {
        try sum("SELECT size FROM package WHERE name = ?", names, prepared: prepared)
    }

    func totals(of names: [String]) throws -> UInt64 {
        try sum("SELECT sum(size) * count(*) FROM package WHERE name = ?", names, prepared: true)
    }

    func sizeColumns(of names: [String]) throws -> UInt64 { try sizes(of: names, prepared: true) }

    func countLibraries() throws -> UInt64 {
        // CONTAINS is case-sensitive; LIKE in SQLite is not.
        try sum("SELECT count(*) FROM package WHERE size > 1000 AND instr(summary, 'library') > 0", nil)
    }

    func sizeBySection() throws -> UInt64 { try sum("SELECT sum(size) * count(*) FROM package GROUP BY section", nil) }

    func dependencies(on names: [String], prepared: Bool) throws -> UInt64 {
        try sum(Self.dependenciesInLibraries, names, prepared: prepared)
    }

    func firstNames(_ times: Int, prepared: Bool) throws -> UInt64 {
        func prepare() throws -> SQLiteStatement {
            try connection.prepare("SELECT name FROM package WHERE name >= ? ORDER BY name, id LIMIT 100", persistent: prepared)
        }
        let kept = try prepare()
        var sum: UInt64 = 0
        for _ in 0..<times {
            let select = prepared ? kept : try prepare()
            select.bind(1, copying: "libs")
            while try select.step() { sum &+= UInt64(select.text(0).count) }
            select.reset()
        }
        return sum
    }

    func sum(of columns: ComputedColumns) throws -> UInt64 {
        switch columns {
        case .longestSummaries: try sum("SELECT length(summary) n, name FROM package ORDER BY n DESC, id LIMIT 20", nil)
        case .mostDependencies:
            try sum(
                """
                SELECT (SELECT count(*) FROM dependency d WHERE d.package = p.id) n, p.name FROM package p ORDER BY n DESC, p.id LIMIT 20
                """, nil)
        case .targetsBySection:
            try sum(
                """
                SELECT count(DISTINCT d.target), p.section FROM dependency d JOIN package p ON p.id = d.package GROUP BY p.section
                """, nil)
        case .mostLibraries:
            try sum(
                """
                SELECT (SELECT count(*) FROM dependency d WHERE d.package = p.id AND d.target GLOB 'lib*') n, p.name
                FROM package p ORDER BY n DESC, p.id LIMIT 20
                """, nil)
        case .sectionsWithTarget:
            try sum(
                """
                SELECT count(*) FROM section WHERE id IN
                  (SELECT p.section FROM dependency d JOIN package p ON p.id = d.package WHERE d.target = 'zlib1g')
                """, nil)
        case .sectionsWithTargets:
            try sum(
                "SELECT count(*) FROM section WHERE " + ComputedColumns.targets.map {
                    "id IN (SELECT p.section FROM dependency d JOIN package p ON p.id = d.package WHERE d.target = '\($0)')"
                }.joined(separator: " AND "), nil)
        case .largestSections:
            try sum(
                """
                SELECT (SELECT sum(size) FROM package p WHERE p.section = s.id) n, s.name FROM section s ORDER BY n DESC, s.id LIMIT 20
                """, nil)
        case .nameLengths: try sum("SELECT DISTINCT length(name), section FROM package", nil)
        }
    }

    /// The sum of the first column over all rows, for each name or once.
    ///
    /// - Parameter prepared: False to prepare the statement again for each name.
    private func sum(_ query: String, _ names: [String]?, prepared: Bool = true) throws -> UInt64 {
        let kept = try connection.prepare(query)
        return try connection.reading {
            var sum: UInt64 = 0
            for name in names ?? [""] {
                let select = prepared ? kept : try connection.prepare(query, persistent: false)
                if names != nil { select.bind(1, copying: name) }
                while try select.step() { sum &+= UInt64(select.int(0)) }
                select.reset()
            }
            return sum
        }
    }

    func client() throws -> any DayClient { try SQLiteDay(path: path, writers: writers) }

    func close() throws { connection.close() }
}
#endif
