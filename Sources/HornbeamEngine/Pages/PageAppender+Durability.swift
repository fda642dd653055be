// From the appender's buffer to the disk: flush, sync, and what to do when that fails.

internal import HornbeamThreads

extension PageAppender {
    /// Hands what is buffered to the operating system, so that it can be read back from the file.
    package func flush() throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in try writeBuffer(&state) }
    }

    /// Makes everything appended so far durable: the bytes of each file, then the folder if files are new.
    ///
    /// After an error everything appended since the last good sync is void, as by `abandon()`: a failed sync is never
    /// repeated on the same bytes, since the system may have dropped them and would then report success.
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
        state.unsynced.removeAll()
        state.hasNewFiles = false
        state.holdsSyncedBytes = state.number != nil
        state.bufferOffset = (state.bufferOffset + PageAppender.blockBytes - 1) & ~(PageAppender.blockBytes - 1)
    }

    /// Ends the current file; the next append begins a new one.
    package func seal() throws(EngineError) {
        try state.withLock { (state) throws(EngineError) in try finishFile(&state) }
    }

    /// Gives up everything appended since the last good sync; the appender goes on in a new file.
    ///
    /// Files that hold nothing durable are removed as far as the file system lets them be; what stays is an orphan,
    /// which the next opening removes.
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
