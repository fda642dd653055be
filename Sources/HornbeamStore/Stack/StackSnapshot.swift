internal import HornbeamModel

/// One committed state of each store of a stack. Any thread may read it; it never changes.
package final class StackSnapshot: Sendable {
    /// By slot; nil where a store was removed.
    package let parts: [StoreSnapshot?]
    /// The sum of the parts' transactions: another state of the same stack has another sum.
    package let transaction: UInt64
    package let stack: StoreStack
    /// True when there was never more than one store, so that its keys are those of the stack.
    package let isSingle: Bool
    let only: StoreSnapshot?

    init(_ parts: [StoreSnapshot?], stack: StoreStack) {
        self.parts = parts
        self.stack = stack
        only = parts.count == 1 ? parts[0] : nil
        isSingle = only != nil
        transaction = parts.reduce(0) { $0 + ($1?.transaction ?? 0) }
    }

    /// True when no age limit ends it.
    package var isRetained: Bool { parts.allSatisfy { $0?.isRetained ?? true } }

    /// The state of the store in a slot; nil when it was removed.
    @inline(__always)
    package subscript(slot: StoreSlot) -> StoreSnapshot? {
        if let only, slot.index == 0 { return only }
        return slot.index < parts.count ? parts[slot.index] : nil
    }

    /// The state of the store in a slot.
    ///
    /// - Throws: `closed` when it was removed.
    package func part(_ slot: StoreSlot) throws -> StoreSnapshot {
        guard let part = self[slot] else { throw stack.missingStore }
        return part
    }

    /// The same state, of one store the newest.
    package func renewing(_ slot: StoreSlot) throws -> StackSnapshot {
        var parts = parts
        parts[slot.index] = try stack.store(in: slot).snapshot()
        return StackSnapshot(parts, stack: stack)
    }

    /// The same state, with stores that were added since in their newest and without those that were removed.
    package func follow(_ stack: StoreStack) throws -> StackSnapshot {
        let parts = try stack.parts.enumerated().map { index, part in
            try part.flatMap { try self[StoreSlot(index)] ?? $0.store.snapshot() }
        }
        if stack.isEmpty { throw stack.missingStore }
        return StackSnapshot(parts, stack: stack)
    }
}
