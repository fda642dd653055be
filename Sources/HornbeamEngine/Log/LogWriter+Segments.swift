// The segments of the log: the step from one to the next, and what becomes of those that are not needed any more.

internal import HornbeamThreads
internal import Synchronization

extension LogWriter {
    /// Begins a new segment with room for a group.
    ///
    /// The order makes a segment's existence prove that all before it is durable: sync the old one; header into the
    /// spare, sync; rename, sync the folder; only then the seal in the old one.
    func beginSegment(for bound: Int, frees: Bool) throws(EngineError) {
        try syncing.withLock { (_) throws(EngineError) in
            try state.withLock { (state) throws(EngineError) in
                if let refusal = state.refusal { throw refusal }
                if hasRoom(state, for: bound, frees: frees) { return }
                let spare = try takeSpare(
                    bytes: state.nextSegmentBytes, atLeast: bound + LogSegmentHeader.bytes + LogFrame.blockBytes, mayBeShort: frees)
                try syncOld(&state)
                let header = try writeHeader(&state, into: spare)
                try name(header, &state)
                // Should opening it fail, the segment stays behind empty and the next one takes its place.
                state.nextSegment = header.number.next
                let file = try fileSystem.open(join(directory, header.number.fileName), .readWrite)
                try sealOld(&state, next: header)
                state.file = file
                state.header = header
                state.seed = header.check
                state.begun.append(header)
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

    private func writeHeader(_ state: inout State, into spare: LogSpare) throws(EngineError) -> LogSegmentHeader {
        var header = LogSegmentHeader(
            store: store, number: state.nextSegment, first: state.mark.position, salt: options.salt(),
            previousCheck: state.mark.check, segmentBytes: UInt64(spare.bytes))
        var block = [UInt8](repeating: 0, count: LogSegmentHeader.bytes)
        unsafe block.withUnsafeMutableBytes { unsafe header.encode(into: $0) }
        unsafe try block.withBytes { (bytes) throws(EngineError) in unsafe try spare.file.write(bytes, at: 0) }
        try spare.file.sync(.segmentHeader)
        return header
    }

    /// After a failure here the segment may exist or not, durable or not: the log is poisoned.
    private func name(_ header: LogSegmentHeader, _ state: inout State) throws(EngineError) {
        let path = join(directory, header.number.fileName)
        do throws(EngineError) {
            try fileSystem.rename(join(directory, LogSpare.fileName), to: path)
            try fileSystem.syncDirectory(directory, .segmentName)
        } catch {
            throw state.poison(error, in: directory)
        }
    }

    private func sealOld(_ state: inout State, next: LogSegmentHeader) throws(EngineError) {
        guard let file = state.file, let header = state.header else { return }
        let seal = LogFrame(
            kind: .seal, payloadBytes: LogFrame.groupPayloadBytes, position: state.mark.position,
            value: next.number.rawValue)
        var block = [UInt8](repeating: 0, count: LogFrame.blockBytes)
        unsafe block.withMutableBytes {
            _ = unsafe seal.encodeSelfChecked(
                into: $0, groupBytes: seal.bytes, salt: header.salt, seed: state.seed)
        }
        do throws(EngineError) {
            unsafe try block.withBytes { (bytes) throws(EngineError) in
                unsafe try file.write(bytes, at: header.offset(of: seal.position))
            }
        } catch {
            throw state.poison(error, in: directory)
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
    package var currentSegment: LogSegmentNumber? { state.withLock { $0.header?.number } }

    /// The number that the next new segment gets; kept in the meta file.
    package var nextSegment: LogSegmentNumber { state.withLock { $0.nextSegment } }

    /// The segment that replay from a position of this writer's log begins with: the one that holds the position, or
    /// the next to be made when there is none yet.
    package func segment(holding position: LogPosition) -> LogSegmentNumber {
        state.withLock { state in
            if let exact = state.begun.first(where: { $0.first == position }) { return exact.number }
            return state.begun.last { $0.first < position }?.number ?? state.begun.first?.number ?? state.nextSegment
        }
    }

    /// Lets go of the segments that no state of the meta file needs any more: a few wait to be used again, the others are
    /// unlinked.
    ///
    /// Neither is synced: what a crash brings back under the old names is older than the meta file's oldest segment, so nobody
    /// looks at it.
    package func removeSegments(before limit: LogSegmentNumber) throws(EngineError) {
        let (own, wanted) = state.withLock { state in (state.begun.filter { $0.number < limit }, state.nextSegmentBytes) }
        giveUpSegments { !LogSpare.fits($0.bytes, wanted) }
        for header in own { keep(header, wanted: wanted) }
        try removeFiles { LogSegmentNumber(fileName: $0).map { $0 < limit } ?? false }
        state.withLock { $0.begun.removeAll { $0.number < limit } }
    }

    /// Unlinks the whole log after the meta file says that none is needed; the writer is closed by it.
    package func removeAll() throws(EngineError) {
        state.withLock { state in
            state.refusal = state.refusal ?? EngineError(.closed, "The log is closed. Open the store again.", path: directory)
            state.file = nil
        }
        spare.withLock { $0 = nil }
        waiting.withLock { $0.removeAll() }
        guard hasFiles.load(ordering: .relaxed) else { return }
        try removeFiles { LogSpare.isName($0) || LogSegmentNumber(fileName: $0) != nil }
    }

    private func removeFiles(_ isDoomed: (String) -> Bool) throws(EngineError) {
        for name in try fileSystem.list(directory).filter(isDoomed) { try fileSystem.remove(join(directory, name)) }
    }
}
