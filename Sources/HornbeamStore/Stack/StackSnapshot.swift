internal import HornbeamModel

/// One committed version of each store of a stack. It never changes and can be read on any thread.
package final class StackSnapshot: Sendable {
    /// Indexed by slot; nil for a removed store.
    package let parts: [StoreSnapshot?]
    /// The sum of the parts' transactions. Different snapshots of one stack have different sums.
    package let transaction: UInt64
    package let stack: StoreStack
    /// True when there was never more than one store, so that its local keys are also keys of the stack.
    package let isSingle: Bool
    let only: StoreSnapshot?

    init(_ parts: [StoreSnapshot?], stack: StoreStack) {
        self.parts = parts
        self.stack = stack
        only = parts.count == 1 ? parts[0] : nil
        isSingle = only != nil
        transaction = parts.reduce(0) { $0 + ($1?.transaction ?? 0) }
    }

    /// True when the snapshot is pinned, so that it has no age limit.
    package var isPinned: Bool { parts.allSatisfy { $0?.isPinned ?? true } }

    /// The snapshot of the store in a slot; nil when the store was removed.
    @inline(__always)
    package subscript(slot: StoreSlot) -> StoreSnapshot? {
        if let only, slot.index == 0 { return only }
        return slot.index < parts.count ? parts[slot.index] : nil
    }

    /// The snapshot of the store in a slot.
    ///
    /// - Throws: `closed` when the store was removed.
    package func part(_ slot: StoreSlot) throws -> StoreSnapshot {
        guard let part = self[slot] else { throw stack.missingStore }
        return part
    }

    /// This snapshot, with the newest version of one store.
    package func refreshing(_ slot: StoreSlot) throws -> StackSnapshot {
        var parts = parts
        parts[slot.index] = try stack.store(in: slot).snapshot()
        return StackSnapshot(parts, stack: stack)
    }

    /// This snapshot for a changed stack: with the newest version of added stores, and without removed stores.
    package func follow(_ stack: StoreStack) throws -> StackSnapshot {
        let parts = try stack.parts.enumerated().map { index, part in
            try part.flatMap { try self[StoreSlot(index)] ?? $0.store.snapshot() }
        }
        if stack.isEmpty { throw stack.missingStore }
        return StackSnapshot(parts, stack: stack)
    }
}
