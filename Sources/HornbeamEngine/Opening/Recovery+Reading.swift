// Opens a store for reading while another process may write it: without a lock, without a table of readers, and without writing.
//
// Steps of opening:
// 1. Read `meta` and the durable position of the log.
// 2. Open all existing page files.
// 3. Read `meta` again. If it no longer has the checkpoint, start again. Otherwise the open files include all pages that the checkpoint and
//    the log up to that position need: the writer appends to page files or unlinks them, and never unlinks a file that a state of `meta` needs.
// 4. Replay the log into memory up to the durable position. If the writer removes or recycles a segment meanwhile, start again.
//
// A refresh continues in the log at the end of the last replay. After a checkpoint it starts again from `meta`.

import Glibc
import HornbeamThreads

extension Recovery {
    /// Opens the store for reading. Writes nothing, even if the folder is writable.
    ///
    /// `floor`: a log position that is known to be durable. The version is not older.
    func openForReading(from floor: LogPosition = .zero) throws(EngineError) -> Engine {
        try requireLocalDisk()
        guard try fileSystem.exists(metaPath) else {
            try fileSystem.requireFolderOrNothing(path)
            throw EngineError(.notAStore, "There is no store at this path.", path: path)
        }
        return try retryingBesideWriter { () throws(EngineError) in try readOnce(from: floor) }
    }

    // The numbers of attempts to open a store: beside a writer, and without one.
    private static let attemptsMax = 40
    private static let attemptsAlone = 3

    /// Calls `body` again after an error that a concurrent writer may have caused. Throws the error if it remains.
    func retryingBesideWriter<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
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
        let meta = try MetaFile.open(metaPath, fileSystem: fileSystem, readOnly: sharing == nil)
        let states = meta.states
        let isWritten = try fileSystem.isLocked(metaPath)
        let durable = max(try durablePosition(states[0].store, isWritten: isWritten), floor)
        let engine = try withReadableState(states) { (i) throws(EngineError) in
            let files = try PageFiles(
                directory: path, fileSystem: fileSystem, salt: states[i].salt, nextFile: states[i].nextPageFile,
                keepsFilesOpen: true, createsInMemory: sharing == nil)
            try files.openAllFiles()
            try requireStateInMeta(states[i])
            // Only a process that writes later needs the previous state.
            let previous = sharing != nil && i + 1 < states.count ? states[i + 1] : nil
            let opened = Opened(meta: meta, states: states, chosen: i, previous: previous, files: files)
            let readerPosition = ReaderPosition(states[i])
            let engine = try makeEngine(opened, readerPosition: readerPosition, lock: sharing?.turn.lock)
            let replayed = try replay(opened, engine, reaching: durable, upTo: isWritten ? durable : nil)
            engine.loss = replayed.loss
            readerPosition.setEnd(replayed.end.mark)
            return engine
        }
        if !isWritten { try requireNoWriter() }
        return engine
    }

    /// Throws if another process has opened the store for writing meanwhile. The log was read to its end, and may contain commits of that writer
    /// that are not durable yet.
    func requireNoWriter() throws(EngineError) {
        guard try !fileSystem.isLocked(metaPath) else {
            throw EngineError(
                .damaged, "The store was opened for writing while it was read. Try again.", path: path)
        }
    }

    /// The durable LSN hint. Zero if there is no hint and no writer; then the log is read to its end.
    ///
    /// Throws `damaged` if there is a writer and the hint cannot be read: with another position, acknowledged commits might be missing.
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

    /// Throws unless the meta file still has a state. If it has, no file that the state needs has been removed.
    func requireStateInMeta(_ state: MetaState) throws(EngineError) {
        guard try MetaFile.open(metaPath, fileSystem: fileSystem, readOnly: true).states.contains(state) else {
            throw EngineError(
                .damaged, "The store was changed while it was opened. Try again.", path: path)
        }
    }
}
