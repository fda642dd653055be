internal import HornbeamModel

extension StoreStack {
    /// Writes changes into their stores atomically. They are durable on return.
    ///
    /// - Throws: The errors of `Store.save`; `readOnly` for objects of a read-only store.
    package func save(_ changes: StackChanges) throws -> StackCommitResult {
        if let onlyWritable { return StackCommitResult(transaction: try onlyWritable.save(changes.first).transaction) }
        let slots = changes.slots
        for slot in slots { try requireWritable(slot) }
        // Tries to complete interrupted two-phase commits before a save that they would block.
        if isInDoubt(slots) { try completeInterruptedSaves() }
        return try completingTwoPhaseCommits { try write(changes, slots) }
    }

    /// Runs a body that writes. If it throws `incompleteSave`, completes the two-phase commits of processes that died, and runs it again.
    package func completingTwoPhaseCommits<R>(_ body: () throws -> R) throws -> R {
        for _ in 1..<Self.attemptsToWriteMax {
            do { return try body() } catch let error as HornbeamError where error.code == .incompleteSave {
                // Another process may have completed the commit meanwhile.
                guard !sharedStores.isEmpty || isInDoubt(slots) else { throw error }
                try completeInterruptedSaves()
            }
        }
        return try body()
    }

    /// Each further attempt needs the death of one more process.
    private static let attemptsToWriteMax = 8

    private func write(_ changes: StackChanges, _ slots: [StoreSlot]) throws -> StackCommitResult {
        if slots.count > 1 {
            return try TwoPhaseCommit(slots.map { ($0, try store(in: $0), changes[$0]) }).run()
        }
        guard let slot = slots.first ?? self.slots.first else { throw missingStore }
        do {
            return StackCommitResult(transaction: try store(in: slot).save(changes[slot]).transaction)
        } catch let conflicts as SaveConflicts { throw conflicts.inSlot(slot) }
    }

    private func requireWritable(_ slot: StoreSlot) throws {
        guard let part = self[slot] else { throw missingStore }
        guard part.isReadOnly else { return }
        throw HornbeamError(
            .readOnly, "“\(part.store.location)” was added for reading only. Add it for writing to change its objects.")
    }

    private func isInDoubt(_ slots: [StoreSlot]) -> Bool { slots.contains { self[$0]?.store.joint.prepared != nil } }
}
