// Continues the log of another process that has handed the store over, and hands it over.

internal import HornbeamThreads
internal import Synchronization

extension LogReader {
    /// The segments with groups from `oldest` up to a mark, in order. Nil if the log does not end there.
    func begunSegments(from oldest: LogSegmentNumber, upTo mark: LogMark) throws(EngineError) -> [LogWriter.BegunSegment]? {
        var begun: [LogWriter.BegunSegment] = []
        for number in try segments() where number >= oldest {
            let segment = try open(number)
            guard let start = segment.start else { continue }
            guard start.position < mark.position else { return nil }
            begun.append(LogWriter.BegunSegment(header: segment.header, first: start.position))
        }
        return begun
    }
}

extension LogWriter {
    /// Continues in the last of the segments that another process has begun. Called before the first append.
    func resume(in begun: [BegunSegment]) throws(EngineError) {
        guard let last = begun.last else { return }
        let file = try fileSystem.open(join(directory, last.header.number.fileName), .readWrite)
        state.withLock { state in
            assert(state.begun.isEmpty && state.seed == state.mark.check, "A writer resumes before its first group.")
            state.file = file
            state.begun = begun
            state.nextSegmentBytes = min(max(Int(last.header.segmentBytes) * 2, options.firstSegmentBytes), state.segmentBytesGoal)
        }
        lacksPrepared.store(true, ordering: .relaxed)
    }

    /// The end of the log, if all groups are durable and another process can continue after them; otherwise nil. Removes the prepared segment.
    func endForHandOver() -> LogMark? {
        prepared.withLock { prepared in
            if let ready = prepared { discardPrepared(tooShort: ready) }
            prepared = nil
        }
        return state.withLock { state in
            guard state.refusal == nil, durable == state.mark.position else { return nil }
            // A segment without a group has a seal before it, after which nothing can be appended.
            if let current = state.current, current.first == state.mark.position { return nil }
            return state.mark
        }
    }
}
