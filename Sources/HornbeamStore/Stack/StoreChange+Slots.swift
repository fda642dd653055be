extension StoreChange {
    /// The change with references in the stack.
    package func inSlot(_ slot: StoreSlot) -> StoreChange {
        guard slot != .first else { return self }
        var change = self
        change.inserted = inserted.map { $0.inSlot(slot) }
        if onlyInserts { return change }
        for index in listedUpdates.indices { change.listedUpdates[index].reference = listedUpdates[index].reference.inSlot(slot) }
        change.listedDeletions = listedDeletions.map { $0.inSlot(slot) }
        for index in updatedRows.indices { change.updatedRows[index].slot = slot }
        for index in deletedRows.indices { change.deletedRows[index].slot = slot }
        return change
    }
}

extension SaveConflicts {
    /// The conflicts with references in the stack.
    func inSlot(_ slot: StoreSlot) -> SaveConflicts {
        guard slot != .first else { return self }
        var conflicts = self
        for index in versions.indices { conflicts.versions[index].reference = versions[index].reference.inSlot(slot) }
        for index in uniques.indices {
            conflicts.uniques[index].objects = uniques[index].objects.map { $0.inSlot(slot) }
            conflicts.uniques[index].existing = uniques[index].existing?.inSlot(slot)
        }
        return conflicts
    }

    /// Adds the conflicts of another store.
    mutating func add(_ other: SaveConflicts) {
        versions += other.versions
        uniques += other.uniques
    }
}
