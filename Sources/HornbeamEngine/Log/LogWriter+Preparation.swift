// Preallocates the next segment with header and name, so that the commit which switches to it does not wait. The segment is recycled from
// a released one, or a new file.
//
// Segments are recycled because unlinking a file delays commits where the file system reports freed blocks to the device: it does so in a
// commit of its journal, and the next sync waits for that commit.
//
// Invariants:
// - Only segments that this writer began are recycled, and only after no state of the meta file needs them.
// - Their old content belongs to no later segment, since the checks of its groups depend on another header.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads
internal import Synchronization

/// A preallocated segment with header and durable name, ready for its first group.
struct PreparedSegment {
    /// The name of its file during preallocation.
    static let fileName = "spare"
    var file: any File
    var header: LogSegmentHeader

    /// A released segment that is kept for recycling.
    struct Recycled {
        private static let prefix = "spare-"
        /// The number that a checkpoint releases as a rule. More would make the log longer than at its peak.
        static let countMax = 4

        var number: UInt64
        var bytes: Int
        var fileName: String { numberedFileName(Recycled.prefix, number) }

        init(_ header: LogSegmentHeader) { (number, bytes) = (header.number.rawValue, Int(header.segmentBytes)) }

        /// A segment that an earlier writer left; nil if the name is of another kind.
        init?(leftBehind name: String) {
            guard let number = HornbeamEngine.number(ofFileName: name, prefix: Recycled.prefix) else { return nil }
            (self.number, bytes) = (number, 0)
        }
    }

    /// Whether a file is a segment under preallocation, or one kept for recycling.
    static func isName(_ name: String) -> Bool { name == fileName || Recycled(leftBehind: name) != nil }

    /// Whether a segment of one length can be recycled as one of another: wanted lengths follow the size of the store.
    static func fits(_ bytes: Int, _ wanted: Int) -> Bool { bytes >= wanted / 4 * 3 && bytes <= wanted / 4 * 5 }
}

extension LogWriter {
    // MARK: Recycled segments

    /// Renames a released segment for recycling, if its length fits; otherwise the caller unlinks it.
    func keep(_ header: LogSegmentHeader, wanted: Int) {
        let kept = PreparedSegment.Recycled(header)
        recycled.withLock { recycled in
            guard recycled.count < PreparedSegment.Recycled.countMax, PreparedSegment.fits(kept.bytes, wanted), !room.state.holdsLogBack
            else { return }
            do throws(EngineError) {
                try fileSystem.rename(join(directory, header.number.fileName), to: join(directory, kept.fileName))
            } catch { return }
            assert(recycled.allSatisfy { $0.number != kept.number }, "A segment is recycled once.")
            recycled.append(kept)
        }
    }

    /// Unlinks segments that are kept for recycling, by default all; false if there was none. A segment that cannot be unlinked is removed
    /// with the whole log.
    @discardableResult
    func releaseRecycledSegments(
        mayThrottle: () -> Bool = { false }, _ isDoomed: (PreparedSegment.Recycled) -> Bool = { _ in true }
    ) -> Bool {
        let doomed = recycled.withLock { recycled in
            defer { recycled.removeAll(where: isDoomed) }
            return recycled.filter(isDoomed)
        }
        // After a replacement the names may belong to another store; the next append reports it.
        if doomed.isEmpty || !isStoreThere { return false }
        for file in doomed { do throws(EngineError) { try fileSystem.remove(join(directory, file.fileName), mayThrottle: mayThrottle) } catch {} }
        return true
    }

    private var isStoreThere: Bool {
        do throws(EngineError) { try lock?.verify() } catch { return false }
        return true
    }

    // MARK: The prepared segment

    /// Whether the next segment should be preallocated. False before the first append, so that a store which is only read is not written to.
    /// Never waits.
    package var needsPreparedSegment: Bool { wantsPrepared.load(ordering: .relaxed) }

    /// Preallocates the next segment, throttled; for a background thread. Throws `full` when the disk is full.
    package func prepareSegment() throws(EngineError) {
        let bytes = try state.withLock { (state) throws(EngineError) in
            if let refusal = state.refusal { throw refusal }
            return state.nextSegmentBytes
        }
        do throws(EngineError) {
            try prepared.withLock { (prepared) throws(EngineError) in
                if hasEnded.load(ordering: .relaxed) { throw closedError }
                if prepared == nil { prepared = try makeSegment(bytes: bytes, isThrottled: true) }
                lacksPrepared.store(false, ordering: .relaxed)
                wantsPrepared.store(false, ordering: .relaxed)
            }
        } catch {
            if error.code == .durabilityLost { state.withLock { $0.refusal = error } }
            throw error
        }
    }

    /// `mayBeShort`: accepts a segment of the least length. While the reserve is spent, the segment has that length.
    func takePrepared(bytes: Int, atLeast least: Int, mayBeShort: Bool) throws(EngineError) -> PreparedSegment {
        isCommitWaiting.store(true, ordering: .relaxed)
        defer { isCommitWaiting.store(false, ordering: .relaxed) }
        return try prepared.withLock { (prepared) throws(EngineError) in
            defer {
                prepared = nil
                lacksPrepared.store(true, ordering: .relaxed)
                wantsPrepared.store(false, ordering: .relaxed)
            }
            if let ready = prepared {
                if ready.header.segmentBytes >= least { return ready }
                giveUp(tooShort: ready)
            }
            let isShort = mayBeShort && room.state.acceptsOnlyFreeing
            do throws(EngineError) { return try makeSegment(bytes: isShort ? least : max(bytes, least), atLeast: least, isThrottled: false) } catch {
                guard error.code == .full, mayBeShort, bytes > least else { throw error }
            }
            defer { room.apply(.logRefused) }
            do throws(EngineError) { return try makeSegment(bytes: least, atLeast: least, isThrottled: false) } catch {
                guard error.code == .full, releaseReserve() else { throw error }
            }
            return try makeSegment(bytes: least, atLeast: least, isThrottled: false)
        }
    }

    /// Keeps a segment that could not be begun for the next attempt.
    func keepPrepared(_ ready: PreparedSegment) {
        prepared.withLock { prepared in
            assert(prepared == nil, "One segment is prepared at a time.")
            prepared = ready
        }
        lacksPrepared.store(false, ordering: .relaxed)
    }

    /// The next segment reuses its number, since no number may be missing in between, and its blocks.
    private func giveUp(tooShort prepared: PreparedSegment) {
        assert(prepared.header.number.next == nextSegment, "The prepared segment has the last number.")
        nextNumber.store(prepared.header.number.rawValue, ordering: .relaxed)
        // If it remains, the next segment is renamed over it.
        do throws(EngineError) { try fileSystem.remove(join(directory, prepared.header.number.fileName)) } catch {}
    }

    /// On a full disk, releases the recycled segments that do not fit and tries again.
    private func makeSegment(bytes: Int, atLeast least: Int = 0, isThrottled: Bool) throws(EngineError) -> PreparedSegment {
        do throws(EngineError) { return try makeSegmentOnce(bytes: bytes, atLeast: least, isThrottled: isThrottled) } catch {
            guard error.code == .full, releaseRecycledSegments() else { throw error }
        }
        return try makeSegmentOnce(bytes: bytes, atLeast: least, isThrottled: isThrottled)
    }

    /// Makes the segment. After a failure nothing of it remains, and the next attempt uses the same number. Throws `durabilityLost`, and
    /// removes and renames nothing, when the store's files were removed or replaced.
    private func makeSegmentOnce(bytes: Int, atLeast least: Int, isThrottled: Bool) throws(EngineError) -> PreparedSegment {
        let number = LogSegmentNumber(nextNumber.load(ordering: .relaxed))
        guard number <= .last else {
            throw EngineError(.full, "All numbers of log segments are used up. Copy the store's content to a new one.", path: directory)
        }
        guard UInt64(bytes) <= LogSegmentHeader.segmentBytesMax else {
            throw EngineError(.tooLarge, "A group of transactions of \(least) bytes does not fit into a segment of the log.", path: directory)
        }
        try lock?.verify()
        let path = join(directory, PreparedSegment.fileName)
        hasFiles.store(true, ordering: .relaxed)
        if try fileSystem.exists(path) { try fileSystem.remove(path) }
        do throws(EngineError) {
            let length = try fill(path, bytes: bytes, atLeast: least, isThrottled: isThrottled)
            try lock?.verify()
            let header = try writeHeader(number, bytes: length, path)
            let file = try name(path, number)
            assert(header.number == number && header.segmentBytes == UInt64(length), "A header describes its segment.")
            nextNumber.store(number.next.rawValue, ordering: .relaxed)
            room.apply(.segmentMade)
            return PreparedSegment(file: file, header: header)
        } catch {
            try lock?.verify()
            if error.code == .full { room.apply(.logRefused) }
            // A partial segment only takes space; the first error is the one to report.
            for name in [path, join(directory, number.fileName)] { do throws(EngineError) { try fileSystem.remove(name) } catch {} }
            throw error
        }
    }

    /// Makes the file, from a recycled segment of about the wanted length if there is one, and returns its length.
    ///
    /// A new file is filled with zeros: an overwrite syncs twice as fast as an append, and cannot run out of space. The zeros need no sync of
    /// their own; they are synced with the header.
    private func fill(_ path: String, bytes: Int, atLeast least: Int, isThrottled: Bool) throws(EngineError) -> Int {
        let used = try recycled.withLock { (recycled) throws(EngineError) -> PreparedSegment.Recycled? in
            guard let index = recycled.firstIndex(where: { PreparedSegment.fits($0.bytes, bytes) && $0.bytes >= least }) else { return nil }
            try fileSystem.rename(join(directory, recycled[index].fileName), to: path)
            return recycled.remove(at: index)
        }
        assert(used.map { $0.bytes >= least } ?? true, "A recycled segment has room for the group.")
        if let used { return used.bytes }
        let length = (bytes + LogFrame.blockBytes - 1) & ~(LogFrame.blockBytes - 1)
        let file = try fileSystem.open(path, .create)
        try writeZeros(to: file, length, isThrottled: isThrottled)
        try file.writeBack()
        return length
    }

    private func writeHeader(_ number: LogSegmentNumber, bytes: Int, _ path: String) throws(EngineError) -> LogSegmentHeader {
        var header = LogSegmentHeader(store: store, number: number, salt: options.salt(), segmentBytes: UInt64(bytes))
        var block = [UInt8](repeating: 0, count: LogSegmentHeader.bytes)
        unsafe block.withUnsafeMutableBytes { unsafe header.encode(into: $0) }
        let file = try fileSystem.open(path, .readWrite)
        unsafe try block.withBytes { (bytes) throws(EngineError) in unsafe try file.write(bytes, at: 0) }
        try file.sync(.segmentHeader)
        return header
    }

    /// Gives the segment its name, and opens it. A failed sync of the folder is final: a later successful sync would not prove that the names
    /// of other files are durable.
    private func name(_ path: String, _ number: LogSegmentNumber) throws(EngineError) -> any File {
        let named = join(directory, number.fileName)
        try lock?.verify()
        try fileSystem.rename(path, to: named)
        do throws(EngineError) { try fileSystem.syncDirectory(directory, .segmentName) } catch { throw poisoned(by: error, named) }
        return try fileSystem.open(named, .readWrite)
    }

    /// The size of the buffer of zeros. `writeInPieces` decides how many bytes the device gets at once.
    private static let zerosAtOnce = 1 << 18

    private func writeZeros(to file: any File, _ length: Int, isThrottled: Bool) throws(EngineError) {
        assert(length > 0 && length % LogFrame.blockBytes == 0, "A segment has whole blocks.")
        let zeros = [UInt8](repeating: 0, count: min(length, LogWriter.zerosAtOnce))
        for start in stride(from: 0, to: length, by: zeros.count) {
            let count = min(zeros.count, length - start)
            unsafe try zeros.withBytes { (bytes) throws(EngineError) in
                let part = unsafe bytes.part(0..<count)
                // Not throttled while a commit waits for this segment.
                guard isThrottled, !isCommitWaiting.load(ordering: .relaxed) else { return try unsafe file.write(part, at: UInt64(start)) }
                try unsafe file.writeInPieces(part, at: UInt64(start)) { !isCommitWaiting.load(ordering: .relaxed) }
            }
        }
    }
}
