internal import Foundation
internal import HornbeamModel

// The history of a custom store that keeps it.

extension Store {
    /// The custom store, if it keeps history.
    var keepingStore: (any HistoryKeepingStore)? {
        guard let keeping = backing?.custom as? any HistoryKeepingStore, keeping.keepsHistory else { return nil }
        return keeping
    }

    /// The entry of a change for the history of the custom store; nil if it keeps none.
    func historyEntry(_ change: StoreChange) throws -> StoreHistoryEntry? {
        guard keepingStore != nil, !change.isEmpty else { return nil }
        var entry = StoreHistoryEntry(isBatch: change.kind == .batch, author: change.author, contextName: change.contextName)
        entry.groups += groups(of: change.inserted.map { ($0, PropertyMask()) }) { _, _, _ in .inserted }
        entry.groups += groups(of: change.updated.map { ($0.reference, $0.properties) }) { entity, mask, _ in
            .updated(mask.indexes.map { entity.properties[$0].name })
        }
        entry.groups += groups(of: change.deleted.map { ($0, PropertyMask()) }) { [reader] entity, _, keys in
            .deleted(reader.history.preservedValues(of: keys, in: entity, change))
        }
        return entry
    }

    /// Groups objects by entity and changed properties, in the order of their first keys.
    private func groups(
        of objects: [(object: ObjectReference, mask: PropertyMask)],
        _ change: (EntityDescription, PropertyMask, [UInt64]) -> StoreHistoryEntry.Change
    ) -> [StoreHistoryEntry.Group] {
        struct Key: Hashable {
            let entity: Int32
            let mask: PropertyMask
        }
        let groups = Dictionary(grouping: objects) { Key(entity: $0.object.entityIndex, mask: $0.mask) }.mapValues { $0.map(\.object.key).sorted() }
        return groups.sorted { $0.value[0] < $1.value[0] }.map { key, keys in
            let entity = model.entities[Int(key.entity)]
            return StoreHistoryEntry.Group(entity.name, change(entity, key.mask, keys), keys)
        }
    }

    // MARK: Reading

    /// The largest number of entries that are read at a time.
    private static let historyPageMax = 1000

    /// The history of the custom store after a position.
    func history(
        of keeping: any HistoryKeepingStore, after position: HistoryPosition?, limit: Int, where isIncluded: (HistoryRecord) throws -> Bool
    ) throws -> HistoryReport {
        var records: [HistoryRecord] = []
        var number = position?.number ?? 0
        var isFirst = true
        while true {
            let page = try keeping.history(after: number, limit: Self.historyPageMax)
            let newest = HistoryPosition(page.range)
            // Entries can be removed between two pages. Without a position, the history begins where it begins.
            if number < page.range.start, !isFirst || position != nil { return .resync(.expired, position: newest) }
            if isFirst, let position, let gap = Self.gap(position, page) { return .resync(gap, position: newest) }
            isFirst = false
            for record in page.records {
                if limit > 0, records.count == limit, let last = records.last { return .records(records, position: last.position) }
                let record = try HistoryRecord(record, model)
                if try isIncluded(record) { records.append(record) }
            }
            guard page.records.count >= Self.historyPageMax, let last = page.records.last else { return .records(records, position: newest) }
            number = last.number
        }
    }

    private static func gap(_ position: HistoryPosition, _ page: StoreHistoryPage) -> HistoryGap? {
        if position.number > page.range.newest { return .diverged }
        guard let time = page.timeBefore, position.time != 0 else { return nil }
        return HistoryPosition.bits(time) == position.time ? nil : .diverged
    }
}

extension HistoryPosition {
    /// The position after the newest entry of a custom store.
    init(_ range: StoreHistoryRange) { self.init(number: range.newest, time: range.newestTime.map(Self.bits) ?? 0) }

    init(_ consumer: StoreHistoryConsumer) { self.init(number: consumer.number, time: consumer.time.map(Self.bits) ?? 0) }

    static func bits(_ time: Date) -> UInt64 { time.timeIntervalSinceReferenceDate.bitPattern }

    /// The time of the position; nil without one.
    var date: Date? { time == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(bitPattern: time)) }
}

extension HistoryRecord {
    /// The record of a custom store, without objects and properties that the model does not have.
    fileprivate init(_ record: StoreHistoryRecord, _ model: ManagedObjectModel) throws {
        let entry = record.entry
        self.init(
            number: record.number, kind: entry.isBatch ? .batch : .save, timestamp: record.time, processIdentifier: entry.processIdentifier,
            processName: entry.processName, author: entry.author, contextName: entry.contextName, label: nil,
            groups: entry.groups.compactMap { group in
                model.entitiesByName[group.entityName].map { Group(entity: $0, change: Group.Change(group.change, $0), runs: Self.runs(group.keys)) }
            })
    }

    private static func runs(_ keys: [UInt64]) -> [Range<UInt64>] {
        var runs: [Range<UInt64>] = []
        for key in keys where key < .max {
            if let last = runs.last, last.upperBound == key {
                runs[runs.count - 1] = last.lowerBound ..< key + 1
            } else {
                runs.append(key ..< key + 1)
            }
        }
        return runs
    }
}

extension HistoryRecord.Group.Change {
    fileprivate init(_ change: StoreHistoryEntry.Change, _ entity: EntityDescription) {
        switch change {
        case .inserted: self = .inserted
        case .updated(let names): self = .updated(names.compactMap { entity.propertiesByName[$0]?.index }.sorted())
        case .deleted(let values):
            self = .deleted(
                values.map { values in
                    let pairs = values.compactMap { name, value in entity.propertiesByName[name].map { ($0.index, value) } }
                    return Dictionary(uniqueKeysWithValues: pairs)
                })
        }
    }
}

extension HistoryCoding {
    /// The values that history preserves of deleted objects, by the names of the attributes; empty if the entity preserves none.
    fileprivate func preservedValues(of keys: [UInt64], in entity: EntityDescription, _ change: StoreChange) -> [[String: PropertyValue]] {
        let index = Int32(entity.index)
        if numbers.preserved(index).isEmpty { return [] }
        return keys.map { key in
            let bytes = change.preserved[ObjectReference(entityIndex: index, key: key)] ?? []
            let values = preservedValues(bytes, entity: index) ?? [:]
            return Dictionary(uniqueKeysWithValues: values.map { (entity.properties[$0.key].name, $0.value) })
        }
    }
}
