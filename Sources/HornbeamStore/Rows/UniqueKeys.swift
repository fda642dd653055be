internal import HornbeamEngine
internal import HornbeamModel

/// Entries of unique constraints.
enum UniqueKeys {
    /// Adds the entry of a key. If another object already has the key, returns that object and changes nothing.
    static func claim(
        _ index: ValueIndex, _ key: inout IndexKey, for object: ObjectReference, in transaction: WriteTransaction,
        schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        if key.isTruncated {
            return try claimTruncated(index, &key, value(index, object, schema: schema), for: object, in: transaction, schema: schema)
        }
        return unsafe try key.bytes.withRawBytes { (key) throws(EngineError) in
            unsafe try claim(index, whole: key, for: object, in: transaction, schema: schema)
        }
    }

    /// Adds the entry of a key that is not truncated, given as bytes. If another object already has the key, returns that object.
    static func claim(
        _ index: ValueIndex, whole key: UnsafeRawBufferPointer, for object: ObjectReference, in transaction: WriteTransaction,
        schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        let isNew = unsafe try withValue(index, object, schema: schema) { (value) throws(EngineError) in
            unsafe try transaction.putNew(key, value, in: index.tree)
        }
        if isNew { return nil }
        return unsafe try transaction.index(index.tree).get([UInt8](key)).map { (value) throws(EngineError) in
            try holder(value, index, schema: schema)
        }
    }

    /// The object that has a key; nil when there is none.
    static func holder(
        of key: IndexKey, _ index: ValueIndex, in transaction: WriteTransaction, schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        guard key.isTruncated else {
            return try transaction.index(index.tree).get(key.bytes).map { (value) throws(EngineError) in
                try holder(value, index, schema: schema)
            }
        }
        var found: [UInt8]?
        unsafe try transaction.index(index.tree).forEach(in: KeyRange(prefix: key.bytes)) { (_, value) throws(EngineError) -> Bool in
            found = unsafe [UInt8](value)
            return false
        }
        guard let found else { return nil }
        return try holder(found, index, schema: schema)
    }

    /// The object key, little-endian, and the entity number if there can be several entities.
    static func value(_ index: ValueIndex, _ object: ObjectReference, schema: Schema) -> [UInt8] {
        var value = unsafe withUnsafeBytes(of: object.key.littleEndian) { unsafe [UInt8]($0) }
        if index.isPolymorphic { value += EntityNumber.bytes(schema.table(at: object.entityIndex).number) }
        return value
    }

    /// Passes the bytes of `value` to `body`.
    static func withValue<R>(
        _ index: ValueIndex, _ object: ObjectReference, schema: Schema, _ body: (UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        if index.isPolymorphic { return unsafe try value(index, object, schema: schema).withRawBytes(body) }
        var key = object.key.littleEndian
        return unsafe try withUnsafeBytes(of: &key) { (bytes) throws(EngineError) in unsafe try body(bytes) }
    }

    /// Decodes the object from the value of an entry.
    static func holder(
        _ value: [UInt8], _ index: ValueIndex, schema: Schema
    ) throws(EngineError) -> ObjectReference {
        let needed = index.isPolymorphic ? 12 : 8
        guard value.count >= needed else { throw damaged(index) }
        let (key, number) = unsafe value.withUnsafeBytes { bytes in
            unsafe (
                UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
                index.isPolymorphic ? EntityNumber.read(bytes, at: 8) : 0
            )
        }
        guard index.isPolymorphic else { return ObjectReference(entityIndex: index.onlyEntity, key: key) }
        guard let entity = schema.entityIndex(number: number, within: Int32(index.entity.index)) else { throw damaged(index) }
        return ObjectReference(entityIndex: entity, key: key)
    }

    static func damaged(_ index: ValueIndex) -> EngineError {
        EngineError(.damaged, "An entry of the index \(index.title) cannot be read. Run check, and restore from a backup.")
    }

    /// Adds the entry of a truncated key, with the object key appended. The prefix and the hash must be unique.
    private static func claimTruncated(
        _ index: ValueIndex, _ key: inout IndexKey, _ value: [UInt8], for object: ObjectReference,
        in transaction: WriteTransaction, schema: Schema
    ) throws(EngineError) -> ObjectReference? {
        var candidates: [[UInt8]] = []
        unsafe try transaction.index(index.tree).forEach(in: KeyRange(prefix: key.bytes)) {
            (_, value) throws(EngineError) -> Bool in
            unsafe candidates.append([UInt8](value))
            return true
        }
        if let first = candidates.first {
            // Equal hashes of 128 bits are treated as equal values, because only a deliberate collision has different values.
            return try holder(first, index, schema: schema)
        }
        key.append(objectKey: object.key)
        try transaction.put(key.bytes, value, in: index.tree)
        return nil
    }
}
