// Flushes and syncs the appender's files, and discards what a failed sync left.

internal import HornbeamThreads

extension PageAppender {
    /// Writes the buffer to the file, so that its records can be read.
    package func flush() throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in try writeBuffer(&state) }
    }

    /// Makes everything appended so far durable: the bytes of each file, then the folder if files are new.
    ///
    /// After an error, everything appended since the last successful sync is void, as after `abandon()`. A failed sync is not repeated on the
    /// same bytes, since the system may have dropped them and would report success.
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

    /// Discards everything appended since the last successful sync; the appender continues in a new file.
    ///
    /// Removes files without durable records as far as the file system permits. Files that remain are orphans, which the next opening removes.
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
