internal import HornbeamModel

/// The changes of one save to the stores of a stack. All of them are written or none.
package struct StackChanges: Sendable {
    /// The changes of the store in the first slot, which is usually the only store.
    private(set) var first: ChangeSet
    private var others: [ChangeSet] = []

    /// An empty change set with the author and context of `origin`.
    package init(in stack: StoreStack, by origin: ChangeSet) {
        first = origin
        if stack.parts.count > 1 { others = Array(repeating: origin, count: stack.parts.count - 1) }
    }

    /// The change sets by slot. Their keys and references are local to each store.
    package var parts: [ChangeSet] { [first] + others }

    package subscript(slot: StoreSlot) -> ChangeSet {
        get { slot == .first ? first : others[slot.index - 1] }
        _modify {
            if slot == .first { yield &first } else { yield &others[slot.index - 1] }
        }
    }

    /// The slots of the stores that the save writes.
    var slots: [StoreSlot] { parts.indices.map(StoreSlot.init).filter { !self[$0].isEmpty } }
}

/// The result of a save over the stores of a stack.
package struct StackCommitResult: Sendable {
    /// The transaction number to publish: that of the first store written.
    package var transaction: UInt64
}
