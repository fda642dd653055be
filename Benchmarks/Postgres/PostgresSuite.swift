#if Postgres
import Foundation
import Hornbeam

/// Rows P1 to P8: the same work with objects and with libpq by hand, on the same tables of one server, in turns.
struct PostgresSuite {
    let options: Options
    /// The server that `Scripts/with-postgres` has started.
    let server: String

    static let rows = [
        Row(id: "P1", title: "save of one object", unit: "ms", goal: .atMost(1.3, .libpq)),
        Row(id: "P1a", title: "… without waiting for the disk", unit: "ms"),
        Row(id: "P1h", title: "… with history", unit: "ms"),
        Row(id: "P2", title: "save of 1,000 objects", unit: "ms", goal: .atMost(1.3, .libpq)),
        Row(id: "P2h", title: "… with history", unit: "ms"),
        Row(id: "P3", title: "fetch of 10,000 objects that the process has not read before, all attributes", unit: "ms", goal: .atMost(1.3, .libpq)),
        Row(id: "P3w", title: "… that the process has read before", unit: "ms", goal: .atMost(1.3, .libpq)),
        Row(id: "P4", title: "count with two conditions, 100,000 objects", unit: "ms", goal: .atMost(1.1, .libpq)),
        Row(id: "P5", title: "groups with counts and maxima, 100,000 objects", unit: "ms", goal: .atMost(1.1, .libpq)),
        Row(id: "P6", title: "batch update of 10,000 objects", unit: "ms", goal: .atMost(1.1, .libpq)),
        Row(id: "P6c", title: "… whose rows the process has read before", unit: "ms", goal: .atMost(1.1, .libpq)),
        Row(id: "P7", title: "page of 50 with two relationships prefetched", unit: "ms"),
    ] + groups.map { id, count in Row(id: id, title: "\(count) processes save one object each, all together", unit: "saves/s") }

    private static let groups = [(id: "P8a", processes: 2), (id: "P8b", processes: 4), (id: "P8c", processes: 8)]

    private var count: Int { options.isSmoke ? 1_000 : 100_000 }
    private var looks: Int { options.isSmoke ? 2 : 15 }

    init?(_ options: Options) {
        guard let server = ProcessInfo.processInfo.environment["HORNBEAM_POSTGRES"] else { return nil }
        (self.options, self.server) = (options, server)
    }

    /// The settings of the server and of the rival, as a line below the table.
    func settings() throws -> String {
        let admin = try LibpqConnection(server)
        let values = try ["server_version", "fsync", "synchronous_commit", "shared_buffers"].map { "\($0) \(try admin.run("SHOW \($0)").text(0, 0))" }
        return "PostgreSQL on a Unix socket: \(values.joined(separator: ", ")). \(LibpqArticles.settings)"
    }

    func run(into results: inout Results) throws {
        results.declare(Self.rows)
        for repetition in 0 ..< options.repetitions {
            note("postgres, repetition \(repetition + 1) of \(options.repetitions)")
            let schema = "bench \(ProcessInfo.processInfo.processIdentifier) \(repetition)"
            let graph = try GraphArticles(server, schema: schema)
            try graph.fill(count)
            let rival = try LibpqArticles(server, schema: schema)
            let admin = try LibpqConnection(server)
            try admin.run("VACUUM ANALYZE")
            let contestants: [(Contestant, any ArticleStore)] = [(.hornbeam, graph), (.libpq, rival)]
            try read(repetition.isMultiple(of: 2) ? contestants : contestants.reversed(), graph, &results)
            try save(contestants, "saved", ["P1", "P2"], &results)
            try update(contestants, graph, &results)
            for store in contestants { try store.1.close() }
            let unsafe = server + " options='-c synchronous_commit=off'"
            let relaxed: [(Contestant, any ArticleStore)] = [
                (.hornbeam, try GraphArticles(unsafe, schema: schema)), (.libpq, try LibpqArticles(unsafe, schema: schema)),
            ]
            try save(relaxed, "relaxed", ["P1a"], &results)
            for store in relaxed { try store.1.close() }
            let recording = try GraphArticles(server, schema: schema + " history", keepsHistory: true)
            try recording.fill(1_000)
            try save([(.hornbeam, recording)], "recorded", ["P1h", "P2h"], &results)
            try recording.close()
            try admin.run("DROP SCHEMA \"\(schema) history\" CASCADE")
            try saveTogether(schema, &results)
            try admin.run("DROP SCHEMA \"\(schema)\" CASCADE")
        }
    }

    /// Runs the step of a row for eight seconds, for a profiler: P1, P1h, P2, P3, P3w …, or P1@libpq.
    func profile(_ step: String) throws {
        let words = step.split(separator: "@").map(String.init)
        let schema = "profile \(ProcessInfo.processInfo.processIdentifier)"
        let graph = try GraphArticles(server, schema: schema, keepsHistory: words[0].hasSuffix("h"))
        try graph.fill(count)
        try LibpqConnection(server).run("VACUUM ANALYZE")
        let store: any ArticleStore = words.count > 1 ? try LibpqArticles(server, schema: schema) : graph
        let (start, end) = (processTime(), now() + 8)
        var durations: [Double] = []
        while now() < end {
            if ["P3", "P6"].contains(step) {
                try graph.reopen()
                _ = try graph.page(durations.count)
            }
            if step == "P6c" { _ = try graph.fetch(before: Self.year) }
            durations.append(try timed { try run(words[0], durations.count, store) }.seconds)
        }
        let figures = "median \((percentile(durations.sorted(), 0.5) * 1e3).short) ms, minimum \((durations.min()! * 1e3).short) ms"
        note("\(step): \(figures), \(((processTime() - start) * 1e3 / Double(durations.count)).short) ms of processor time")
        try graph.close()
        try LibpqConnection(server).run("DROP SCHEMA \"\(schema)\" CASCADE")
    }

    private func run(_ step: String, _ number: Int, _ graph: any ArticleStore) throws {
        switch step {
        case "P1", "P1h": try graph.saveOne(ArticleValues("profile", number))
        case "P2", "P2h": try graph.save((0 ..< 1_000).map { ArticleValues("profile \(number)", $0) })
        case "P4": _ = try graph.count("subject 7", rating: 9.5)
        case "P5": _ = try graph.group()
        case "P6", "P6c": _ = try graph.add(words: 1, before: Self.year)
        case "P7": _ = try graph.page(number % 100)
        default: _ = try graph.fetch(before: Self.year)
        }
    }

    /// A tenth of the articles are before this year.
    private static let year = ArticleValues.years.lowerBound + ArticleValues.years.count / 10

    // MARK: Reading

    private func read(_ contestants: [(Contestant, any ArticleStore)], _ graph: GraphArticles, _ results: inout Results) throws {
        for look in 0 ..< looks {
            for (who, store) in contestants {
                if who == .hornbeam { try graph.reopen() }
                // Connects, and reads other rows.
                _ = try store.page(look)
                for id in ["P3", "P3w"] {
                    try measure(id, who, &results) { try store.fetch(before: Self.year) }
                }
                try measure("P4", who, &results) { UInt64(try store.count("subject 7", rating: 9.5)) }
                try measure("P5", who, &results) { try store.group() }
            }
        }
        for look in 0 ..< looks {
            for (who, store) in contestants { try measure("P7", who, check: "P7 \(look)", &results) { try store.page(look + looks) } }
        }
    }

    private func measure(_ id: String, _ who: Contestant, check: String? = nil, _ results: inout Results, _ body: () throws -> UInt64) throws {
        let (seconds, sum) = try timed(body)
        results.add(id, who, seconds * 1e3)
        results.check(check ?? id, who, sum)
    }

    // MARK: Batches

    private func update(_ contestants: [(Contestant, any ArticleStore)], _ graph: GraphArticles, _ results: inout Results) throws {
        for look in 0 ..< looks {
            for (who, store) in contestants {
                if who == .hornbeam { try graph.reopen() }
                // Connects, and reads other rows.
                _ = try store.page(0)
                try measure("P6", who, &results) { UInt64(try store.add(words: 1, before: Self.year)) }
                _ = try store.fetch(before: Self.year)
                try measure("P6c", who, &results) { UInt64(try store.add(words: 1, before: Self.year)) }
                guard who == .hornbeam else { continue }
                // The rows in memory are those of the server.
                for (other, store) in contestants { results.check("P6c \(look)", other, try store.fetch(before: Self.year)) }
            }
        }
    }

    // MARK: Saving

    private func save(_ contestants: [(Contestant, any ArticleStore)], _ prefix: String, _ ids: [String], _ results: inout Results) throws {
        for look in 0 ..< 10 * looks {
            for (who, store) in contestants {
                let article = ArticleValues("\(prefix) \(who.rawValue)", look)
                results.add(ids[0], who, try timed { try store.saveOne(article) }.seconds * 1e3)
            }
        }
        guard ids.count > 1 else { return }
        for look in 0 ..< looks {
            for (who, store) in contestants {
                let articles = (0 ..< 1_000).map { ArticleValues("\(prefix) \(look) \(who.rawValue)", $0) }
                results.add(ids[1], who, try timed { try store.save(articles) }.seconds * 1e3)
            }
        }
    }

    private func saveTogether(_ schema: String, _ results: inout Results) throws {
        let seconds = options.isSmoke ? 0.1 : 3
        for (id, count) in Self.groups where !options.isSmoke || count == 2 {
            for who in [Contestant.hornbeam, .libpq] {
                let members = try (0 ..< count).map { try MemberProcess("save", who, ProcessMember.postgres + schema, $0, seconds) }
                let saves = try MemberProcess.figures(of: members).reduce(0) { $0 + $1[0] }
                results.add(id, who, saves / seconds)
            }
        }
    }
}
#endif
