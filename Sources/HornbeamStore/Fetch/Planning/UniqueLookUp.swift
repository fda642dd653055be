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

    /// The key of an object that had a text of this hash when it was last looked up; whoever asks makes sure that it still has it.
    package func remembered(_ hash: UInt64) -> UInt64? { memo.first(hash) }

    /// True if an object that was found has the text.
    package func isHolder(
        _ key: UInt64, of text: UnsafeRawBufferPointer, _ cells: CellReader, _ hint: inout RowHint
    ) throws -> Bool {
        do { return try cells.isText(key, &hint, column, text) } catch { throw HornbeamError(error) }
    }

    /// The key of the object that has the text by the index, and where its row lies; nil when there is none.
    ///
    /// - Parameter cells: Those of the entity in the same snapshot.
    package func key(
        of text: UnsafeRawBufferPointer, _ hash: UInt64, in snapshot: StoreSnapshot, _ cells: CellReader, _ hint: inout RowHint
    ) throws -> UInt64? {
        try EngineError.translated { () throws(EngineError) in
            guard let key = try indexed(text, snapshot), try cells.locate(key, &hint) else { return nil }
            memo.note(hash, key, entries: try snapshot.engineSnapshot.index(index.tree).count, bytes: memoBytes)
            return key
        }
    }

    /// What a text is remembered by.
    package static func hash(_ text: UnsafeRawBufferPointer) -> UInt64 { KeyMemo.hash(text) }

    private func indexed(_ text: UnsafeRawBufferPointer, _ snapshot: StoreSnapshot) throws(EngineError) -> UInt64? {
        var key = IndexKey()
        key.append(utf8: text, index.elements[0])
        key.finishComponents()
        let view = try snapshot.engineSnapshot.index(index.tree)
        return try key.bytes.lent { (bytes) throws(EngineError) in try view.getObjectKey(bytes) }
    }
}
