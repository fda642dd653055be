// Flushes and syncs the appender's files, and discards their unsynced records after a failure.

internal import HornbeamThreads

extension PageAppender {
    /// Writes the buffer to the file, so that its records can be read.
    package func flush() throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in try writeBuffer(&state) }
    }

    /// Makes all appended records durable: the bytes of each file, then the folder if files are new.
    ///
    /// After an error, all records appended since the last successful sync are invalid, as after `abandon()`. A failed sync is not repeated on
    /// the same bytes: the system may have dropped them, and the second sync would succeed.
    package func sync(_ site: SyncSite = .pages) throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in
            do throws(EngineError) {
                try syncAll(&state, site)
            } catch {
                abandon(&state)
                throw error
            }
        }
    }

    private func syncAll(_ state: inout State, _ site: SyncSite) throws(EngineError) {
        try writeBuffer(&state)
        for entry in state.unsynced { try entry.file.sync(site) }
        if state.hasNewFiles { try files.syncDirectory() }
        assert(state.buffered == 0, "A sync covers all buffered records.")
        state.unsynced.removeAll()
        state.hasNewFiles = false
        state.holdsSyncedBytes = state.number != nil
        state.bufferOffset = (state.bufferOffset + PageAppender.blockBytes - 1) & ~(PageAppender.blockBytes - 1)
    }

    /// Closes the current file; the next append begins a new one.
    package func seal() throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in try finishFile(&state) }
    }

    /// Discards all records appended since the last successful sync. The appender continues in a new file.
    ///
    /// Removes files without durable records. A file that cannot be removed is an orphan, which a later checkpoint removes.
    package func abandon() {
        state.withLock { abandon(&$0) }
    }

    private func abandon(_ state: inout State) {
        for entry in state.unsynced {
            files.seal(entry.number)
            if entry.holdsSyncedBytes { continue }
            do throws(EngineError) { try files.remove(entry.number) } catch { continue }
        }
        if let number = state.number { files.seal(number) }
        state.unsynced.removeAll()
        state.number = nil
        state.file = nil
        state.buffered = 0
        state.hasNewFiles = false
    }
}
