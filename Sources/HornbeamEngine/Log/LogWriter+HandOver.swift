// Continues the log of another process that has handed the store over, and hands it over.

internal import HornbeamThreads
internal import Synchronization

/// The segments that another process has left.
struct LeftSegments {
    /// Those with groups, in order.
    var begun: [LogWriter.BegunSegment] = []
    /// The newest one, if it has no group. Its header and its name are durable, because a process hands over only after a segment is complete.
    var prepared: LogSegmentHeader?
}

extension LogReader {
    /// The segments from `oldest` up to a mark. Nil if the log does not end there. Reads only those that are not `known`.
    func segments(
        from oldest: LogSegmentNumber, upTo mark: LogMark, known: [LogWriter.BegunSegment]
    ) throws(EngineError) -> LeftSegments? {
        var left = LeftSegments()
        for number in try segments() where number >= oldest {
            if let segment = known.first(where: { $0.header.number == number }) {
                left.begun.append(segment)
                left.prepared = nil
                continue
            }
            let segment = try open(number)
            left.prepared = segment.start == nil ? segment.header : nil
            guard let start = segment.start else { continue }
            guard start.position < mark.position else { return nil }
            left.begun.append(LogWriter.BegunSegment(header: segment.header, first: start.position))
        }
        return left
    }
}

extension LogWriter {
    /// Continues in the last of the segments that another process has begun, and then in the one that it has prepared. Called before the first
    /// append.
    func resume(in left: LeftSegments) throws(EngineError) {
        try usePrepared(left.prepared)
        let begun = left.begun
        guard let last = begun.last else { return }
        let file = try fileSystem.open(join(directory, last.header.number.fileName), .readWrite)
        state.withLock { state in
            assert(state.begun.isEmpty && state.seed == state.mark.check, "A writer resumes before its first group.")
            state.file = file
            state.begun = begun
            state.nextSegmentBytes = min(max(Int(last.header.segmentBytes) * 2, options.firstSegmentBytes), state.segmentBytesGoal)
        }
        let hasPrepared = prepared.withLock { $0 != nil }
        lacksPrepared.store(!hasPrepared, ordering: .relaxed)
    }

    /// Uses a segment without a group as the next one, if it has the last number.
    private func usePrepared(_ header: LogSegmentHeader?) throws(EngineError) {
        guard let header, header.number.next == nextSegment else { return }
        let file = try fileSystem.open(join(directory, header.number.fileName), .readWrite)
        prepared.withLock { $0 = PreparedSegment(file: file, header: header) }
    }

    /// The segments with groups that are not released.
    var begunSegments: [BegunSegment] { state.withLock { $0.begun } }

    /// The end of the log, if all groups are durable and another process can continue after them; otherwise nil. A prepared segment stays for the
    /// next process.
    func endForHandOver() -> LogMark? {
        state.withLock { state in
            guard state.refusal == nil, durable == state.mark.position else { return nil }
            // A segment without a group has a seal before it, after which nothing can be appended.
            if let current = state.current, current.first == state.mark.position { return nil }
            return state.mark
        }
    }
}
