package import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// The result of reading the history after a position.
package enum HistoryReport: Sendable {
    /// All commits up to `position`, oldest first.
    case records([HistoryRecord], position: HistoryPosition)
    /// History is incomplete: read all data again, then continue at `position`.
    case resync(HistoryGap, position: HistoryPosition)
}

/// The reason why history cannot be read from a position.
package enum HistoryGap: Sendable {
    /// The records were removed by age, number or purge, or never written.
    case expired
    /// The position belongs to another history: it names commits that a crash lost or that a backup does not contain.
    case diverged
}

extension Store {
    /// False for a store without history.
    package var keepsHistory: Bool { history != nil || keepingStore != nil }

    /// The records after a position, or all records if the position is nil.
    ///
    /// - Parameters:
    ///   - limit: The largest number of records returned; 0 for all.
    ///   - isIncluded: Returns true for the records that the report contains.
    package func history(
        after position: HistoryPosition?, limit: Int = 0, where isIncluded: (HistoryRecord) throws -> Bool = { _ in true }
    ) throws -> HistoryReport {
        if let keepingStore { return try history(of: keepingStore, after: position, limit: limit, where: isIncluded) }
        let (reading, snapshot) = try historyReading()
        let newest = try Self.position(reading, upTo: snapshot.transaction)
        if let position, let gap = try gap(position, reading, snapshot) { return .resync(gap, position: newest) }
        var records: [HistoryRecord] = []
        var reachedLimit = false
        try reading.forEach(after: position?.number ?? 0) { record in
            reachedLimit = limit > 0 && records.count == limit
            if reachedLimit { return false }
            if try isIncluded(record) { records.append(record) }
            return true
        }
        guard reachedLimit, let last = records.last else { return .records(records, position: newest) }
        return .records(records, position: last.position)
    }

    /// The position after the newest commit.
    package func historyPosition() throws -> HistoryPosition {
        if let keepingStore { return HistoryPosition(try keepingStore.historyRange()) }
        let (reading, snapshot) = try historyReading()
        return try Self.position(reading, upTo: snapshot.transaction)
    }

    /// The position before the oldest commit in history.
    package func historyStart() throws -> HistoryPosition {
        if let keepingStore { return HistoryPosition(number: try keepingStore.historyRange().start, time: 0) }
        _ = try requireHistory()
        return HistoryPosition(number: try HistoryState.floor(in: snapshot().engineSnapshot), time: 0)
    }

    /// The position after the newest commit before a date; the start of history when it has no such commit.
    package func historyPosition(before date: Date) throws -> HistoryPosition {
        try historyNumber(before: date).map { HistoryPosition(number: $0, time: 0) } ?? historyStart()
    }

    /// The newest commit before a date; nil when history has none.
    package func historyNumber(before date: Date) throws -> UInt64? {
        if let keepingStore { return try keepingStore.historyNumber(before: date) }
        return try historyReading().0.lastNumber(before: date)
    }

    private func gap(
        _ position: HistoryPosition, _ reading: HistoryReading, _ snapshot: StoreSnapshot
    ) throws -> HistoryGap? {
        if position.number > snapshot.transaction { return .diverged }
        if try position.number < HistoryState.floor(in: snapshot.engineSnapshot) { return .expired }
        guard let time = try reading.time(upTo: position.number), position.time != 0 else { return nil }
        return time.bitPattern == position.time ? nil : .diverged
    }

    private static func position(_ reading: HistoryReading, upTo number: UInt64) throws -> HistoryPosition {
        HistoryPosition(number: number, time: try reading.time(upTo: number)?.bitPattern ?? 0)
    }

    private func historyReading() throws -> (HistoryReading, StoreSnapshot) {
        let history = try requireHistory()
        let snapshot = try snapshot()
        return (HistoryReading(snapshot.engineSnapshot, tree: history.tree, coding: history.coding), snapshot)
    }

    private func requireHistory() throws -> HistoryLog {
        if let history { return history }
        if let backing {
            throw HornbeamError(
                .unsupportedRequest,
                backing.custom is any HistoryKeepingStore
                    ? "The custom store has no history. Open it with history tracking; recording begins then."
                    : "A custom store has a history only if it is a HistoryKeepingStore.")
        }
        throw HornbeamError(
            .unsupportedRequest, "“\(location)” has no history. Open it with history tracking; recording begins then.")
    }

    /// Publishes the commits of another process after a number; false when history does not contain all of them.
    func publishHistory(after number: UInt64) throws -> Bool {
        guard let history else { return false }
        let snapshot = try snapshot()
        guard try number >= HistoryState.floor(in: snapshot.engineSnapshot) else { return false }
        let reading = HistoryReading(snapshot.engineSnapshot, tree: history.tree, coding: history.coding)
        var changes: [StoreChange] = []
        try reading.forEach(after: number) { record in
            changes.append(StoreChange(record))
            return true
        }
        for change in changes { publisher.publish(change) }
        return true
    }

    /// True if a transaction is a commit of an opening of this store; nil without a history that goes back to it. Reads the newest state of all
    /// processes.
    func isCommit(_ number: UInt64, of opening: Store) throws -> Bool? {
        guard history != nil, let writer = opening.history?.writer else { return nil }
        return try withTurn { () -> Bool? in
            guard engine.latest.rawValue >= number else { return false }
            let (reading, snapshot) = try historyReading()
            guard try number > HistoryState.floor(in: snapshot.engineSnapshot) else { return nil }
            var isFound = false
            try reading.forEach(after: number - 1) { record in
                isFound = record.number == number && record.opening == writer.opening && record.processIdentifier == writer.processIdentifier
                return false
            }
            return isFound
        }
    }

    // MARK: Purging

    /// Removes the records of all commits up to a number, durably (HIS-7).
    package func purgeHistory(through number: UInt64) throws {
        if let keepingStore { return try keepingStore.removeHistory(through: number) }
        let history = try requireHistory()
        try inHistoryTransaction { transaction, base in
            let number = min(number, base.transaction.rawValue)
            guard try number > HistoryState.floor(in: base) else { return }
            try EngineError.translated { () throws(EngineError) in
                var doomed: [[UInt8]] = []
                let range = KeyRange(to: HistoryKey.key(number + 1))
                unsafe try transaction.index(history.tree).forEach(in: range) { (key, _) throws(EngineError) -> Bool in
                    unsafe doomed.append([UInt8](key))
                    return true
                }
                for key in doomed { _ = try transaction.delete(key, from: history.tree) }
                try HistoryState.setFloor(number, in: transaction)
            }
        }
        history.refresh()
    }

    // MARK: Consumers

    /// The registered consumers of history, by name.
    package func historyConsumers() throws -> [HistoryConsumerRecord] {
        if let keepingStore {
            return try keepingStore.historyConsumers().sorted { $0.name < $1.name }.map {
                HistoryConsumerRecord(name: $0.name, position: HistoryPosition($0), date: $0.lastRead)
            }
        }
        return try HistoryState.consumers(in: historyReading().1.engineSnapshot).sorted { $0.name < $1.name }
    }

    /// Stores the position of a consumer, or removes the consumer if the position is nil. The change is durable on return.
    package func setHistoryConsumer(_ name: String, _ position: HistoryPosition?) throws {
        if let keepingStore {
            guard let position else { return try keepingStore.removeHistoryConsumer(name) }
            return try keepingStore.setHistoryConsumer(
                StoreHistoryConsumer(name: name, number: position.number, time: position.date, lastRead: options.clock()))
        }
        let history = try requireHistory()
        let date = history.now
        try inHistoryTransaction { transaction, base in
            var consumers = try HistoryState.consumers(in: base).filter { $0.name != name }
            if let position { consumers.append(HistoryConsumerRecord(name: name, position: position, date: date)) }
            consumers.sort { $0.name < $1.name }
            try HistoryState.setConsumers(consumers, in: transaction)
            history.refresh(consumers)
        }
    }

    /// Runs a transaction that changes only the stored state of history. Other transactions wait until it ends.
    private func inHistoryTransaction(_ body: (WriteTransaction, Snapshot) throws -> Void) throws {
        let (transaction, base) = try beginOnSnapshot()
        do {
            try body(transaction, base.engineSnapshot)
        } catch {
            transaction.abort()
            throw (error as? EngineError).map { HornbeamError($0) } ?? error
        }
        _ = try EngineError.translated { () throws(EngineError) in try transaction.commit(.full) }
    }
}

extension HistoryRecord {
    /// The position after this commit.
    package var position: HistoryPosition {
        HistoryPosition(number: number, time: timestamp.timeIntervalSinceReferenceDate.bitPattern)
    }
}

extension StoreChange {
    /// Makes the published change of a history record.
    init(_ record: HistoryRecord) {
        transaction = record.number
        author = record.author
        contextName = record.contextName
        process = StoreChange.Process(identifier: record.processIdentifier, name: record.processName)
        kind = record.kind
        label = record.label
        for group in record.groups {
            switch group.change {
            case .inserted: inserted += group.references
            case .deleted: deleted += group.references
            case .updated(let properties):
                let mask = PropertyMask(properties)
                updated += group.references.map { Updated(reference: $0, properties: mask) }
            }
        }
    }
}

extension HistoryLog {
    /// Opens, creates or removes the history of a store that is being opened, according to the options. A shared store keeps its history, because
    /// other processes may need it.
    static func prepared(
        _ engine: Engine, _ options: Store.Options, _ reader: RowReader
    ) throws -> HistoryLog? {
        let tree = try engine.snapshot().tree(named: HistoryKey.treeName)
        let isKept = tree != nil && engine.isShared
        guard (tree != nil) != (options.history != nil), !isKept, !options.readOnly, !options.keepsStoredHistory else {
            return try tree.map { try kept(in: $0, as: options, reader, engine.snapshot()) }
        }
        let transaction = try engine.begin()
        if let tree {
            try transaction.drop(tree)
            try HistoryState.removeAll(in: transaction)
        } else {
            _ = try transaction.createIndex(named: HistoryKey.treeName)
            try HistoryState.setFloor(transaction.baseTransaction.rawValue, in: transaction)
        }
        _ = try transaction.commit(.full)
        let snapshot = try engine.snapshot()
        return try snapshot.tree(named: HistoryKey.treeName).map { try kept(in: $0, as: options, reader, snapshot) }
    }

    static func kept(in tree: TreeID, as options: Store.Options, _ reader: RowReader, _ snapshot: Snapshot) throws -> HistoryLog {
        let retention = options.keepsStoredHistory ? .unlimited : options.history ?? .standard
        return try HistoryLog(tree: tree, keeping: retention, clock: options.clock, reader, snapshot)
    }
}
