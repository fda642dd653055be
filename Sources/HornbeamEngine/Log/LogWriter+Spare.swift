// The next segment, made ahead of need with header and name, so that a commit that steps into it waits for nothing: of a
// segment that was let go, or of a new file.
//
// Segments are used again because a file that is unlinked costs commits dearly where the file system tells the device of
// freed blocks: it does so in a commit of its journal, which the next sync of a commit has to wait for. Holds: only
// segments that this writer began are used again, and only once no state of the meta file needs them. What remains of
// their content belongs to no later segment: the checks of its groups hang on another header.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads
internal import Synchronization

/// A segment that is ready for its first group: with header and durable name.
struct LogSpare {
    /// The name of its file before it is ready.
    static let fileName = "spare"
    var file: any File
    var header: LogSegmentHeader

    /// A segment that was let go and waits to be used again.
    struct Waiting {
        private static let prefix = "spare-"
        /// As many as a checkpoint lets go as a rule: with more the log would take more room than when it is longest.
        static let countMax = 4

        var number: UInt64
        var bytes: Int
        var fileName: String { numberedFileName(Waiting.prefix, number) }

        init(_ header: LogSegmentHeader) { (number, bytes) = (header.number.rawValue, Int(header.segmentBytes)) }

        /// One that an earlier writer left; nil if the name is of anything else.
        init?(leftBehind name: String) {
            guard let number = HornbeamEngine.number(ofFileName: name, prefix: Waiting.prefix) else { return nil }
            (self.number, bytes) = (number, 0)
        }
    }

    /// Whether a file is a segment in the making, or one that waits to be used again.
    static func isName(_ name: String) -> Bool { name == fileName || Waiting(leftBehind: name) != nil }

    /// Whether a segment of a length can be one of the length that is wanted: lengths follow the size of the store.
    static func fits(_ bytes: Int, _ wanted: Int) -> Bool { bytes >= wanted / 4 * 3 && bytes <= wanted / 4 * 5 }
}

extension LogWriter {
    // MARK: Segments that wait

    /// Renames a segment that nobody needs, if one of its length will be wanted; otherwise it is left to be unlinked.
    func keep(_ header: LogSegmentHeader, wanted: Int) {
        let kept = LogSpare.Waiting(header)
        waiting.withLock { waiting in
            guard waiting.count < LogSpare.Waiting.countMax, LogSpare.fits(kept.bytes, wanted), !lacksRoom.load(ordering: .relaxed)
            else { return }
            do throws(EngineError) {
                try fileSystem.rename(join(directory, header.number.fileName), to: join(directory, kept.fileName))
            } catch { return }
            waiting.append(kept)
        }
    }

    /// Unlinks segments that wait, all unless said otherwise; false if there was none. One that cannot be unlinked goes with the
    /// whole log.
    @discardableResult
    func giveUpSegments(
        mayRest: () -> Bool = { false }, _ isDoomed: (LogSpare.Waiting) -> Bool = { _ in true }
    ) -> Bool {
        let doomed = waiting.withLock { waiting in
            defer { waiting.removeAll(where: isDoomed) }
            return waiting.filter(isDoomed)
        }
        // The names may be those of another store's files; the next append says so.
        if doomed.isEmpty || !isStoreThere { return false }
        for file in doomed { do throws(EngineError) { try fileSystem.remove(join(directory, file.fileName), mayRest: mayRest) } catch {} }
        return true
    }

    private var isStoreThere: Bool {
        do throws(EngineError) { try lock?.verify() } catch { return false }
        return true
    }

    // MARK: The spare

    /// Whether the next segment has yet to be made; false before the first append, so that a store which is only
    /// read is not written to. Never waits.
    package var needsSpare: Bool { wantsSpare.load(ordering: .relaxed) }

    /// Makes the next segment ahead of need, slowly; for a background thread. Throws `full` when the disk is.
    package func prepareSpare() throws(EngineError) {
        let bytes = try state.withLock { (state) throws(EngineError) in
            if let refusal = state.refusal { throw refusal }
            return state.nextSegmentBytes
        }
        do throws(EngineError) {
            try spare.withLock { (spare) throws(EngineError) in
                if hasEnded.load(ordering: .relaxed) { throw closedError }
                if spare == nil { spare = try makeSpare(bytes: bytes, isPaced: true) }
                lacksSpare.store(false, ordering: .relaxed)
                wantsSpare.store(false, ordering: .relaxed)
            }
        } catch {
            if error.code == .durabilityLost { state.withLock { $0.refusal = error } }
            throw error
        }
    }

    /// `mayBeShort`: rather a segment of the least length than none; while the reserve is spent, it has that length.
    func takeSpare(bytes: Int, atLeast least: Int, mayBeShort: Bool) throws(EngineError) -> LogSpare {
        isWaitingForSpare.store(true, ordering: .relaxed)
        defer { isWaitingForSpare.store(false, ordering: .relaxed) }
        return try spare.withLock { (spare) throws(EngineError) in
            defer {
                spare = nil
                lacksSpare.store(true, ordering: .relaxed)
                wantsSpare.store(false, ordering: .relaxed)
            }
            if let ready = spare {
                if ready.header.segmentBytes >= least { return ready }
                giveUp(tooShort: ready)
            }
            let isShort = mayBeShort && reserve?.isSpent ?? false
            do throws(EngineError) { return try makeSpare(bytes: isShort ? least : max(bytes, least), atLeast: least, isPaced: false) } catch {
                guard error.code == .full, mayBeShort, bytes > least else { throw error }
            }
            defer { lacksRoom.store(true, ordering: .relaxed) }
            do throws(EngineError) { return try makeSpare(bytes: least, atLeast: least, isPaced: false) } catch {
                guard error.code == .full, giveReserve() else { throw error }
            }
            return try makeSpare(bytes: least, atLeast: least, isPaced: false)
        }
    }

    /// Keeps a segment that could not be stepped into for the next step.
    func keepSpare(_ ready: LogSpare) {
        spare.withLock { $0 = ready }
        lacksSpare.store(false, ordering: .relaxed)
    }

    /// The next one has its number, since none may be missing in between, and its room.
    private func giveUp(tooShort spare: LogSpare) {
        nextNumber.store(spare.header.number.rawValue, ordering: .relaxed)
        // Should it stay, the next one is renamed over it.
        do throws(EngineError) { try fileSystem.remove(join(directory, spare.header.number.fileName)) } catch {}
    }

    /// On a full disk what waits to be used again, and is of no use for this one, makes room.
    private func makeSpare(bytes: Int, atLeast least: Int = 0, isPaced: Bool) throws(EngineError) -> LogSpare {
        do throws(EngineError) { return try makeSpareOnce(bytes: bytes, atLeast: least, isPaced: isPaced) } catch {
            guard error.code == .full, giveUpSegments() else { throw error }
        }
        return try makeSpareOnce(bytes: bytes, atLeast: least, isPaced: isPaced)
    }

    /// Makes the segment; if that fails nothing of it is left, and the next attempt has the same number. Throws `durabilityLost`, and
    /// removes and renames nothing, when the store's files are gone or others are in their place.
    private func makeSpareOnce(bytes: Int, atLeast least: Int, isPaced: Bool) throws(EngineError) -> LogSpare {
        let number = LogSegmentNumber(nextNumber.load(ordering: .relaxed))
        guard number <= .last else {
            throw EngineError(.full, "All numbers of log segments are used up. Copy the store's content to a new one.", path: directory)
        }
        guard UInt64(bytes) <= LogSegmentHeader.segmentBytesMax else {
            throw EngineError(.tooLarge, "A group of transactions of \(least) bytes does not fit into a segment of the log.", path: directory)
        }
        try lock?.verify()
        let path = join(directory, LogSpare.fileName)
        hasFiles.store(true, ordering: .relaxed)
        if try fileSystem.exists(path) { try fileSystem.remove(path) }
        do throws(EngineError) {
            let length = try fill(path, bytes: bytes, atLeast: least, isPaced: isPaced)
            try lock?.verify()
            let header = try writeHeader(number, bytes: length, path)
            let file = try name(path, number)
            nextNumber.store(number.next.rawValue, ordering: .relaxed)
            lacksRoom.store(false, ordering: .relaxed)
            return LogSpare(file: file, header: header)
        } catch {
            try lock?.verify()
            if error.code == .full { lacksRoom.store(true, ordering: .relaxed) }
            // Half a segment only takes room; the error that matters is the first.
            for name in [path, join(directory, number.fileName)] { do throws(EngineError) { try fileSystem.remove(name) } catch {} }
            throw error
        }
    }

    /// Makes the file, of a segment that waits if one is about as long as is wanted, and returns its length.
    ///
    /// A new file is really written: an overwrite syncs twice as fast as an append, and cannot run out of space. That need
    /// not be durable before the header is, which is synced with it.
    private func fill(_ path: String, bytes: Int, atLeast least: Int, isPaced: Bool) throws(EngineError) -> Int {
        let used = try waiting.withLock { (waiting) throws(EngineError) -> LogSpare.Waiting? in
            guard let index = waiting.firstIndex(where: { LogSpare.fits($0.bytes, bytes) && $0.bytes >= least }) else { return nil }
            try fileSystem.rename(join(directory, waiting[index].fileName), to: path)
            return waiting.remove(at: index)
        }
        if let used { return used.bytes }
        let length = (bytes + LogFrame.blockBytes - 1) & ~(LogFrame.blockBytes - 1)
        let file = try fileSystem.open(path, .create)
        try writeZeros(to: file, length, isPaced: isPaced)
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

    /// Gives the segment its name, and opens it. A failed sync of the folder is final: a later one that succeeds would not say that the
    /// names of other files are durable.
    private func name(_ path: String, _ number: LogSegmentNumber) throws(EngineError) -> any File {
        let named = join(directory, number.fileName)
        try lock?.verify()
        try fileSystem.rename(path, to: named)
        do throws(EngineError) { try fileSystem.syncDirectory(directory, .segmentName) } catch { throw poisoned(by: error, named) }
        return try fileSystem.open(named, .readWrite)
    }

    /// How many zeros are kept at hand. How many the device is given at once says `writeInPieces`.
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
}
