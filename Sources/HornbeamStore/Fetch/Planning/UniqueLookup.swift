internal import HornbeamEngine
package import HornbeamModel

/// A lookup of an object by a unique text of its entity, without a request and without the planner.
package final class UniqueLookup: Sendable {
    /// The longest text that is looked up this way. The index may truncate a longer one.
    package static let textMax = 900

    private let index: ValueIndex
    /// The position of the attribute's column in the table.
    private let column: Int
    private let lookupCache: UniqueLookupCache
    /// The memory limit of the cache, derived from the size of the pool.
    private let cacheBytesMax: Int

    /// Nil when a request is needed: the attribute is not text, not unique by itself, or unique among several entities.
    package init?(_ snapshot: StoreSnapshot, _ entity: EntityDescription, _ property: PropertyDescription) {
        guard property.attributeType == .string, !entity.isAbstract, entity.subentities.isEmpty,
            let index = snapshot.schema.lookupIndex(of: property), index.isUnique, let lookupCache = index.lookupCache,
            index.onlyEntity == Int32(entity.index)
        else { return nil }
        self.index = index
        self.lookupCache = lookupCache
        column = snapshot.schema.table(entity).column(property).column
        cacheBytesMax = snapshot.engineSnapshot.poolBytes / 64
    }

    /// The key of an object that had a text of this hash at its last lookup. The caller verifies that it still has the text.
    package func cachedKey(_ hash: UInt64) -> UInt64? { lookupCache.first(hash) }

    /// True if the object has the text.
    package func isHolder(
        _ key: UInt64, of text: UnsafeRawBufferPointer, _ cells: CellReader, _ hint: inout RowHint
    ) throws -> Bool {
        do { return unsafe try cells.isText(key, &hint, column, text) } catch { throw HornbeamError(error) }
    }

    /// Finds the object with a text in the index. Returns its key and sets the location of its row; nil when there is none.
    ///
    /// - Parameter cells: The cell reader of the entity in the same snapshot.
    package func key(
        of text: UnsafeRawBufferPointer, _ hash: UInt64, in snapshot: StoreSnapshot, _ cells: CellReader, _ hint: inout RowHint
    ) throws -> UInt64? {
        try EngineError.translated { () throws(EngineError) in
            guard let key = unsafe try indexed(text, snapshot), try cells.locate(key, &hint) else { return nil }
            lookupCache.note(hash, key, entries: try snapshot.engineSnapshot.index(index.tree).count, bytes: cacheBytesMax)
            return key
        }
    }

    /// The hash of a text in the cache.
    package static func hash(_ text: UnsafeRawBufferPointer) -> UInt64 { unsafe UniqueLookupCache.hash(text) }

    private func indexed(_ text: UnsafeRawBufferPointer, _ snapshot: StoreSnapshot) throws(EngineError) -> UInt64? {
        var key = IndexKey()
        unsafe key.append(utf8: text, index.elements[0])
        key.finishComponents()
        let view = try snapshot.engineSnapshot.index(index.tree)
        return unsafe try key.bytes.withRawBytes { (bytes) throws(EngineError) in unsafe try view.getObjectKey(bytes) }
    }
}
