package import Foundation

/// Access to states before the newest one, of all stores together.
extension StoreStack {
    /// The newest state. It stays readable while the snapshot is held, without an age limit.
    package func retain() throws -> StackSnapshot {
        try together { try $0.retain() }
    }

    /// The state after the given commit of each named store, and the newest state of the others.
    ///
    /// - Throws: `snapshotExpired` when a store no longer keeps that state, `closed` when there is no store.
    package func snapshot(at transactions: [UUID: UInt64]) throws -> StackSnapshot {
        try together { store in
            try transactions[store.identifier].map { try store.snapshot(at: $0) } ?? store.retain()
        }
    }
}

extension StackSnapshot {
    /// The commit that produced each store's state, by the store's identity.
    package var transactions: [UUID: UInt64] {
        var transactions: [UUID: UInt64] = [:]
        for (part, state) in zip(stack.parts, parts) {
            if let part, let state { transactions[part.store.identifier] = state.transaction }
        }
        return transactions
    }

    /// The same state for another stack, with the newest state of stores that only that one has; nil when no open store is in both.
    package func seen(by other: StoreStack) throws -> StackSnapshot? {
        if other === stack { return self }
        var states: [ObjectIdentifier: StoreSnapshot] = [:]
        for (part, state) in zip(stack.parts, parts) {
            if let part, let state { states[ObjectIdentifier(part.store)] = state }
        }
        guard other.stores.contains(where: { states[ObjectIdentifier($0)] != nil }) else { return nil }
        let parts = try other.parts.map { part in
            try part.map { try states[ObjectIdentifier($0.store)] ?? $0.store.retain() }
        }
        return StackSnapshot(parts, stack: other)
    }
}
