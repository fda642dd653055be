// Space for recovery on a full disk: its checkpoint takes the reserve that the crash left, then the space of unneeded files.

extension Recovery {
    /// Writes the recovered state as a checkpoint. Throws `full` if the disk is still full after everything possible was released.
    func checkpoint(_ engine: Engine, _ opened: Opened) throws(EngineError) {
        do throws(EngineError) { return try engine.checkpointer.run(log: nil, isForced: true) } catch {
            guard error.code == .full, try removeLeftOvers(engine, opened) else { throw error }
        }
        try engine.checkpointer.run(log: nil, isForced: true)
    }

    /// Removes log segments under preallocation, kept for recycling or older than all states, and page files that no state, log transaction or
    /// catalogue names: the output of an incomplete checkpoint. False if there was nothing to remove.
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

    /// Nil if a state is damaged, so that the files are unknown.
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
            guard error.code == .damaged else { throw error }
            return nil
        }
    }

    /// Whether there may be too little space for the reserve and a first segment, so that a first delete would fail.
    func isShortOfRoom(_ reserve: SpaceReserve) -> Bool {
        guard !reserve.isSpent, let room = fileSystem.availableBytes(path) else { return reserve.isSpent }
        return room < options.reserveSize + 2 * options.log.firstSegmentBytes
    }

    /// Releases what only the state before recovery's checkpoint needs, above all the old log, to make space for a new one.
    func freeOldStates(_ engine: Engine, _ log: LogWriter) {
        engine.attempt { () throws(EngineError) in try engine.checkpointer.run(log: log, isForced: true) }
        log.releaseRecycledSegments()
        engine.core.reserve.prepare(isUrgent: true)
    }
}
