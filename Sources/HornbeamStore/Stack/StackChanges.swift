internal import HornbeamModel

/// What a save asks of the stores of a stack: all of it is written, or nothing.
package struct StackChanges: Sendable {
    /// For the store in the first slot, which is the only one as a rule.
    private(set) var first: ChangeSet
    private var others: [ChangeSet] = []

    /// No changes yet, by somebody.
    package init(in stack: StoreStack, by origin: ChangeSet) {
        first = origin
        if stack.parts.count > 1 { others = Array(repeating: origin, count: stack.parts.count - 1) }
    }

    /// By slot; keys and references in them are the stores' own.
    package var parts: [ChangeSet] { [first] + others }

    package subscript(slot: StoreSlot) -> ChangeSet {
        get { slot == .first ? first : others[slot.index - 1] }
        _modify {
            if slot == .first { yield &first } else { yield &others[slot.index - 1] }
        }
    }

    /// The slots that are written.
    var slots: [StoreSlot] { parts.indices.map(StoreSlot.init).filter { !self[$0].isEmpty } }
}

/// The answer to a save over the stores of a stack.
package struct StackReceipt: Sendable {
    /// The number to announce: that of the first store written.
    package var transaction: UInt64
}
