internal import HornbeamEngine
package import HornbeamModel

/// The way from a text that is unique among an entity's objects to the object that has it, without a request and without a plan.
package final class UniqueLookUp: Sendable {
    /// Bytes of a longer text need not be in the index whole.
    package static let textMax = 900

    private let index: ValueIndex
    /// The position of the attribute's column in the table.
    private let column: Int
    private let memo: KeyMemo
    /// What the memory of values found may take, of what the pool may.
    private let memoBytes: Int

    /// Nil where a request must do: the attribute is no text, not unique by itself, or unique among several entities.
    package init?(_ snapshot: StoreSnapshot, _ entity: EntityDescription, _ property: PropertyDescription) {
        guard property.attributeType == .string, !entity.isAbstract, entity.subentities.isEmpty,
            let index = snapshot.schema.lookUpIndex(of: property), index.isUnique, let memo = index.memo,
            index.onlyEntity == Int32(entity.index)
        else { return nil }
        self.index = index
        self.memo = memo
        column = snapshot.schema.table(entity).column(property).column
        memoBytes = snapshot.engineSnapshot.poolBytes / 64
    }

    /// The key of the object that has the text, and where its row lies; nil when there is none.
    ///
    /// - Parameters:
    ///   - cells: Those of the entity in the same snapshot.
    ///   - snapshot: Asked for only where the object is not remembered: whoever holds one counts a reference that all threads share.
    package func key(
        of text: UnsafeRawBufferPointer, _ cells: CellReader, _ hint: inout RowHint, in snapshot: () throws -> StoreSnapshot
    ) throws -> UInt64? {
        let hash = KeyMemo.hash(text)
        do throws(EngineError) {
            let known = try memo.first(hash) { (key) throws(EngineError) in try cells.find(key, &hint, where: column, is: text) }
            if let known { return known }
        } catch { throw HornbeamError(error) }
        hint = RowHint()
        return try key(of: text, hash, cells, &hint, in: snapshot())
    }

    private func key(
        of text: UnsafeRawBufferPointer, _ hash: UInt64, _ cells: CellReader, _ hint: inout RowHint, in snapshot: StoreSnapshot
    ) throws -> UInt64? {
        try EngineError.translated { () throws(EngineError) in
            guard let key = try indexed(text, snapshot), try cells.locate(key, &hint) else { return nil }
            memo.note(hash, key, entries: try snapshot.engineSnapshot.index(index.tree).count, bytes: memoBytes)
            return key
        }
    }

    private func indexed(_ text: UnsafeRawBufferPointer, _ snapshot: StoreSnapshot) throws(EngineError) -> UInt64? {
        var key = IndexKey()
        key.append(utf8: text, index.elements[0])
        key.finishComponents()
        let view = try snapshot.engineSnapshot.index(index.tree)
        return try key.bytes.lent { (bytes) throws(EngineError) in try view.getObjectKey(bytes) }
    }
}
