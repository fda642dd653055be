// Reading a store while another process writes it: no lock is taken, no table of readers kept, nothing written.
//
// Opening: read `meta` and how far the log is durable; open every page file that is there; look at `meta` again. If it
// still names the checkpoint, every page that the checkpoint and the log up to that place need can be read from now on,
// whatever the writer unlinks: page files are only appended to and removed whole, and none is removed that either state
// of `meta` needs. Otherwise the writer moved on: once more from the start. The log is then replayed into memory up to the
// durable place. Its segments do not stay: one that is gone, or is used again while it is read, makes the
// replay fall short of that place, and then too it is once more from the start.
//
// Refreshing goes on in the log where the last reading ended, and starts from `meta` again after a checkpoint.

import Glibc
import HornbeamThreads

extension Recovery {
    /// Opens the store for reading; nothing is written, not even where nothing forbids it.
    ///
    /// `floor`: a position of the log that was seen to be durable; the state is not an older one.
    func openForReading(from floor: LogPosition = .zero) throws(EngineError) -> Engine {
        try requireLocalDisk()
        guard try fileSystem.exists(metaPath) else {
            try fileSystem.requireFolderOrNothing(path)
            throw EngineError(.notAStore, "There is no store at this path.", path: path)
        }
        return try patiently { () throws(EngineError) in try readOnce(from: floor) }
    }

    /// How often an opening is tried while a writer is at work, and when nobody is.
    private static let attemptsMax = 40
    private static let attemptsAlone = 3

    /// What the writer changes meanwhile can look like damage: it counts only when it stays.
    func patiently<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        var attempt = 1
        while true {
            do throws(EngineError) { return try body() } catch {
                guard [.damaged, .logDamaged, .notAStore].contains(error.code) else { throw error }
                let isWritten = (try? fileSystem.isLocked(metaPath)) ?? false
                guard attempt < (isWritten ? Recovery.attemptsMax : Recovery.attemptsAlone) else { throw error }
            }
            if attempt > 2 { usleep(useconds_t(min(attempt, 20) * 1000)) }
            attempt += 1
        }
    }

    private func readOnce(from floor: LogPosition) throws(EngineError) -> Engine {
        let meta = try MetaFile.open(metaPath, fileSystem: fileSystem, readOnly: true)
        let states = meta.states
        let isWritten = try fileSystem.isLocked(metaPath)
        let durable = max(try durablePosition(states[0].store, isWritten: isWritten), floor)
        let engine = try withReadableState(states) { (i) throws(EngineError) in
            let files = try PageFiles(
                directory: path, fileSystem: fileSystem, salt: states[i].salt, nextFile: states[i].nextPageFile,
                isHolding: true)
            try files.hold()
            try requireKept(states[i])
            let opened = Opened(meta: meta, states: states, chosen: i, previous: nil, files: files)
            let follower = Follower(states[i])
            let engine = try makeEngine(opened, follower: follower)
            let replayed = try replay(opened, engine, reaching: durable, upTo: isWritten ? durable : nil)
            engine.loss = replayed.loss
            follower.note(replayed.end.mark)
            return engine
        }
        if !isWritten { try requireNoWriter() }
        return engine
    }

    /// Throws if a writer came meanwhile: what was read of the log without a limit may hold commits that are not durable yet.
    func requireNoWriter() throws(EngineError) {
        guard try !fileSystem.isLocked(metaPath) else {
            throw EngineError(
                .damaged, "The store was opened for writing while it was read. Try again.", path: path)
        }
    }

    /// How far the log is durable, as its writer notes it. Without a writer zero, if nothing is noted: the log tells all then.
    ///
    /// Throws `damaged` while there is a writer and its note cannot be read: any position might leave out acknowledged commits.
    func durablePosition(_ store: StoreIdentifier, isWritten: Bool) throws(EngineError) -> LogPosition {
        let counter = DurableCounter(lockPath, fileSystem: fileSystem, store: store, readOnly: true)
        if let position = counter.position { return position }
        guard isWritten else { return .zero }
        throw EngineError(
            .damaged,
            "It cannot be told how far the store's writer has got: the file lock, in which it notes that, is missing or cannot be "
                + "read. Try again; if that does not help, close the store in the process that writes it and open it there again.",
            path: lockPath)
    }

    /// Throws unless the meta file still names a state: then every file that it needs is still there.
    func requireKept(_ state: MetaState) throws(EngineError) {
        guard try MetaFile.open(metaPath, fileSystem: fileSystem, readOnly: true).states.contains(state) else {
            throw EngineError(
                .damaged, "The store's writer went on faster than the store could be opened. Try again.", path: path)
        }
    }
}
