internal import HornbeamModel

extension StoreStack {
    /// Writes changes into the stores that they are for: all or nothing, durable when it returns.
    ///
    /// - Throws: As `Store.save`; `readOnly` for objects of a store that is only read.
    package func save(_ changes: StackChanges) throws -> StackReceipt {
        if let onlyWritable { return StackReceipt(transaction: try onlyWritable.save(changes.first).transaction) }
        let slots = changes.slots
        for slot in slots { try requireWritable(slot) }
        try settleDoubts(slots)
        if slots.count > 1 {
            return try JointSave(slots.map { ($0, try store(in: $0), changes[$0]) }).run()
        }
        guard let slot = slots.first ?? self.slots.first else { throw missingStore }
        do {
            return StackReceipt(transaction: try store(in: slot).save(changes[slot]).transaction)
        } catch let conflicts as SaveConflicts { throw conflicts.inSlot(slot) }
    }

    private func requireWritable(_ slot: StoreSlot) throws {
        guard let part = self[slot] else { throw missingStore }
        guard part.isReadOnly else { return }
        throw HornbeamError(
            .readOnly, "“\(part.store.location)” was added for reading only. Add it for writing to change its objects.")
    }

    /// Tries once more to end what was cut short, before a save that would be refused for it.
    private func settleDoubts(_ slots: [StoreSlot]) throws {
        guard slots.contains(where: { self[$0]?.store.joint.prepared != nil }) else { return }
        try settle()
    }
}
