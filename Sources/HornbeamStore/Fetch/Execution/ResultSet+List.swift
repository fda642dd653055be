internal import HornbeamEngine

/// Short lists of rows, which most fetches return: their objects are found without iterating over leaves.
extension ResultSet {
    /// A list of rows of one entity and store.
    package struct List: Sendable {
        package let entityIndex: Int32
        package let slot: StoreSlot
        package let keys: ArraySlice<UInt64>
        /// The hints, at the positions of the keys; nil if no row was located.
        package let hints: ArraySlice<RowHint>?
    }

    /// The most rows of a short list. The rows of a longer one are located when their values are read.
    private static let shortMax = 512

    private var isShortList: Bool { leaves.isEmpty && !keys.isEmpty && count <= Self.shortMax }

    /// True for a short list of one entity.
    var isPlainList: Bool { isShortList && listedEntities.isEmpty }

    /// The rows as a short list; nil for longer results, and for rows of several entities or stores.
    package var shortList: List? {
        guard isPlainList, count > 0 else { return nil }
        let range = skipped..<skipped + count
        let slot = StoreSlot(ofKey: keys[skipped])
        guard keys[range].allSatisfy({ StoreSlot(ofKey: $0) == slot }) else { return nil }
        return List(entityIndex: listedEntity, slot: slot, keys: keys[range], hints: hints.isEmpty ? nil : hints[range])
    }

    /// Locates the rows of a short list, so that its objects need no lookup of their own.
    mutating func locate(in snapshot: StoreSnapshot) throws {
        guard isShortList, hints.isEmpty else { return }
        hints = try EngineError.translated { () throws(EngineError) in
            var hints: [RowHint] = []
            hints.reserveCapacity(keys.count)
            for position in keys.indices {
                let reference = reference(position)
                var location = RowLocation()
                _ = try snapshot.cells(snapshot.schema.table(at: reference.entityIndex)).find(reference.key, at: &location)
                hints.append(RowHint(location))
            }
            return hints
        }
    }
}
