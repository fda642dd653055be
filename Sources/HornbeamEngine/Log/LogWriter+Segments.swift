// The segments of the log: the step from one to the next, and what becomes of those that are not needed any more.

internal import HornbeamThreads
internal import Synchronization

extension LogWriter {
    /// Goes on in the next segment, which has room for a group.
    ///
    /// It has a header and a durable name, made ahead as a rule. The order makes its first group prove that all before it is
    /// durable, and the seal that it is there: sync the old segment, then seal it; the group comes after that.
    func beginSegment(for bound: Int, frees: Bool) throws(EngineError) {
        try syncing.withLock { (_) throws(EngineError) in
            try state.withLock { (state) throws(EngineError) in
                if let refusal = state.refusal { throw refusal }
                if hasRoom(state, for: bound, frees: frees) { return }
                let next: LogSpare
                do throws(EngineError) {
                    next = try takeSpare(
                        bytes: state.nextSegmentBytes, atLeast: bound + LogSegmentHeader.bytes + LogFrame.blockBytes, mayBeShort: frees)
                } catch {
                    if error.code == .durabilityLost { state.refusal = error }
                    throw error
                }
                try syncOld(&state)
                do throws(EngineError) { try sealOld(&state, next: next.header) } catch {
                    // The next segment has its name: the next step goes into this one.
                    if error.code == .full { keepSpare(next) }
                    throw error
                }
                state.file = next.file
                state.seed = next.header.check
                state.begun.append(BegunSegment(header: next.header, first: state.mark.position))
                state.nextSegmentBytes = min(state.nextSegmentBytes * 2, state.segmentBytesGoal)
            }
        }
    }

    private func syncOld(_ state: inout State) throws(EngineError) {
        guard let file = state.file, durable < state.mark.position else { return }
        do throws(EngineError) {
            try file.sync(.segmentEnd)
        } catch {
            throw state.poison(error, in: directory)
        }
        noteDurable(state.mark.position)
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
        unsafe try block.withBytes { (bytes) throws(EngineError) in
            unsafe try put(bytes, meaningful: seal.bytes, into: file, at: offset, &state)
        }
    }

    /// Segments grow up to this length from now on, as far as the options let them; the first after an opening has a
    /// quarter of it.
    package func aim(at bytes: Int) {
        let goal = min(max(bytes, options.firstSegmentBytes), options.largestSegmentBytes)
        state.withLock { state in
            state.segmentBytesGoal = goal
            state.nextSegmentBytes = min(state.nextSegmentBytes, goal)
            if state.file == nil { state.nextSegmentBytes = max(goal / 4, options.firstSegmentBytes) }
        }
    }

    /// The segment being filled; nil before the first append.
    package var currentSegment: LogSegmentNumber? { state.withLock { $0.current?.header.number } }

    /// The number of the next segment to be made; kept in the meta file.
    package var nextSegment: LogSegmentNumber { LogSegmentNumber(nextNumber.load(ordering: .relaxed)) }

    /// The segment that replay from a position of this writer's log begins with: the one that ends there, or holds it, since the
    /// first group of the next may not be durable; or the next when there is none yet.
    package func segment(holding position: LogPosition) -> LogSegmentNumber {
        state.withLock { state in
            let segment = state.begun.last { $0.first < position } ?? state.begun.first
            return segment?.header.number ?? nextSegment
        }
    }

    /// Whether this writer logged anything before a position. If not, its segments may be missing, or have no group, after a crash.
    package func hasGroups(before position: LogPosition) -> Bool {
        state.withLock { state in state.begun.first.map { $0.first < position } ?? false }
    }

    /// Lets go of the segments that no state of the meta file needs any more: a few wait to be used again, the others are
    /// unlinked.
    ///
    /// Neither is synced: what a crash brings back under the old names is older than the meta file's oldest segment, so nobody
    /// looks at it. Those that are unlinked give their room back slowly while `mayRest` says so.
    package func removeSegments(before limit: LogSegmentNumber, mayRest: () -> Bool = { false }) throws(EngineError) {
        let (own, wanted) = state.withLock { state in
            (state.begun.map(\.header).filter { $0.number < limit }, state.nextSegmentBytes)
        }
        giveUpSegments(mayRest: mayRest) { !LogSpare.fits($0.bytes, wanted) }
        for header in own { keep(header, wanted: wanted) }
        try removeFiles(mayRest: mayRest) { LogSegmentNumber(fileName: $0).map { $0 < limit } ?? false }
        state.withLock { $0.begun.removeAll { $0.header.number < limit } }
    }

    /// Closes the writer: it writes nothing any more, on any thread, once this returns.
    package func close() {
        state.withLock { state in
            state.refusal = state.refusal ?? closedError
            state.file = nil
        }
        isWaitingForSpare.store(true, ordering: .relaxed)
        spare.withLock { spare in
            spare = nil
            hasEnded.store(true, ordering: .relaxed)
        }
        waiting.withLock { $0.removeAll() }
    }

    var closedError: EngineError { EngineError(.closed, "The log is closed. Open the store again.", path: directory) }

    /// Closes the writer and unlinks the whole log, after the meta file says that none is needed.
    ///
    /// Throws, and unlinks nothing, when the writer was closed or poisoned before, or when the store's files are gone or others are in
    /// their place.
    package func removeAll() throws(EngineError) {
        try requireStore()
        close()
        guard hasFiles.load(ordering: .relaxed) else { return }
        try removeFiles { LogSpare.isName($0) || LogSegmentNumber(fileName: $0) != nil }
    }

    private func removeFiles(mayRest: () -> Bool = { false }, _ isDoomed: (String) -> Bool) throws(EngineError) {
        for name in try fileSystem.list(directory).filter(isDoomed) { try fileSystem.remove(join(directory, name), mayRest: mayRest) }
    }
}
