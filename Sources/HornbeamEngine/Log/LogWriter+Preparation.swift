// Preallocates the next segment with header and name, so that the commit which switches to it does not wait. The file is a recycled segment
// or a new file.
//
// Segments are recycled because unlinking a file can delay commits. Some file systems report freed blocks to the device in a commit of their
// journal, and the next sync waits for it.
//
// Invariants:
// - Only segments that this writer began are recycled, and only when no state of the meta file needs them.
// - Old groups in a recycled file are invalid, since their checks depend on the file's previous header.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads
internal import Synchronization

/// A preallocated segment with header and durable name, ready for its first group.
package struct PreparedSegment {
    /// The name of its file during preallocation.
    static let fileName = "spare"
    var file: any File
    var header: LogSegmentHeader

    /// A released segment that is kept for recycling.
    struct Recycled {
        private static let prefix = "spare-"
        /// The usual number of segments that a checkpoint releases. With more, released segments would need more space than the log.
        static let countMax = 4

        var number: UInt64
        var bytes: Int
        var fileName: String { numberedFileName(Recycled.prefix, number) }

        init(_ header: LogSegmentHeader) { (number, bytes) = (header.number.rawValue, Int(header.segmentBytes)) }

        /// A recycled segment of an earlier writer; nil if the file name has another form.
        init?(leftBehind name: String) {
            guard let number = HornbeamEngine.number(ofFileName: name, prefix: Recycled.prefix) else { return nil }
            (self.number, bytes) = (number, 0)
        }
    }

    /// Whether a file is a segment under preallocation, or one kept for recycling.
    package static func isName(_ name: String) -> Bool { name == fileName || Recycled(leftBehind: name) != nil }

    /// Whether a segment of `bytes` can be recycled where `wanted` bytes are needed. Segments grow and shrink with the store.
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

    /// Unlinks segments that are kept for recycling, by default all; false if there was none. A segment that cannot be unlinked stays in the
    /// folder until the whole log is removed.
    @discardableResult
    func releaseRecycledSegments(
        mayThrottle: () -> Bool = { false }, _ shouldRemove: (PreparedSegment.Recycled) -> Bool = { _ in true }
    ) -> Bool {
        let doomed = recycled.withLock { recycled in
            defer { recycled.removeAll(where: shouldRemove) }
            return recycled.filter(shouldRemove)
        }
        // If the folder was replaced, the names may belong to another store. The next append throws for that.
        if doomed.isEmpty || !isStorePresent { return false }
        for file in doomed { do throws(EngineError) { try fileSystem.remove(join(directory, file.fileName), mayThrottle: mayThrottle) } catch {} }
        return true
    }

    private var isStorePresent: Bool {
        do throws(EngineError) { try lock?.verify() } catch { return false }
        return true
    }

    // MARK: The prepared segment

    /// Whether the next segment should be preallocated. False before the first append, so that opening and reading a store create no segment.
    /// Never waits.
    package var needsPreparedSegment: Bool { wantsPrepared.load(ordering: .relaxed) }

    /// Preallocates the next segment with throttled writes, on a background thread. Throws `full` when the disk is full.
    package func prepareSegment() throws(EngineError) {
        let bytes = try state.withLock { (state) throws(EngineError) in
            if let refusal = state.refusal { throw refusal }
            return state.nextSegmentBytes
        }
        do throws(EngineError) {
            try prepared.withLock { (prepared) throws(EngineError) in
                if isClosed.load(ordering: .relaxed) { throw closedError }
                if prepared == nil { prepared = try makeSegment(bytes: bytes, isThrottled: true) }
                lacksPrepared.store(false, ordering: .relaxed)
                wantsPrepared.store(false, ordering: .relaxed)
            }
        } catch {
            if error.code == .durabilityLost { state.withLock { $0.refusal = error } }
            throw error
        }
    }

    /// Returns the prepared segment if it is long enough; otherwise makes one. With `mayBeShort`, makes a segment of the `least` length while the
    /// reserve is spent, or when the disk has no space for `bytes`.
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
                discardPrepared(tooShort: ready)
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

    /// Stores a prepared segment again, for the next attempt, after the switch to it has failed.
    func keepPrepared(_ ready: PreparedSegment) {
        prepared.withLock { prepared in
            assert(prepared == nil, "One segment is prepared at a time.")
            prepared = ready
        }
        lacksPrepared.store(false, ordering: .relaxed)
    }

    /// Removes a prepared segment that is too short or not needed. The next segment gets its number, because no number may be missing.
    func discardPrepared(tooShort prepared: PreparedSegment) {
        assert(prepared.header.number.next == nextSegment, "The prepared segment has the last number.")
        nextNumber.store(prepared.header.number.rawValue, ordering: .relaxed)
        // If the file cannot be removed, the next segment replaces it by renaming.
        do throws(EngineError) { try fileSystem.remove(join(directory, prepared.header.number.fileName)) } catch {}
    }

    /// Makes a segment. On a full disk, unlinks all recycled segments and tries again.
    private func makeSegment(bytes: Int, atLeast least: Int = 0, isThrottled: Bool) throws(EngineError) -> PreparedSegment {
        do throws(EngineError) { return try makeSegmentOnce(bytes: bytes, atLeast: least, isThrottled: isThrottled) } catch {
            guard error.code == .full, releaseRecycledSegments() else { throw error }
        }
        return try makeSegmentOnce(bytes: bytes, atLeast: least, isThrottled: isThrottled)
    }

    /// Makes the segment. After a failure its files are removed, and the next attempt uses the same number. If the store's files were removed or
    /// replaced, throws `durabilityLost` without removing or renaming a file.
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

    /// Renames a recycled segment of about the wanted length, or else makes a new file, and returns its length.
    ///
    /// A new file is filled with zeros: overwriting blocks syncs twice as fast as appending, and cannot run out of space. The zeros are synced
    /// with the header.
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

    /// Renames the segment to its final name, and opens it. A failed sync of the folder poisons the log: after it, a successful sync would not
    /// prove that the names of other files are durable.
    private func name(_ path: String, _ number: LogSegmentNumber) throws(EngineError) -> any File {
        let named = join(directory, number.fileName)
        try lock?.verify()
        try fileSystem.rename(path, to: named)
        do throws(EngineError) { try fileSystem.syncDirectory(directory, .segmentName) } catch { throw poisoned(by: error, named) }
        return try fileSystem.open(named, .readWrite)
    }

    /// The size of the buffer of zeros. `writeInPieces` divides it further.
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
