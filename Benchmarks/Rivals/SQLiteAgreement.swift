#if Rivals
import CSQLite
import Foundation
import Hornbeam

/// Counts the rows of random conditions in Hornbeam and in SQLite over the same data, and compares the counts.
struct SQLiteAgreement {
    private let container: PersistentContainer
    private let connection: SQLiteConnection
    private var random: SplitMix

    init(_ folder: Folder, rows: Int, seed: UInt64) throws {
        random = SplitMix(seed)
        container = try Event.container(at: folder.empty("agreement.hornbeam"), poolBytes: 64 << 20)
        connection = try SQLiteConnection(path: folder.empty("agreement.sqlite"))
        try fill(Array(EventGenerator(count: rows)))
    }

    private func fill(_ events: [EventGenerator.Event]) throws {
        try container.performAndWait { context in
            for event in events { Event(context: context).fill(event) }
            try context.save()
        }
        try connection.run("CREATE TABLE event(uid TEXT, latitude REAL, longitude REAL, created REAL, name TEXT, magnitude INTEGER)")
        try connection.transaction {
            for event in events {
                try connection.run(
                    "INSERT INTO event VALUES('\(event.uid)', \(event.latitude), \(event.longitude), \(event.created), "
                        + "'\(event.name)', \(event.magnitude))")
            }
        }
    }

    /// Throws if the counts differ for any of the given number of conditions.
    mutating func check(conditions: Int) throws {
        let context = container.newContext()
        for _ in 0..<conditions {
            let condition = condition(depth: 2)
            let ours = try context.count(FetchRequest<Event>(predicate: try FetchPredicate(format: condition.predicate)))
            let statement = try connection.prepare("SELECT count(*) FROM event WHERE \(condition.sql)")
            guard try statement.step() else { throw BenchmarkError("SQLite counts nothing.") }
            guard statement.int(0) == ours else {
                throw BenchmarkError("'\(condition.predicate)' counts \(ours); SQLite counts \(statement.int(0)) with '\(condition.sql)'.")
            }
        }
        try container.close()
        connection.close()
    }

    /// A condition as a predicate format and as SQL.
    private struct Condition {
        let predicate: String
        let sql: String
        init(_ predicate: String, _ sql: String? = nil) { (self.predicate, self.sql) = (predicate, sql ?? predicate) }
    }

    private mutating func condition(depth: Int) -> Condition {
        guard depth > 0, Int.random(in: 0..<3, using: &random) > 0 else { return comparison() }
        let first = condition(depth: depth - 1)
        if Int.random(in: 0..<4, using: &random) == 0 { return Condition("NOT (\(first.predicate))", "NOT (\(first.sql))") }
        let second = condition(depth: depth - 1)
        let word = Bool.random(using: &random) ? "AND" : "OR"
        return Condition("(\(first.predicate)) \(word) (\(second.predicate))", "(\(first.sql)) \(word) (\(second.sql))")
    }

    private mutating func comparison() -> Condition {
        let sign = ["<", "<=", "==", "!=", ">=", ">"].randomElement(using: &random)!
        let digit = Int.random(in: 0..<10, using: &random)
        let low = Int.random(in: 0..<8, using: &random)
        switch Int.random(in: 0..<9, using: &random) {
        case 0: return Condition("longitude \(sign) \(Double(Int.random(in: -180...180, using: &random)) / 2)")
        case 1: return Condition("latitude \(sign) \(Double(Int.random(in: -9000...9000, using: &random)) / 100)")
        case 2: return Condition("magnitude \(sign) \(digit)")
        case 3: return Condition("magnitude BETWEEN {\(low), \(low + 2)}", "magnitude BETWEEN \(low) AND \(low + 2)")
        case 4: return Condition("magnitude IN {\(low), \(digit)}", "magnitude IN (\(low), \(digit))")
        case 5: return Condition("name ENDSWITH '\(digit)'", "substr(name, -1) = '\(digit)'")
        case 6: return Condition("name CONTAINS 'place \(digit)'", "instr(name, 'place \(digit)') > 0")
        case 7: return Condition("uid BEGINSWITH '\(digit)'", "substr(uid, 1, 1) = '\(digit)'")
        default: return Condition("latitude + longitude \(sign) \(digit * 10)")
        }
    }
}
#endif
