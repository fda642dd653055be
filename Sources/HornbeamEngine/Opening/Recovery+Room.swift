// Space for recovery on a full disk: its checkpoint uses the space of the reserve, and then that of files that are not needed.

extension Recovery {
    /// Writes the recovered version as a checkpoint. If the disk is full, removes files that are not needed and tries again; then throws `full`.
    func checkpoint(_ engine: Engine, _ opened: Opened) throws(EngineError) {
        do throws(EngineError) { return try engine.checkpointer.run(log: nil, isForced: true) } catch {
            guard error.code == .full, try removeLeftOvers(engine, opened) else { throw error }
        }
        try engine.checkpointer.run(log: nil, isForced: true)
    }

    /// Removes preallocated and recycled log segments, and segments older than all states. Removes page files that no state and no logged
    /// transaction refers to: an incomplete checkpoint wrote them. False if there was nothing to remove.
    private func removeLeftOvers(_ engine: Engine, _ opened: Opened) throws(EngineError) -> Bool {
        try engine.core.requireStore()
        let names = opened.listing ?? []
        let needed = try neededFiles(engine, opened)
        let orphans = names.compactMap(PageFileNumber.init(fileName:)).filter { !(needed?.contains($0) ?? true) }
        let oldest = opened.states.map(\.oldestLogSegment).min()
        let segments = names.filter { name in
            PreparedSegment.isName(name) || LogSegmentNumber(fileName: name).map { number in oldest.map { number < $0 } ?? false } ?? false
        }
        var isAnyGone = false
        for name in segments + orphans.map(\.fileName) where try fileSystem.exists(join(path, name)) {
            try fileSystem.remove(join(path, name))
            isAnyGone = true
        }
        for file in orphans { engine.core.files.forget(file) }
        return isAnyGone
    }

    /// The page files that a state or a logged transaction needs; nil if a state is damaged, so that they are unknown.
    private func neededFiles(_ engine: Engine, _ opened: Opened) throws(EngineError) -> Set<PageFileNumber>? {
        let (space, files) = (engine.core.space, engine.core.files)
        do throws(EngineError) {
            var needed = Set(space.table.entries.keys).union(try space.filesOfNewBlobs())
            for state in opened.states where !state.catalogue.isEmpty {
                needed.formUnion(try files.filesOfBlob(state.catalogue))
                needed.formUnion(try files.filesOfBlob(state.fileTable))
                needed.formUnion(try FileTable.decode(files.readBlob(state.fileTable)).entries.keys)
            }
            return needed
        } catch {
            guard error.isUnreadable else { throw error }
            return nil
        }
    }

    /// Whether there may be too little space for the reserve and a log segment, so that even a delete would fail.
    func isShortOfSpace(_ reserve: SpaceReserve) -> Bool {
        guard !reserve.isSpent, let room = fileSystem.availableBytes(path) else { return reserve.isSpent }
        return room < options.reserveSize + 2 * options.log.firstSegmentBytes
    }

    /// Writes a second checkpoint, so that the files are released that only the state before the first one needs. These are above all the old log
    /// segments. Then creates the reserve.
    func freeOldStates(_ engine: Engine, _ log: LogWriter) {
        engine.attempt { () throws(EngineError) in try engine.checkpointer.run(log: log, isForced: true) }
        log.releaseRecycledSegments()
        engine.core.reserve.prepare(isUrgent: true)
    }
}
