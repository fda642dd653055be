// Reads a store while another process writes it: without a lock, without a table of readers, and without writing.
//
// Opening: read `meta` and the durable position of the log; open every existing page file; read `meta` again. If it still names the
// checkpoint, every page that the checkpoint and the log up to that position need stays readable, whatever the writer unlinks: page files are
// only appended to and removed as a whole, and no file that a state of `meta` needs is removed. Otherwise the opening starts again. Then the
// log is replayed into memory up to the durable position. Its segments may be removed or recycled during the replay; then the replay ends
// too early, and the opening starts again too.
//
// A refresh continues in the log at the end of the last reading, and starts again from `meta` after a checkpoint.

import Glibc
import HornbeamThreads

extension Recovery {
    /// Opens the store for reading. Writes nothing, even if the folder is writable.
    ///
    /// `floor`: a log position that is known to be durable; the state is not an older one.
    func openForReading(from floor: LogPosition = .zero) throws(EngineError) -> Engine {
        try requireLocalDisk()
        guard try fileSystem.exists(metaPath) else {
            try fileSystem.requireFolderOrNothing(path)
            throw EngineError(.notAStore, "There is no store at this path.", path: path)
        }
        return try patiently { () throws(EngineError) in try readOnce(from: floor) }
    }

    /// Attempts to open a store, with and without a writer.
    private static let attemptsMax = 40
    private static let attemptsAlone = 3

    /// Repeats an attempt, since changes by a writer can look like damage. Only lasting damage counts.
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
            let readerPosition = ReaderPosition(states[i])
            let engine = try makeEngine(opened, readerPosition: readerPosition)
            let replayed = try replay(opened, engine, reaching: durable, upTo: isWritten ? durable : nil)
            engine.loss = replayed.loss
            readerPosition.note(replayed.end.mark)
            return engine
        }
        if !isWritten { try requireNoWriter() }
        return engine
    }

    /// Throws if a writer has appeared: the log was read without a limit and may hold commits that are not durable yet.
    func requireNoWriter() throws(EngineError) {
        guard try !fileSystem.isLocked(metaPath) else {
            throw EngineError(
                .damaged, "The store was opened for writing while it was read. Try again.", path: path)
        }
    }

    /// The durable position that the writer has recorded. Zero if nothing is recorded and there is no writer: then the whole log counts.
    ///
    /// Throws `damaged` if there is a writer and the hint cannot be read: any other position might omit acknowledged commits.
    func durablePosition(_ store: StoreIdentifier, isWritten: Bool) throws(EngineError) -> LogPosition {
        let durableHint = DurableLSNHint(lockPath, fileSystem: fileSystem, store: store, readOnly: true)
        if let position = durableHint.position { return position }
        guard isWritten else { return .zero }
        throw EngineError(
            .damaged,
            "The durable position of the store's writer is unknown: the file lock, which holds it, is missing or cannot be read. "
                + "Try again; if that does not help, close the store in the process that writes it and open it there again.",
            path: lockPath)
    }

    /// Throws unless the meta file still names a state, which proves that every file of the state still exists.
    func requireKept(_ state: MetaState) throws(EngineError) {
        guard try MetaFile.open(metaPath, fileSystem: fileSystem, readOnly: true).states.contains(state) else {
            throw EngineError(
                .damaged, "The store's writer went on faster than the store could be opened. Try again.", path: path)
        }
    }
}
