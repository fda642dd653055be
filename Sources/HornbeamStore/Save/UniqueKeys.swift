internal import HornbeamEngine
internal import HornbeamModel

/// Entries of unique constraints.
enum UniqueKeys {
    /// Adds the entry of a key. If another object already has the key, changes nothing and returns that object.
    static func take(
        _ index: ValueIndex, _ key: inout IndexKey, for object: ObjectReference, in transaction: WriteTransaction,
        schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        if key.isCut {
            return try takeCut(index, &key, value(index, object, schema: schema), for: object, in: transaction, schema: schema)
        }
        return try key.bytes.lent { (key) throws(EngineError) in
            try take(index, whole: key, for: object, in: transaction, schema: schema)
        }
    }

    /// As above, for the bytes of a key that is not truncated.
    static func take(
        _ index: ValueIndex, whole key: UnsafeRawBufferPointer, for object: ObjectReference, in transaction: WriteTransaction,
        schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        let isNew = try withValue(index, object, schema: schema) { (value) throws(EngineError) in
            try transaction.putNew(key, value, in: index.tree)
        }
        if isNew { return nil }
        return try transaction.index(index.tree).get([UInt8](key)).map { (value) throws(EngineError) in
            try holder(value, index, schema: schema)
        }
    }

    /// The object that has a key; nil when there is none.
    static func holder(
        of key: IndexKey, _ index: ValueIndex, in transaction: WriteTransaction, schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        guard key.isCut else {
            return try transaction.index(index.tree).get(key.bytes).map { (value) throws(EngineError) in
                try holder(value, index, schema: schema)
            }
        }
        var found: [UInt8]?
        try transaction.index(index.tree).forEach(in: KeyRange(prefix: key.bytes)) { (_, value) throws(EngineError) -> Bool in
            found = [UInt8](value)
            return false
        }
        guard let found else { return nil }
        return try holder(found, index, schema: schema)
    }

    /// The object key, little-endian, and the entity number if there can be several entities.
    static func value(_ index: ValueIndex, _ object: ObjectReference, schema: Schema) -> [UInt8] {
        var value = withUnsafeBytes(of: object.key.littleEndian) { [UInt8]($0) }
        if index.isPolymorphic { value += EntityNumber.bytes(schema.table(at: object.entityIndex).number) }
        return value
    }

    /// Passes the same bytes to `body`.
    private static func withValue<R>(
        _ index: ValueIndex, _ object: ObjectReference, schema: Schema, _ body: (UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        if index.isPolymorphic { return try value(index, object, schema: schema).lent(body) }
        var key = object.key.littleEndian
        return try withUnsafeBytes(of: &key) { (bytes) throws(EngineError) in try body(bytes) }
    }

    /// The object of an entry.
    static func holder(
        _ value: [UInt8], _ index: ValueIndex, schema: Schema
    ) throws(EngineError) -> ObjectReference {
        let needed = index.isPolymorphic ? 12 : 8
        guard value.count >= needed else { throw damaged(index) }
        let (key, number) = value.withUnsafeBytes { bytes in
            (
                UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
                index.isPolymorphic ? EntityNumber.read(bytes, at: 8) : 0
            )
        }
        guard index.isPolymorphic else { return ObjectReference(entityIndex: index.onlyEntity, key: key) }
        guard let entity = schema.entityIndex(number: number) else { throw damaged(index) }
        return ObjectReference(entityIndex: entity, key: key)
    }

    static func damaged(_ index: ValueIndex) -> EngineError {
        EngineError(.damaged, "An entry of the index \(index.title) cannot be read. Run check, and restore from a backup.")
    }

    /// A truncated key has the object key after the hash, so that equal hashes are not a conflict before the rows are compared.
    private static func takeCut(
        _ index: ValueIndex, _ key: inout IndexKey, _ value: [UInt8], for object: ObjectReference,
        in transaction: WriteTransaction, schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        var candidates: [[UInt8]] = []
        try transaction.index(index.tree).forEach(in: KeyRange(prefix: key.bytes)) {
            (_, value) throws(EngineError) -> Bool in
            candidates.append([UInt8](value))
            return true
        }
        if let first = candidates.first {
            // Equal 128-bit hashes mean equal values, except for a deliberate collision, which is refused as a duplicate.
            return try holder(first, index, schema: schema)
        }
        key.append(objectKey: object.key)
        try transaction.put(key.bytes, value, in: index.tree)
        return nil
    }
}

/// The conflicts between unique keys of a save and those of other objects.
struct UniqueClaims {
    private struct Claim: Hashable {
        let index: Int
        let key: [UInt8]
    }

    private var order: [Claim] = []
    private var collisions: [Claim: (index: ValueIndex, objects: [ObjectReference], holder: ObjectReference)] = [:]

    mutating func collide(
        _ index: ValueIndex, _ key: [UInt8], _ object: ObjectReference, with holder: ObjectReference
    ) {
        let claim = Claim(index: index.number, key: key)
        if collisions[claim] == nil {
            order.append(claim)
            collisions[claim] = (index, [], holder)
        }
        collisions[claim]?.objects.append(object)
    }

    /// Sorts the conflicts by the order of the objects; those of other objects come first.
    mutating func restoreOrder(of objects: [ObjectReference]) {
        guard order.count > 1 else { return }
        let positions = Dictionary(objects.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        func position(_ claim: Claim) -> Int { collisions[claim].flatMap { positions[$0.objects[0]] } ?? -1 }
        order = order.enumerated().sorted { a, b in
            let (x, y) = (position(a.element), position(b.element))
            return x == y ? a.offset < b.offset : x < y
        }.map(\.element)
    }

    /// All conflicts, in the order in which they were found. An object that this save changes or inserts counts as one of its own objects, even
    /// if it already has the key.
    func conflicts(
        of save: SaveExecution, _ updates: [UpdateValues], _ inserts: [InsertValues] = []
    ) throws -> SaveConflicts {
        var conflicts = SaveConflicts()
        guard !order.isEmpty else { return conflicts }
        let inserted = Set(inserts.map(\.reference))
        for claim in order {
            guard let collision = collisions[claim] else { continue }
            let isOwn = inserted.contains(collision.holder)
                || updates.contains { $0.reference == collision.holder && $0.changes(collision.index) }
            let objects = (isOwn ? [collision.holder] : []) + collision.objects
            let stored = isOwn ? nil : try save.stored(collision.holder)
            conflicts.uniques.append(
                UniqueConflict(
                    entity: collision.index.entity, properties: collision.index.elements.map(\.property),
                    values: try save.values(collision.objects[0], collision.index), objects: objects,
                    objectIDs: objects.map(save.reader.origins.objectID), existing: isOwn ? nil : collision.holder,
                    existingID: isOwn ? nil : save.reader.origins.objectID(collision.holder),
                    existingVersion: stored?.version ?? 0, existingValues: stored?.values))
        }
        return conflicts
    }
}

extension SaveExecution {
    /// The values that an object of this save wants in an index.
    func values(_ object: ObjectReference, _ index: ValueIndex) throws -> [PropertyValue] {
        let given = changes.inserts.first { $0.key == object.key }?.values
            ?? changes.updates.first { $0.key == object.key }?.values ?? []
        let stored = try stored(object)?.values
        return index.elements.map { element in
            (given.last { $0.0 == element.property }?.1 ?? stored?[element.property.index] ?? .null).part(element.partSteps)
        }
    }
}
