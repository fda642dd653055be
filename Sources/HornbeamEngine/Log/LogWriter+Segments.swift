// The segments of the log: the switch to the next one, and the release of those that are no longer needed.

internal import HornbeamThreads
internal import Synchronization

extension LogWriter {
    /// Switches to the next segment, which has room for a group.
    ///
    /// Usually it is preallocated, with a header and a durable name. The steps have a fixed order: sync the old segment, write its seal, and
    /// later write the first group of the new segment. So the group proves that everything before it is durable, and the seal proves that
    /// the next segment exists.
    func beginSegment(for bound: Int, frees: Bool) throws(EngineError) {
        try syncing.withLock { (_) throws(EngineError) in
            try state.withLock { (state) throws(EngineError) in
                if let refusal = state.refusal { throw refusal }
                if hasRoom(state, for: bound, frees: frees) { return }
                let next: PreparedSegment
                do throws(EngineError) {
                    next = try takePrepared(
                        bytes: state.nextSegmentBytes, atLeast: bound + LogSegmentHeader.bytes + LogFrame.blockBytes, mayBeShort: frees)
                } catch {
                    if error.code == .durabilityLost { state.refusal = error }
                    throw error
                }
                try syncOld(&state)
                do throws(EngineError) { try sealOld(&state, next: next.header) } catch {
                    // The next segment has its name already, so the next attempt uses it.
                    if error.code == .full { keepPrepared(next) }
                    throw error
                }
                assert(state.current.map { $0.header.number < next.header.number } ?? true, "Segments begin in the order of their numbers.")
                assert(durable >= state.mark.position, "A segment begins when everything before it is durable.")
                state.file = next.file
                state.seed = next.header.check
                assert(next.header.segmentBytes >= UInt64(bound + LogSegmentHeader.bytes + LogFrame.blockBytes), "A segment has room for its first group.")
                state.begun.append(BegunSegment(header: next.header, first: state.mark.position))
                state.nextSegmentBytes = min(state.nextSegmentBytes * 2, state.segmentBytesGoal)
            }
        }
    }

    private func syncOld(_ state: inout State) throws(EngineError) {
        assert(durable <= state.mark.position, "Only written bytes are durable.")
        guard let file = state.file, durable < state.mark.position else { return }
        do throws(EngineError) {
            try file.sync(.segmentEnd)
        } catch {
            throw state.poison(error, in: directory)
        }
        setDurable(state.mark.position)
    }

    private func sealOld(_ state: inout State, next: LogSegmentHeader) throws(EngineError) {
        guard let file = state.file, let current = state.current else { return }
        let seal = LogFrame(
            kind: .seal, payloadBytes: LogFrame.groupPayloadBytes, position: state.mark.position,
            value: next.number.rawValue)
        var block = [UInt8](repeating: 0, count: LogFrame.blockBytes)
        unsafe block.withMutableBytes {
            _ = unsafe seal.encodeSelfChecked(
                into: $0, groupBytes: seal.bytes, previous: state.mark.check, segment: current.header.check, seed: state.seed)
        }
        let offset = current.offset(of: seal.position)
        assert(offset + UInt64(block.count) <= current.header.segmentBytes, "A segment has a block for its seal.")
        unsafe try block.withBytes { (bytes) throws(EngineError) in
            unsafe try put(bytes, meaningful: seal.bytes, into: file, at: offset, &state)
        }
    }

    /// Sets the length of a full segment, within the limits of the options. The first segment after an opening has a quarter of it.
    package func setSegmentBytesGoal(_ bytes: Int) {
        let goal = min(max(bytes, options.firstSegmentBytes), options.largestSegmentBytes)
        state.withLock { state in
            assert(goal >= options.firstSegmentBytes, "Segments have at least the first one's length.")
            state.segmentBytesGoal = goal
            state.nextSegmentBytes = min(state.nextSegmentBytes, goal)
            if state.file == nil { state.nextSegmentBytes = max(goal / 4, options.firstSegmentBytes) }
        }
    }

    /// The segment of the last group; nil before the first append.
    package var currentSegment: LogSegmentNumber? { state.withLock { $0.current?.header.number } }

    /// The number of the next segment. The meta file stores it.
    package var nextSegment: LogSegmentNumber { LogSegmentNumber(nextNumber.load(ordering: .relaxed)) }

    /// The first segment that a replay from a position reads: the segment that contains the position or ends there. (The first group of the
    /// following segment may not be durable.) If this writer has no segment yet, the next segment.
    package func segment(holding position: LogPosition) -> LogSegmentNumber {
        state.withLock { state in
            let segment = state.begun.last { $0.first < position } ?? state.begun.first
            return segment?.header.number ?? nextSegment
        }
    }

    /// Whether this writer appended a group before a position. If not, its segments may be missing or empty after a crash.
    package func hasGroups(before position: LogPosition) -> Bool {
        state.withLock { state in state.begun.first.map { $0.first < position } ?? false }
    }

    /// Releases the segments before `limit`, which no state of the meta file needs: renames a few for recycling and unlinks the others.
    ///
    /// Does not sync the folder. After a crash, a segment may have its old name again; it is not read, because its number is below the oldest
    /// segment of the meta file. While `mayThrottle` returns true, blocks of unlinked files are released slowly.
    package func removeSegments(before limit: LogSegmentNumber, mayThrottle: () -> Bool = { false }) throws(EngineError) {
        let (own, wanted) = state.withLock { state in
            (state.begun.map(\.header).filter { $0.number < limit }, state.nextSegmentBytes)
        }
        releaseRecycledSegments(mayThrottle: mayThrottle) { !PreparedSegment.fits($0.bytes, wanted) }
        for header in own { keep(header, wanted: wanted) }
        try removeFiles(mayThrottle: mayThrottle) { LogSegmentNumber(fileName: $0).map { $0 < limit } ?? false }
        state.withLock { state in
            state.begun.removeAll { $0.header.number < limit }
            assert(zip(state.begun, state.begun.dropFirst()).allSatisfy { $0.first <= $1.first }, "Segments begin in the order of their groups.")
        }
    }

    /// Closes the writer. After the call, no thread writes to the log.
    package func close() {
        state.withLock { state in
            state.refusal = state.refusal ?? closedError
            state.file = nil
        }
        isCommitWaiting.store(true, ordering: .relaxed)
        prepared.withLock { prepared in
            prepared = nil
            isClosed.store(true, ordering: .relaxed)
        }
        recycled.withLock { $0.removeAll() }
    }

    var closedError: EngineError { EngineError(.closed, "The log is closed. Open the store again.", path: directory) }

    /// Closes the writer and unlinks the whole log. Called when the meta file records that no segment is needed, or when the store is never opened again.
    ///
    /// If the writer was closed or poisoned before, or the store's files were removed or replaced, throws and unlinks no file.
    package func removeAll() throws(EngineError) {
        try requireStore()
        close()
        guard hasFiles.load(ordering: .relaxed) else { return }
        try removeFiles { PreparedSegment.isName($0) || LogSegmentNumber(fileName: $0) != nil }
    }

    private func removeFiles(mayThrottle: () -> Bool = { false }, _ shouldRemove: (String) -> Bool) throws(EngineError) {
        for name in try fileSystem.list(directory).filter(shouldRemove) { try fileSystem.remove(join(directory, name), mayThrottle: mayThrottle) }
    }
}
