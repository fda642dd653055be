// The segments of the log: the spare that is zeroed ahead, the step from one segment to the next, and removal.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads
internal import Synchronization

/// A segment's file before it has a name and a header.
struct LogSpare {
    static let fileName = "spare"
    var file: any File
    var bytes: Int
}

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

    /// Whether the next segment has yet to be zeroed; false before the first append, so that a store which is only
    /// read is not written to. Never waits.
    package var needsSpare: Bool { wantsSpare.load(ordering: .relaxed) }

    /// Zeroes the next segment ahead of need, slowly; for a background thread. Throws `full` when the disk is.
    package func prepareSpare() throws(EngineError) {
        let bytes = try state.withLock { (state) throws(EngineError) in
            if let refusal = state.refusal { throw refusal }
            return state.nextSegmentBytes
        }
        try spare.withLock { (spare) throws(EngineError) in
            if spare == nil { spare = try makeSpare(bytes: bytes, isPaced: true) }
            lacksSpare.store(false, ordering: .relaxed)
            wantsSpare.store(false, ordering: .relaxed)
        }
    }

    /// `mayBeShort`: rather a segment of the least length than none.
    private func takeSpare(bytes: Int, atLeast least: Int, mayBeShort: Bool) throws(EngineError) -> LogSpare {
        isWaitingForSpare.store(true, ordering: .relaxed)
        defer { isWaitingForSpare.store(false, ordering: .relaxed) }
        return try spare.withLock { (spare) throws(EngineError) in
            defer {
                spare = nil
                lacksSpare.store(true, ordering: .relaxed)
            }
            if let ready = spare, ready.bytes >= least { return ready }
            do throws(EngineError) { return try makeSpare(bytes: max(bytes, least), isPaced: false) } catch {
                guard error.code == .full, mayBeShort, bytes > least else { throw error }
            }
            defer { lacksRoom.store(true, ordering: .relaxed) }
            do throws(EngineError) { return try makeSpare(bytes: least, isPaced: false) } catch {
                guard error.code == .full, giveReserve() else { throw error }
            }
            return try makeSpare(bytes: least, isPaced: false)
        }
    }

    /// Really writes the zeros: an overwrite syncs twice as fast as an append, and cannot run out of space. They need
    /// not be durable before the header is, which is synced with them.
    private func makeSpare(bytes: Int, isPaced: Bool) throws(EngineError) -> LogSpare {
        let path = join(directory, LogSpare.fileName)
        hasFiles.store(true, ordering: .relaxed)
        if try fileSystem.exists(path) { try fileSystem.remove(path) }
        let length = (bytes + LogFrame.blockBytes - 1) & ~(LogFrame.blockBytes - 1)
        do throws(EngineError) {
            let file = try fileSystem.open(path, .create)
            try writeZeros(to: file, length, isPaced: isPaced)
            try file.writeBack()
            lacksRoom.store(false, ordering: .relaxed)
            return LogSpare(file: file, bytes: length)
        } catch {
            if error.code == .full { lacksRoom.store(true, ordering: .relaxed) }
            // Half a spare only takes room; the error that matters is the first.
            do throws(EngineError) { try fileSystem.remove(path) } catch {}
            throw error
        }
    }

    /// How many zeros are kept at hand. How many reach the device between two syncs says `writeInPieces`.
    private static let zerosAtOnce = 1 << 18

    private func writeZeros(to file: any File, _ length: Int, isPaced: Bool) throws(EngineError) {
        let zeros = [UInt8](repeating: 0, count: min(length, LogWriter.zerosAtOnce))
        for start in stride(from: 0, to: length, by: zeros.count) {
            let count = min(zeros.count, length - start)
            unsafe try zeros.withBytes { (bytes) throws(EngineError) in
                let part = unsafe bytes.part(0..<count)
                // In one go while a commit waits for the segment itself.
                guard isPaced, !isWaitingForSpare.load(ordering: .relaxed) else { return try unsafe file.write(part, at: UInt64(start)) }
                try unsafe file.writeInPieces(part, at: UInt64(start)) { !isWaitingForSpare.load(ordering: .relaxed) }
            }
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

    /// Unlinks the segments that no state of the meta file needs any more.
    package func removeSegments(before limit: LogSegmentNumber) throws(EngineError) {
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
        guard hasFiles.load(ordering: .relaxed) else { return }
        try removeFiles { $0 == LogSpare.fileName || LogSegmentNumber(fileName: $0) != nil }
    }

    private func removeFiles(_ isDoomed: (String) -> Bool) throws(EngineError) {
        let doomed = try fileSystem.list(directory).filter(isDoomed)
        // Not synced: what a crash brings back is older than the meta file's oldest segment, so nobody looks at it.
        for name in doomed { try fileSystem.remove(join(directory, name)) }
    }
}
