#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres
import Synchronization
import Testing

/// History in the tables of a real PostgreSQL server. The conformance suite tests what is common to all stores.
@Suite(.enabled(if: PostgresServer.isThere)) struct HistoryTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Note") {
                Attribute("uid", .string, unique: true, preserved: true)
                Attribute("size", .integer64, optional: true, preserved: true)
                Attribute("text", .string, optional: true)
            }
            Entity("Folder") {
                Attribute("title", .string, optional: true)
            }
        }
    }

    private func open(
        _ schema: String, _ history: HistoryTracking? = HistoryTracking(), application: String = "tests"
    ) throws -> PersistentContainer {
        var description = PostgresServer.description(schema, application: application)
        description.history = history
        return try PostgresServer.container(description, Self.model())
    }

    @discardableResult
    private func save(_ uid: String, _ container: PersistentContainer) throws -> ManagedObjectID {
        let context = container.newContext()
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.string(uid), forKey: "uid")
        try context.save()
        return note.objectID
    }

    private func numbers(_ container: PersistentContainer) throws -> [UInt64] { try container.history.fetch(after: nil).get().map(\.number) }

    @Test("HIS-2: the saves of all processes are in one history")
    func oneHistory() throws {
        let schema = PostgresServer.freshSchema()
        let (a, b) = (try open(schema), try open(schema))
        let ids = try [save("1", a), save("2", b), save("3", a)]
        for container in [a, b] {
            let transactions = try container.history.fetch(after: nil).get()
            #expect(transactions.flatMap(\.changes).map(\.objectID) == ids)
            #expect(transactions.map(\.processIdentifier) == Array(repeating: ProcessInfo.processInfo.processIdentifier, count: 3))
        }
        #expect(try numbers(a) == numbers(b))
        try a.close()
        try b.close()
    }

    @Test("HIS-4: readers that continue from tokens receive each save once while six writers save")
    func noSaveIsMissed() throws {
        let schema = PostgresServer.freshSchema()
        let containers = try (0 ..< 3).map { _ in try open(schema) }
        let start = try containers[0].history.currentToken()
        let running = Mutex((writers: 6, errors: [String]()))
        for writer in 0 ..< 6 {
            Thread.detachNewThread { [container = containers[writer % 3]] in
                do {
                    let context = container.newContext()
                    for number in 0 ..< 30 {
                        let note = try context.insert(entityNamed: "Note")
                        try note.setValue(.string("\(writer) \(number)"), forKey: "uid")
                        // A save of several rows, so that transactions overlap in several orders.
                        for _ in 0 ..< number % 5 { _ = try context.insert(entityNamed: "Folder") }
                        try context.save()
                    }
                } catch { running.withLock { $0.errors.append("\(error)") } }
                running.withLock { $0.writers -= 1 }
            }
        }
        var tokens = [start, start]
        var read: [[HistoryTransaction]] = [[], []]
        var rounds = 0
        while true {
            let isLast = running.withLock { $0.writers == 0 }
            for reader in 0 ..< 2 {
                let answer = try containers[reader].history.fetch(after: tokens[reader], limit: reader == 0 ? 3 : 0)
                read[reader] += try answer.get()
                tokens[reader] = answer.token
            }
            rounds += 1
            if isLast, try containers[0].history.fetch(after: tokens[0]).get().isEmpty, read[1].count >= 180 { break }
            if rounds > 20_000 { break }
        }
        #expect(running.withLock { $0.errors } == [])
        for transactions in read {
            #expect(transactions.count == 180)
            #expect(Set(transactions.map(\.number)).count == 180)
            #expect(transactions.map(\.number) == transactions.map(\.number).sorted())
            #expect(transactions.map(\.timestamp) == transactions.map(\.timestamp).sorted())
        }
        #expect(read[0].map(\.number) == read[1].map(\.number))
        for container in containers { try container.close() }
    }

    @Test("a transaction that has waited for another one has the higher number")
    func dependentSavesAreInOrder() throws {
        let schema = PostgresServer.freshSchema()
        let containers = try (0 ..< 3).map { _ in try open(schema) }
        let id = try save("counter", containers[0])
        let start = try containers[0].history.currentToken()
        let running = Mutex((writers: 3, errors: [String]()))
        for (writer, container) in containers.enumerated() {
            Thread.detachNewThread {
                do {
                    for number in 0 ..< 20 {
                        let context = container.newContext()
                        context.mergePolicy = .mergeByPropertyObjectTrump
                        context.transactionAuthor = "\(writer) \(number)"
                        try context.existingObject(with: id).setValue(.int(Int64(writer * 100 + number)), forKey: "size")
                        try context.save()
                    }
                } catch { running.withLock { $0.errors.append("\(error)") } }
                running.withLock { $0.writers -= 1 }
            }
        }
        // Numbers some saves while others are running.
        while running.withLock({ $0.writers > 0 }) { _ = try containers[1].history.fetch(after: start) }
        #expect(running.withLock { $0.errors } == [])
        let last = try #require(try containers[2].history.fetch(after: start).get().last)
        // A fetch reads the newest state; the cache may not have the last save yet.
        let note = try #require(containers[2].newContext().fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
        let stored = try note.value(forKey: "size")
        let parts = (last.author ?? "").split(separator: " ").compactMap { Int64($0) }
        #expect(parts.count == 2 && stored == .int(parts[0] * 100 + parts[1]), "The newest entry is the save whose value is stored.")
        for container in containers { try container.close() }
    }

    @Test("a save waits for an inherited unique value before it inserts its entry of the history")
    func inheritedUniqueValues() throws {
        var song = Entity("Song", parent: "Work") {}
        song.uniquenessConstraints = [["title"]]
        let model = try ManagedObjectModel(entities: [Entity("Work") { Attribute("title", .string) }, song])
        let schema = PostgresServer.freshSchema()
        var description = PostgresServer.description(schema, application: "inherited", connectionTimeout: .seconds(300))
        description.history = HistoryTracking()
        let container = try PostgresServer.container(description, model)
        // The other transaction is rolled back.
        let holder = try PostgresServer.holding(
            "INSERT INTO \"\(schema)\".\"Work\" (_id, _entity, _version, title) VALUES (1000000, 'Song', 1, 'a')")
        defer { holder.terminate() }
        let end = End()
        Thread.detachNewThread {
            let context = container.newContext()
            do {
                try context.make("Song", ["title": "a"])
                try context.save()
            } catch { Issue.record(error) }
            end.isReached.withLock { $0 = true }
        }
        var waiting = ""
        while waiting.isEmpty, !end.isReached.withLock({ $0 }) {
            usleep(20_000)
            waiting = try PostgresServer.run(
                "SELECT query FROM pg_stat_activity WHERE application_name = 'inherited' AND wait_event_type = 'Lock'")
        }
        #expect(waiting == "SET CONSTRAINTS ALL IMMEDIATE")
        holder.terminate()
        while !end.isReached.withLock({ $0 }) { usleep(20_000) }
        try container.close()
    }

    @Test("HIS-1: without tracking, history is neither kept nor read")
    func historyCanBeOff() throws {
        let schema = PostgresServer.freshSchema()
        let container = try open(schema, nil)
        try save("a", container)
        #expect(hornbeamError { _ = try container.history.fetch(after: nil) }?.code == .unsupportedRequest)
        let other = hornbeamError { _ = try open(schema) }
        #expect(other?.code == .storeInUse)
        #expect(other?.message.contains("Close it in all of them to begin a history") == true)
        try container.close()
    }

    @Test("HIS-1: a history begins directly after the last process without one has closed the store")
    func historyAfterClosing() throws {
        for _ in 0 ..< 10 {
            let schema = PostgresServer.freshSchema()
            let without = try open(schema, nil)
            _ = try without.newContext().count(FetchRequest<ManagedObject>(entityName: "Note"))
            try without.close()
            let container = try open(schema)
            #expect(try numbers(container).isEmpty)
            try container.close()
        }
    }

    @Test("HIS-1: a process that had no connection while another one began the history must open the store again")
    func historyBegunMeanwhile() throws {
        let schema = PostgresServer.freshSchema()
        let application = "history" + UUID().uuidString.prefix(8)
        var description = PostgresServer.description(schema, application: application)
        description.history = nil
        let old = try PostgresServer.container(description, Self.model())
        try save("a", old)
        try PostgresServer.sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '\(application)'")
        let new = try open(schema)
        let error = hornbeamError { try save("unrecorded", old) }
        #expect(error?.code == .storeInUse)
        #expect(error?.message.contains("another one has begun the history") == true)
        #expect(try PostgresServer.sql("SELECT count(*) FROM \"\(schema)\".\"Note\"") == "1")
        try old.close()
        try new.close()
    }

    @Test("HIS-1: a process without tracking records its saves while others keep history")
    func othersRecord() throws {
        let schema = PostgresServer.freshSchema()
        let (keeping, other) = (try open(schema), try open(schema, nil))
        let token = try keeping.history.currentToken()
        try save("a", other)
        #expect(try keeping.history.fetch(after: token).get().count == 1)
        #expect(hornbeamError { _ = try other.history.fetch(after: nil) }?.code == .unsupportedRequest)
        try keeping.close()
        try other.close()
    }

    @Test("HIS-1: a save without history is reported to later readers")
    func gapIsNoticed() throws {
        let schema = PostgresServer.freshSchema()
        let application = "gap" + UUID().uuidString.prefix(8)
        var container = try open(schema, application: application)
        let token = try container.history.currentToken()
        try container.close()
        // While a connection of the first container ends, the second one would still record history.
        while try PostgresServer.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(application)'") != "0" { Thread.sleep(forTimeInterval: 0.01) }
        container = try open(schema, nil)
        try save("unseen", container)
        try container.close()
        container = try open(schema)
        guard case .resync(.expired, let next) = try container.history.fetch(after: token) else {
            return #expect(Bool(false), "The save must not be passed over.")
        }
        #expect(try container.history.fetch(after: next).get().isEmpty)
        try save("seen", container)
        #expect(try container.history.fetch(after: next).get().count == 1)
        try container.close()
    }

    @Test("HIS-5, HIS-7: history is read by date, and removed by date and by age")
    func datesSelect() throws {
        let schema = PostgresServer.freshSchema()
        let container = try open(schema)
        for number in 0 ..< 5 { try save("\(number)", container) }
        let all = try container.history.fetch(after: nil).get()
        #expect(try container.history.fetch(since: all[3].timestamp).map(\.number) == all[3...].map(\.number))
        #expect(try container.history.fetch(since: .distantPast).count == 5)
        #expect(try container.history.fetch(since: .distantFuture).isEmpty)
        let token = all[1].token
        try container.history.purge(before: all[2].timestamp)
        #expect(try numbers(container) == all[2...].map(\.number))
        #expect(try container.history.fetch(after: token).get().count == 3, "The token is the position after the last one that was removed.")
        try container.history.purge(before: .distantFuture)
        #expect(try numbers(container).isEmpty)
        try container.close()
        let short = try open(schema, HistoryTracking(recordCount: 8, age: .milliseconds(1)))
        for number in 5 ..< 9 {
            try save("\(number)", short)
            Thread.sleep(forTimeInterval: 0.005)
        }
        #expect(try numbers(short).count <= 2)
        try short.close()
    }

    @Test("HIS-7: retention bounds history, and keeps it longer for consumers that have not read it")
    func retentionBounds() throws {
        let container = try open(PostgresServer.freshSchema(), HistoryTracking(recordCount: 10, unreadRecordCount: 30))
        let start = try container.history.currentToken()
        for number in 0 ..< 20 { try save("\(number)", container) }
        #expect(try (10 ... 11).contains(numbers(container).count))
        guard case .resync(.expired, _) = try container.history.fetch(after: start) else {
            return #expect(Bool(false), "The removed transactions must not be passed over.")
        }
        try container.history.register("slow")
        for number in 20 ..< 40 { try save("\(number)", container) }
        #expect(try container.history.fetch(for: "slow").get().count == 20)
        for number in 40 ..< 80 { try save("\(number)", container) }
        #expect(try (30 ... 33).contains(numbers(container).count))
        guard case .resync(.expired, _) = try container.history.fetch(for: "slow") else {
            return #expect(Bool(false), "A consumer that never reads must not keep everything.")
        }
        try container.close()
    }

    @Test("HIS-8, BAT-5: batch requests are in history, those that the server executes too")
    func batchesAreRecorded() throws {
        let container = try open(PostgresServer.freshSchema())
        let context = container.newContext()
        context.transactionAuthor = "batch, \"quoted\""
        let rows = (0 ..< 100).map { ["uid": PropertyValue.string("n\($0)"), "size": .int(Int64($0))] }
        try context.execute(BatchInsertRequest(entityName: "Note", objects: rows))
        var update = BatchUpdateRequest(entityName: "Note", predicate: try FetchPredicate(format: "size < 10"))
        update.set("text", to: "small")
        try context.execute(update)
        try context.execute(BatchDeleteRequest(entityName: "Note", predicate: try FetchPredicate(format: "size >= 98")))
        try context.execute(BatchDeleteRequest(entityName: "Note", predicate: try FetchPredicate(format: "size == 1000")))
        let transactions = try container.history.fetch(after: nil).get()
        #expect(transactions.map(\.kind) == [.batch, .batch, .batch])
        #expect(transactions.map(\.author) == Array(repeating: "batch, \"quoted\"", count: 3))
        #expect(transactions.map(\.changeCount) == [100, 10, 2])
        #expect(transactions[1].changes.allSatisfy { $0.kind == .updated(["text"]) })
        #expect(transactions[2].changes.map(\.tombstone) == [["uid": "n98", "size": 98], ["uid": "n99", "size": 99]])
        try container.close()
    }

    @Test("HIS-5: a restored backup of the database is reported")
    func restoredDatabaseDiverges() throws {
        let a = PostgresServer.freshSchema()
        let container = try open(a)
        try save("1", container)
        let early = try container.history.currentToken()
        try save("2", container)
        let late = try container.history.currentToken()
        // The tables of the backup have the first save only, and then another one.
        try PostgresServer.sql("DELETE FROM \"\(a)\"._hornbeam_history WHERE number = (SELECT last FROM \"\(a)\"._hornbeam_history_state)")
        try PostgresServer.sql(
            "UPDATE \"\(a)\"._hornbeam_history_state SET last = last - 1, last_time = (SELECT max(saved_at) FROM \"\(a)\"._hornbeam_history)")
        #expect(try container.history.fetch(after: early).get().isEmpty)
        guard case .resync(.diverged, _) = try container.history.fetch(after: late) else { return #expect(Bool(false), "The number is not reached.") }
        try save("3", container)
        guard case .resync(.diverged, _) = try container.history.fetch(after: late) else { return #expect(Bool(false), "The time differs.") }
        try container.close()
    }
}

/// The end of a thread.
private final class End: Sendable {
    let isReached = Mutex(false)
}
#endif
