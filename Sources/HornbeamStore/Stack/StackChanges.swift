internal import HornbeamModel

/// What a save asks of the stores of a stack: all of it is written, or nothing.
package struct StackChanges: Sendable {
    /// By slot; keys and references in them are the stores' own.
    package var parts: [ChangeSet]

    /// No changes yet, by somebody.
    package init(in stack: StoreStack, by origin: ChangeSet) {
        parts = Array(repeating: origin, count: max(stack.parts.count, 1))
    }

    package subscript(slot: StoreSlot) -> ChangeSet {
        get { parts[slot.index] }
        _modify { yield &parts[slot.index] }
    }

    /// The slots that are written.
    var slots: [StoreSlot] { parts.indices.filter { !parts[$0].isEmpty }.map(StoreSlot.init) }
}

/// The answer to a save over the stores of a stack.
package struct StackReceipt: Sendable {
    /// The number to announce: that of the first store written.
    package var transaction: UInt64
}
