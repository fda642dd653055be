package import HornbeamModel

// The only store of a stack, if it answers queries itself. Its slot is not the first one if a store before it was removed.

extension StoreStack {
    /// The store that answers a request itself.
    package func queryingStore(for request: FetchDescription) -> Store? {
        guard let queryingStore, request.affectedStores.map({ $0.contains(queryingStore.identifier) }) ?? true else { return nil }
        return queryingStore
    }

    /// Local keys of the querying store, for keys of the stack.
    package func queryingKeys(_ keys: Set<UInt64>) -> Set<UInt64> {
        guard only == nil, let slot = slotOfLoneStore else { return keys }
        return Set(keys.lazy.filter { StoreSlot(ofKey: $0) == slot }.map(StoreSlot.local))
    }

    /// Keys of the stack, for local keys of the querying store.
    package func keys(ofQuerying keys: Set<UInt64>) -> Set<UInt64> {
        guard let slot = slotOfLoneStore, slot != .first else { return keys }
        return Set(keys.lazy.map { $0 | slot.bits })
    }
}

extension StackSnapshot {
    /// The objects that the querying store has found, as far as they exist in this snapshot.
    package func answer(_ references: [ObjectReference]) throws -> FetchAnswer {
        guard let slot = stack.slotOfLoneStore else { throw stack.missingStore }
        var answer = try part(slot).answer(references)
        if slot != .first { answer.rows.move(to: slot) }
        return answer
    }
}
