// Room for recovery on a full disk: its checkpoint takes the reserve that the crash left, then the place of files that nobody needs.

extension Recovery {
    /// Writes what was recovered as a checkpoint. Throws `full` when the disk is, with all given up that can be.
    func checkpoint(_ engine: Engine, _ opened: Opened) throws(EngineError) {
        do throws(EngineError) { return try engine.checkpointer.run(log: nil, isForced: true) } catch {
            guard error.code == .full, try removeLeftOvers(engine, opened) else { throw error }
        }
        try engine.checkpointer.run(log: nil, isForced: true)
    }

    /// Removes segments that were being made, waited to be used again, or are older than all states, and page files that no state, no
    /// transaction of the log and no catalogue names: what a checkpoint wrote that a crash cut short. False if there was nothing.
    private func removeLeftOvers(_ engine: Engine, _ opened: Opened) throws(EngineError) -> Bool {
        try engine.core.requireStore()
        let names = opened.listing ?? []
        let needed = try neededFiles(engine, opened)
        let orphans = names.compactMap(PageFileNumber.init(fileName:)).filter { !(needed?.contains($0) ?? true) }
        let oldest = opened.states.map(\.oldestLogSegment).min()
        let segments = names.filter { name in
            LogSpare.isName(name) || LogSegmentNumber(fileName: name).map { number in oldest.map { number < $0 } ?? false } ?? false
        }
        var isAnyGone = false
        for name in segments + orphans.map(\.fileName) where try fileSystem.exists(join(path, name)) {
            try fileSystem.remove(join(path, name))
            isAnyGone = true
        }
        for file in orphans { engine.core.files.forget(file) }
        return isAnyGone
    }

    /// Nil where that cannot be known, since a state is damaged.
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

    /// Whether there may be no room for the reserve and a first segment, so that a first delete would fail.
    func isShortOfRoom(_ reserve: SpaceReserve) -> Bool {
        guard !reserve.isSpent, let room = fileSystem.availableBytes(path) else { return reserve.isSpent }
        return room < options.reserveSize + 2 * options.log.firstSegmentBytes
    }

    /// Gives up what only the state before recovery's checkpoint needs, the old log above all: there is no room for a new one.
    func freeOldStates(_ engine: Engine, _ log: LogWriter) {
        engine.attempt { () throws(EngineError) in try engine.checkpointer.run(log: log, isForced: true) }
        log.giveUpSegments()
        engine.core.reserve.prepare(isUrgent: true)
    }
}
