internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// Encodes and decodes the history record of a change. Normative: `Docs/Rows.md`.
struct HistoryCoding: Sendable {
    static let format: UInt8 = 1

    private enum Mark: UInt8 {
        case inserted = 1
        case updated = 2
        case deleted = 3
        case deletedWithValues = 4
    }

    private let schema: Schema
    private let origins: StoreIdentities
    let numbers: HistoryNumbers

    init(_ schema: Schema, _ origins: StoreIdentities) {
        self.schema = schema
        self.origins = origins
        numbers = HistoryNumbers(schema.catalogue, schema.model)
    }

    // MARK: Writing

    func encode(_ change: StoreChange, _ writer: HistoryProcess, at time: Double) -> [UInt8] {
        var bytes = HistoryRecordWriter()
        bytes.append(Self.format)
        bytes.append(change.kind.rawValue)
        bytes.append(double: time)
        bytes.append(number: UInt64(writer.opening) << 32 | UInt64(UInt32(bitPattern: writer.processIdentifier)))
        bytes.append(text: writer.processName)
        bytes.append(text: change.author)
        bytes.append(text: change.contextName)
        bytes.append(text: change.label)
        for (entity, keys) in Self.byEntity(change.inserted) { begin(.inserted, entity, keys, &bytes) }
        encodeUpdates(change.updated, &bytes)
        for (entity, keys) in Self.byEntity(change.deleted) { encodeDeletion(of: keys, entity, change, &bytes) }
        return bytes.bytes
    }

    private func begin(_ mark: Mark, _ entity: Int32, _ keys: [UInt64], _ bytes: inout HistoryRecordWriter) {
        bytes.append(mark.rawValue)
        bytes.append(number: UInt64(schema.table(at: entity).number))
        bytes.append(keys: keys)
    }

    private func encodeUpdates(_ updates: [StoreChange.Updated], _ bytes: inout HistoryRecordWriter) {
        if updates.count == 1 {
            return encode(updates[0].reference.entityIndex, updates[0].properties, [updates[0].reference.key], &bytes)
        }
        var groups: [UpdateGroup: [UInt64]] = [:]
        for update in updates {
            groups[UpdateGroup(entity: update.reference.entityIndex, mask: update.properties), default: []]
                .append(update.reference.key)
        }
        for (group, keys) in groups.sorted(by: { $0.value.min()! < $1.value.min()! }) {
            encode(group.entity, group.mask, keys.sorted(), &bytes)
        }
    }

    private struct UpdateGroup: Hashable {
        var entity: Int32
        var mask: PropertyMask
    }

    private func encode(_ entity: Int32, _ mask: PropertyMask, _ keys: [UInt64], _ bytes: inout HistoryRecordWriter) {
        begin(.updated, entity, keys, &bytes)
        let properties = mask.indexes.map { numbers.number(of: $0, entity: entity) }.filter { $0 != 0 }
        bytes.append(number: UInt64(properties.count))
        for number in properties { bytes.append(number: number) }
    }

    private func encodeDeletion(
        of keys: [UInt64], _ entity: Int32, _ change: StoreChange, _ bytes: inout HistoryRecordWriter
    ) {
        guard !change.preserved.isEmpty, !numbers.preserved(entity).isEmpty else {
            return begin(.deleted, entity, keys, &bytes)
        }
        begin(.deletedWithValues, entity, keys, &bytes)
        for key in keys {
            let values = change.preserved[ObjectReference(entityIndex: entity, key: key)] ?? []
            bytes.append(contents: values)
        }
    }

    private static func byEntity(_ objects: [ObjectReference]) -> [(entity: Int32, keys: [UInt64])] {
        guard let first = objects.first else { return [] }
        if objects.allSatisfy({ $0.entityIndex == first.entityIndex }) {
            return [(first.entityIndex, objects.map(\.key).sorted())]
        }
        var groups: [Int32: [UInt64]] = [:]
        for object in objects { groups[object.entityIndex, default: []].append(object.key) }
        return groups.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
    }

    // MARK: Preserved values

    func preservesValues(of table: EntityTable) -> Bool { !numbers.preserved(table.index).isEmpty }

    /// The encoded values that history preserves of a deleted row; nil when its entity preserves none.
    func preservedValues(of row: RowView, in table: EntityTable) throws(EngineError) -> [UInt8]? {
        let properties = numbers.preserved(table.index)
        if properties.isEmpty { return nil }
        var values: [String: PropertyValue] = [:]
        for property in properties {
            guard let column = table.columns[property.index] else { continue }
            let value = try column.value(in: row, schema: schema, origin: origins)
            values["\(numbers.number(of: property.index, entity: table.index))"] = value.withoutIdentity
        }
        return CompositeCode.encode(values)
    }

    func preservedValues(_ bytes: [UInt8], entity: Int32) -> [Int: PropertyValue]? {
        if bytes.isEmpty { return [:] }
        guard let stored = CompositeCode.decode(bytes) else { return nil }
        var values: [Int: PropertyValue] = [:]
        for (name, value) in stored {
            guard let index = UInt64(name).flatMap({ numbers.property(number: $0, entity: entity) }) else { continue }
            let property = schema.model.entities[Int(entity)].properties[index]
            values[index] = if case .uri(let url) = value, property.attribute?.type == .objectID {
                origins.storedID(url).map { .objectID($0) } ?? value
            } else {
                value
            }
        }
        return values
    }

    // MARK: Reading

    func decode(_ bytes: [UInt8], number: UInt64) throws -> HistoryRecord {
        var reader = HistoryRecordReader(bytes)
        guard var record = Self.header(&reader, number) else { throw Self.damaged(number) }
        while !reader.isAtEnd {
            guard try group(&reader, &record) else { throw Self.damaged(number) }
        }
        return record
    }

    /// Decodes the fields before the groups of a record.
    static func header(_ reader: inout HistoryRecordReader, _ number: UInt64) -> HistoryRecord? {
        guard reader.byte() == format, let kind = reader.byte().flatMap(HistoryRecord.Kind.init), let time = reader.double(),
            let process = reader.number(), let processName = reader.text(), let author = reader.text(),
            let contextName = reader.text(), let label = reader.text()
        else { return nil }
        return HistoryRecord(
            number: number, kind: kind, timestamp: Date(timeIntervalSinceReferenceDate: time),
            processIdentifier: Int32(truncatingIfNeeded: process), opening: UInt32(process >> 32), processName: processName, author: author,
            contextName: contextName, label: label, groups: [])
    }

    private func group(_ reader: inout HistoryRecordReader, _ record: inout HistoryRecord) throws -> Bool {
        guard let mark = reader.byte().flatMap(Mark.init), let entityNumber = reader.number(), let runs = reader.runs() else {
            return false
        }
        let entity = UInt32(exactly: entityNumber).flatMap { schema.entityIndex(number: $0) }
        let change: HistoryRecord.Group.Change
        switch mark {
        case .inserted: change = .inserted
        case .deleted: change = .deleted([])
        case .updated:
            guard let properties = properties(&reader, entity) else { return false }
            change = .updated(properties)
        case .deletedWithValues:
            var values: [[Int: PropertyValue]] = []
            for _ in runs.joined() {
                guard let bytes = reader.contents() else { return false }
                guard let entity else { continue }
                guard let preserved = preservedValues(bytes, entity: entity) else { return false }
                values.append(preserved)
            }
            change = .deleted(values)
        }
        if let entity {
            record.groups.append(
                HistoryRecord.Group(entity: schema.model.entities[Int(entity)], change: change, runs: runs))
        }
        return true
    }

    private func properties(_ reader: inout HistoryRecordReader, _ entity: Int32?) -> [Int]? {
        guard let count = reader.number() else { return nil }
        var properties: [Int] = []
        for _ in 0 ..< count {
            guard let number = reader.number() else { return nil }
            if let entity, let index = numbers.property(number: number, entity: entity) { properties.append(index) }
        }
        return properties.sorted()
    }

    static func damaged(_ number: UInt64) -> HornbeamError {
        HornbeamError(
            .damaged,
            "The record of transaction \(number) in the history cannot be read. Purge the history up to it, and let its readers resync.")
    }
}

/// The process that each record names.
struct HistoryProcess: Sendable {
    let processIdentifier: Int32
    let processName: String
    /// A random number of one opening of the store. Processes in different containers can have the same identifier.
    let opening: UInt32

    /// This process, with a new opening.
    static func makeOpening() -> HistoryProcess {
        HistoryProcess(
            processIdentifier: ProcessInfo.processInfo.processIdentifier, processName: ProcessInfo.processInfo.processName,
            opening: .random(in: 1 ... .max))
    }
}

extension PropertyValue {
    /// The value, with an object ID replaced by its URI, because a composite cell contains no object IDs.
    fileprivate var withoutIdentity: PropertyValue {
        if case .objectID(let id) = self { .uri(id.uriRepresentation()) } else { self }
    }
}
