internal import HornbeamEngine
internal import HornbeamModel

/// New values of rows, collected by a batch before they are written. Keeps both ends of one-to-one relationships consistent.
struct PendingRows {
    private let transaction: WriteTransaction
    private let reader: RowReader
    private var order: [ObjectReference] = []
    private var values: [ObjectReference: [Int: PropertyValue]] = [:]
    /// True for rows that the batch deletes; they receive no values.
    private let isDeleted: (ObjectReference) -> Bool
    /// The rows that were written. Their derived attributes must be computed again.
    private(set) var written: [ObjectReference] = []
    /// Unique keys with derived attributes of the written rows. `updateDerivedValues` claims them.
    private(set) var keysToDerive: [(index: ValueIndex, object: ObjectReference)] = []

    init(_ transaction: WriteTransaction, _ reader: RowReader, isDeleted: @escaping (ObjectReference) -> Bool = { _ in false }) {
        self.transaction = transaction
        self.reader = reader
        self.isDeleted = isDeleted
    }

    var isEmpty: Bool { order.isEmpty }

    /// Sets an attribute or a to-one. If the inverse is a to-one, the former partners are set to null, as in a save of objects.
    mutating func set(_ property: PropertyDescription, of object: ObjectReference, to value: PropertyValue) throws {
        guard property.hasToOneInverse, let inverse = property.inverse else { return put(value, property, object) }
        let target = try target(value, property)
        let old = try current(property, of: object)
        put(value, property, object)
        if old == target { return }
        if let old, try current(inverse, of: old) == object { put(.null, inverse, old) }
        if let target { try linkPartner(target, property, object) }
    }

    /// Links a target to its new partner in a one-to-one relationship, and sets the relationship of its former partner to null.
    mutating func linkPartner(_ target: ObjectReference, _ property: PropertyDescription, _ object: ObjectReference) throws {
        guard let inverse = property.inverse else { return }
        if let rival = try current(inverse, of: target), rival != object { put(.null, property, rival) }
        put(.objectID(reader.origins.objectID(object)), inverse, target)
    }

    mutating func put(_ value: PropertyValue, _ property: PropertyDescription, _ object: ObjectReference) {
        if isDeleted(object) { return }
        if values[object] == nil { order.append(object) }
        values[object, default: [:]][property.index] = value
    }

    func target(_ value: PropertyValue, _ property: PropertyDescription) throws -> ObjectReference? {
        if value.isNull { return nil }
        let table = reader.schema.table(property.entity.concreteDescendants[0])
        return try table.column(property).reference(value, schema: reader.schema, origin: reader.origins)
    }

    func current(_ property: PropertyDescription, of object: ObjectReference) throws -> ObjectReference? {
        if let value = values[object]?[property.index] {
            guard case .objectID(let id) = value else { return nil }
            return reader.origins.reference(id)
        }
        let table = reader.schema.table(at: object.entityIndex)
        let target = try transaction.table(table.tree).withRow(object.key) { (row) throws(EngineError) in
            table.column(property).reference(in: row, schema: reader.schema)
        }
        return target ?? nil
    }

    /// Writes the collected values, then removes them. The caller passes `written` and `keysToDerive` to `updateDerivedValues`.
    mutating func write(_ change: inout StoreChange) throws {
        let execution = SaveExecution(ChangeSet(), transaction: transaction, reader: reader)
        var updates: [UpdateValues] = []
        for object in order {
            guard let new = values[object] else { continue }
            let table = reader.schema.table(at: object.entityIndex)
            let version = try transaction.table(table.tree).withRow(object.key) { (row) throws(EngineError) in
                row.load(EntityTable.versionColumn, as: UInt32.self)
            }
            guard let version else { continue }
            for (index, value) in new.sorted(by: { $0.key < $1.key }) {
                do { try table.entity.properties[index].checkInBatch(value, validating: false) } catch var error as HornbeamError {
                    error.objectIDs = [reader.origins.objectID(object)]
                    throw error
                }
            }
            updates.append(try UpdateValues(table, key: object.key, version: version, new))
        }
        try execution.claimUniqueKeys(updates)
        if !reader.schema.derivations.isEmpty {
            keysToDerive += execution.keysToDerive
            written += updates.map(\.reference)
        }
        for update in updates { try execution.execute(update) }
        execution.finishChange()
        change.merge(execution.change)
        order = []
        values = [:]
    }
}

extension UpdateValues {
    /// - Parameter new: By property index.
    init(_ table: EntityTable, key: UInt64, version: UInt32, _ new: [Int: PropertyValue]) throws {
        let values = try table.converted(new.map { (table.entity.properties[$0], $1) })
        self.init(table: table, key: key, version: version, mask: PropertyMask(new.keys), values: values)
    }
}

extension StoreChange {
    /// Adds the changes that another part of the same commit made.
    mutating func merge(_ other: StoreChange) { merge([other]) }

    /// Adds the changes that other parts of the same commit made. Sorts at most once, whatever their number.
    mutating func merge(_ others: [StoreChange]) {
        for other in others {
            inserted += other.inserted
            if !other.deleted.isEmpty { deleted += other.deleted }
            preserved.merge(other.preserved) { first, _ in first }
        }
        let lists = ([self] + others).map(\.updated).filter { !$0.isEmpty }
        guard lists.count > 1 else {
            if updated.isEmpty, let only = lists.first { updated = only }
            return
        }
        let all = lists.flatMap(\.self)
        guard !zip(all, all.dropFirst()).allSatisfy({ $0.reference < $1.reference }) else {
            updated = all
            return
        }
        var masks: [ObjectReference: PropertyMask] = [:]
        masks.reserveCapacity(all.count)
        for object in all { masks[object.reference, default: PropertyMask()].formUnion(object.properties) }
        updated = masks.sorted { $0.key < $1.key }.map { Updated(reference: $0.key, properties: $0.value) }
    }
}
