package import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// A position in the history of one store.
///
/// A number alone is not sufficient: after a crash of a store with lazy durability, and in a store restored from a backup, a number may
/// belong to another commit.
package struct HistoryPosition: Codable, Hashable, Sendable {
    /// The newest known commit.
    package var number: UInt64
    /// The bits of the time of the newest record up to that commit; 0 when there is none.
    package var time: UInt64

    package init(number: UInt64, time: UInt64) {
        self.number = number
        self.time = time
    }
}

/// A registered reader of history, and the position that it has reached.
package struct HistoryConsumerRecord: Codable, Hashable, Sendable {
    package var name: String
    package var position: HistoryPosition
    /// The time at which it last reported its position.
    package var date: Date
}

/// The limits of history. A commit counts as one record for each started kilobyte of its changes.
package struct HistoryRetention: Hashable, Sendable {
    /// The largest number of records.
    package var recordCount: Int
    /// The largest number of records while a registered consumer has not read them.
    package var unreadRecordCount: Int
    package var ageSeconds: Double

    package init(recordCount: Int, unreadRecordCount: Int, ageSeconds: Double) {
        self.recordCount = recordCount
        self.unreadRecordCount = max(unreadRecordCount, recordCount)
        self.ageSeconds = ageSeconds
    }

    /// Deletes nothing.
    static let unlimited = HistoryRetention(recordCount: .max, unreadRecordCount: .max, ageSeconds: .infinity)

    /// One week, and at most a few megabytes.
    package static let standard = HistoryRetention(recordCount: 20_000, unreadRecordCount: 100_000, ageSeconds: 7 * 86_400)
}

/// The values that the store has in addition to the records: the commit up to which records may be missing, and the consumers.
enum HistoryState {
    private static let floorName = "history"
    private static let consumersName = "history/consumers"

    static func owns(_ name: String) -> Bool { name == floorName || name == consumersName }

    /// The commit up to which records may be missing; 0 when history is complete.
    static func floor(in snapshot: Snapshot) throws -> UInt64 {
        let bytes = try EngineError.translated { () throws(EngineError) in try snapshot.value(floorName) }
        guard let bytes, bytes.count == 8 else { return 0 }
        return unsafe bytes.withUnsafeBytes { unsafe KeyBytes.number($0, at: 0) }
    }

    static func setFloor(_ floor: UInt64, in transaction: WriteTransaction) throws(EngineError) {
        var bytes: [UInt8] = []
        KeyBytes.append(floor, to: &bytes)
        try transaction.setValue(floorName, bytes)
    }

    static func consumers(in snapshot: Snapshot) throws -> [HistoryConsumerRecord] {
        let bytes = try EngineError.translated { () throws(EngineError) in try snapshot.value(consumersName) }
        guard let bytes else { return [] }
        do {
            return try JSONDecoder().decode([HistoryConsumerRecord].self, from: Data(bytes))
        } catch {
            throw HornbeamError(
                .damaged, "The list of the history's consumers cannot be read. Register them again.", cause: "\(error)")
        }
    }

    static func setConsumers(_ consumers: [HistoryConsumerRecord], in transaction: WriteTransaction) throws {
        let bytes = consumers.isEmpty ? nil : [UInt8](try JSONEncoder().encode(consumers))
        try EngineError.translated { () throws(EngineError) in try transaction.setValue(consumersName, bytes) }
    }

    static func removeAll(in transaction: WriteTransaction) throws(EngineError) {
        try transaction.setValue(floorName, nil)
        try transaction.setValue(consumersName, nil)
    }
}
