package import Foundation

/// Access to versions before the newest one, of all stores together.
extension StoreStack {
    /// A pinned snapshot of the newest versions. They stay readable while the snapshot exists.
    package func retain() throws -> StackSnapshot {
        try newestTogether { try $0.retain() }
    }

    /// A pinned snapshot of the version after the given commit of each named store, and of the newest version of the other stores.
    ///
    /// - Throws: `snapshotExpired` when a store no longer retains that version, `closed` when there is no store.
    package func snapshot(at transactions: [UUID: UInt64]) throws -> StackSnapshot {
        try together { store in
            try transactions[store.identifier].map { try store.snapshot(at: $0) } ?? store.retain()
        }
    }
}

extension StackSnapshot {
    /// The commit that produced each store's version, by the store's identity.
    package var transactions: [UUID: UInt64] {
        var transactions: [UUID: UInt64] = [:]
        for (part, state) in zip(stack.parts, parts) {
            if let part, let state { transactions[part.store.identifier] = state.transaction }
        }
        return transactions
    }

    /// This snapshot for another stack, with the newest version of stores that only the other has; nil when they have no store in common.
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
