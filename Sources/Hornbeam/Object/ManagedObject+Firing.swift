internal import HornbeamModel
internal import HornbeamStore

extension ManagedObject {
    /// Fires a fault, and throws the error of a read failure (MOC-12, MOC-15).
    ///
    /// Finds the row. Values outside the row, such as long texts and to-many relationships, are read later; use `value(of:)` and similar
    /// methods to get their errors.
    /// - Throws: `objectNotFound` (133000) if the store has no such object; the store's error if it cannot be read.
    public final func fire() throws {
        if let failure = scope.context.failure(of: self) { throw failure }
        if isDetached { throw withoutContext() }
        guard isReadable, isFault else {
            if state.contains(.gone) { throw missingRow() }
            return
        }
        if fillFromParent() {
            if state.contains(.gone) { throw missingRow() }
            return
        }
        guard try hasRow() else {
            markRowMissing()
            throw missingRow()
        }
        becomeRealised()
    }

    /// Fires a fault. After a failure, the object has zero values, and the context reports the error.
    final func fireIfNeeded() {
        guard state.contains(.fault), !state.contains(.detached) else { return }
        // The row of most faults was located when they were made.
        if !scope.isNested, let cells = scope.cells, cells.knows(hint) { return becomeRealised() }
        guard !fillFromParent() else { return }
        do {
            if try hasRow() { becomeRealised() } else { markRowMissing() }
        } catch {
            markFailed(error)
        }
    }

    /// True if the row exists. Reads the store unless the hint was found in the context's snapshot.
    private func hasRow() throws -> Bool {
        if let cells = scope.cells, cells.knows(hint) { return true }
        unsafe scope.livingContext?.recordLookup(of: self)
        if try findRow() { return true }
        guard scope.isIncremental, try scope.context.loadRow(of: self) else { return false }
        return try findRow()
    }

    private func findRow() throws -> Bool {
        var place = hint
        let isThere = try scope.readingCells().find(key, &place)
        hint = place
        return isThere
    }

    final func becomeRealised() {
        state.remove(.fault)
        scope.faultsFired &+= 1
        let wasSilent = state.contains(.silent)
        state.insert(.silent)
        awakeFromFetch()
        if !wasSilent { state.remove(.silent) }
    }

    /// Marks the object as one without a row: it is a deleted object with zero values (MOC-24).
    final func markRowMissing() {
        state.remove(.fault)
        state.insert(.gone)
    }

    /// Marks the object as unreadable. The context reports the error at its next fetch, count or save.
    final func markFailed(_ error: any Error) {
        state.remove(.fault)
        state.insert(.failed)
        scope.context.recordFailure(error, of: self)
    }

    final func missingRow() -> HornbeamError {
        HornbeamError(
            .objectNotFound,
            "The \(scope.entity.name) with the ID \(objectID) is not in the store. It was deleted, or the ID "
                + "is from another copy of the store.",
            entity: scope.entity.name, objectIDs: [objectID])
    }

    /// Discards the values, so that the next access reads the row again (MOC-19).
    final func turnIntoFault(keepingTransients: Bool = false) {
        guard state.isDisjoint(with: [.fault, .inserted, .detached]) else { return }
        willTurnIntoFault()
        let base = state.contains(.watched) ? record?.version ?? 0 : 0
        record = keepingTransients ? transientRecord : nil
        if base != 0 { watch(from: base) }
        hint = RowHint()
        state.remove([.failed, .updated, .gone])
        state.insert(.fault)
        didTurnIntoFault()
        scope.hub?.notifyOfChange(self)
    }

    /// Makes the next save compare the row with an older version than the one read now.
    private func watch(from version: UInt32) {
        let record = record ?? ObjectRecord(propertyCount: scope.properties.count)
        record.version = version
        self.record = record
    }

    /// Makes the next save compare the row with the version of the current snapshot.
    final func watchCurrentVersion() {
        record?.version = 0
        _ = writableRecord()
    }

    /// A record with only the transient values; nil if there are none.
    final var transientRecord: ObjectRecord? {
        guard let record else { return nil }
        guard !record.held.isDisjoint(with: scope.shape.transient) else { return nil }
        let kept = ObjectRecord(propertyCount: record.values.count)
        for index in record.held where scope.shape.transient.contains(index) { kept.hold(record.values[index], at: index) }
        return kept
    }

    /// Copies the row into the record, so that it can be read after the row is deleted.
    final func freezeRow(from snapshot: StackSnapshot) {
        guard record?.frozenRow == nil, isReadable,
            let row = scope.context.recordingFailure(self, { try snapshot[scope.slot]?.values(scope.entity, key) })
        else { return }
        let record = self.record ?? ObjectRecord(propertyCount: scope.properties.count)
        record.frozenRow = row
        self.record = record
        state.remove(.fault)
    }
}
