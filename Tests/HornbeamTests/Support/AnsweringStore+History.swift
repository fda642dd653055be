import Foundation
import Hornbeam
import Synchronization

/// The history of a database in memory. Saves change the database one at a time, so numbers are in the order of commits.
struct AnsweringHistory: Sendable {
    var records: [StoreHistoryRecord] = []
    var range = StoreHistoryRange()
    var consumers: [String: StoreHistoryConsumer] = [:]

    mutating func append(_ entry: StoreHistoryEntry) {
        let time = max(Date(), range.newestTime ?? .distantPast)
        range.newest += 1
        range.newestTime = time
        records.append(StoreHistoryRecord(number: range.newest, time: time, entry: entry))
    }
}

extension AnsweringStore: HistoryKeepingStore {
    func setHistoryTracking(_ tracking: HistoryTracking?) { tracked.withLock { $0 = tracking != nil } }

    var keepsHistory: Bool { tracked.withLock { $0 } }

    func historyRange() throws -> StoreHistoryRange { database.read { $0.history.range } }

    func history(after number: UInt64, limit: Int) throws -> StoreHistoryPage {
        database.read { content in
            let found = content.history.records.filter { $0.number > number }
            return StoreHistoryPage(
                range: content.history.range, timeBefore: content.history.records.last { $0.number <= number }?.time,
                records: limit > 0 ? Array(found.prefix(limit)) : found)
        }
    }

    func historyNumber(before date: Date) throws -> UInt64? { database.read { $0.history.records.last { $0.time < date }?.number } }

    func removeHistory(through number: UInt64) throws {
        database.change { content in
            content.history.records.removeAll { $0.number <= number }
            content.history.range.start = max(content.history.range.start, min(number, content.history.range.newest))
            if content.history.records.isEmpty { content.history.range.newestTime = nil }
        }
    }

    func historyConsumers() throws -> [StoreHistoryConsumer] { database.read { Array($0.history.consumers.values) } }

    func setHistoryConsumer(_ consumer: StoreHistoryConsumer) throws { database.change { $0.history.consumers[consumer.name] = consumer } }

    func removeHistoryConsumer(_ name: String) throws { database.change { $0.history.consumers[name] = nil } }
}
