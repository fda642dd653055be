// Appends groups of committed transactions to the log: one positional write of whole 4 KiB blocks into preallocated blocks of a segment,
// and one sync when asked.
//
// Invariants:
// - A group lies in one segment, and frames are chained by their checks.
// - A segment gets its first group only when everything before it is durable.
// - A failed write or sync poisons the writer, since it is unknown which bytes are durable.
// - Errors before the first write of a group (no space for the next segment) leave the writer unchanged. So does a full disk that refuses
//   the write itself, as copy-on-write file systems may: the group is read back. If a byte is missing, no crash can restore it, and the
//   next group overwrites it; otherwise the group counts as written.

internal import HornbeamThreads
internal import Synchronization

/// Writes the log of one store.
package final class LogWriter: Sendable {
    struct State {
        /// The segment being filled; nil until the first append.
        var file: (any File)?
        /// The end of the last group.
        var mark: LogMark
        /// Seeds the next frame: the mark's check, or the header's at the start of a segment.
        var seed: UInt64
        var nextSegmentBytes: Int
        /// The length that segments grow to.
        var segmentBytesGoal: Int
        /// Segments begun by this writer, the one being filled at the end.
        var begun: [BegunSegment] = []
        var current: BegunSegment? { begun.last }
        var buffer = WriteBuffer(bytes: 1 << 16)
        /// The error that all later calls throw.
        var refusal: EngineError?
    }

    /// A segment and the position of its first group.
    struct BegunSegment {
        var header: LogSegmentHeader
        var first: LogPosition

        /// The offset of a position in the file.
        func offset(of position: LogPosition) -> UInt64 { LogSegmentHeader.offset(of: position, from: first) }
    }

    let directory: String
    let fileSystem: any FileSystem
    let store: StoreIdentifier
    let options: LogOptions

    // Lock order: syncing, state, prepared, recycled.

    /// Serialises syncs: of two concurrent syncs, only one would get the error.
    let syncing = Guarded(())
    /// Guards the state of an append. Held across the write on purpose, since the next group's position depends on it.
    let state: Guarded<State>
    /// The preallocated next segment.
    let prepared = Guarded<PreparedSegment?>(nil)
    /// The number of the next segment; changed under the lock of `prepared`.
    let nextNumber: Atomic<UInt64>
    /// Released segments that are kept for recycling; locked during renames. Segments that an earlier writer left have no length here, so
    /// they are not recycled.
    let recycled: Guarded<[PreparedSegment.Recycled]>
    /// The prepared segment was taken and not replaced.
    let lacksPrepared = Atomic(false)
    /// Half of the current segment is used, so the next one should be preallocated. Earlier it would only take space.
    let wantsPrepared = Atomic(false)
    /// The room on the disk, which the log and the store share.
    let room: DiskRoom
    /// Released on a full disk, for transactions that free more space.
    let reserve: SpaceReserve?
    /// A commit waits for the next segment.
    let isCommitWaiting = Atomic(false)
    /// No segment is made any more; set under the lock of `prepared`.
    let hasEnded = Atomic(false)
    /// The folder may hold segments, or one under preallocation.
    let hasFiles: Atomic<Bool>
    private let durablePosition: Atomic<UInt64>
    private let durableHint: DurableLSNHint?
    /// The writer's lock of the store. Appends fail when its file was removed or replaced.
    let lock: (any FileLock)?

    /// Continues a log in a new segment, which is made at the first append.
    ///
    /// Every durable position is written to `durableHint`. `end` and everything before it must be durable without the log's last segment: after
    /// an unclean opening, write a checkpoint at `end` first.
    package init(
        directory: String, fileSystem: any FileSystem, store: StoreIdentifier, continuing end: LogMark,
        nextSegment: LogSegmentNumber, options: LogOptions = LogOptions(), durableHint: DurableLSNHint? = nil,
        listing: [String]? = nil, lock: (any FileLock)? = nil, reserve: SpaceReserve? = nil
    ) throws(EngineError) {
        self.reserve = reserve
        room = reserve?.room ?? DiskRoom()
        self.lock = lock
        self.directory = directory
        self.fileSystem = fileSystem
        self.store = store
        self.options = options
        let names = try fileSystem.list(directory, known: listing)
        let highest = names.compactMap(LogSegmentNumber.init(fileName:)).max()
        hasFiles = Atomic(names.contains { PreparedSegment.isName($0) || LogSegmentNumber(fileName: $0) != nil })
        recycled = Guarded(names.compactMap(PreparedSegment.Recycled.init(leftBehind:)))
        let number = highest.map { max($0.next, nextSegment) } ?? nextSegment
        state = Guarded(
            State(
                mark: end, seed: end.check, nextSegmentBytes: options.firstSegmentBytes,
                segmentBytesGoal: options.largestSegmentBytes))
        nextNumber = Atomic(number.rawValue)
        durablePosition = Atomic(end.position.rawValue)
        self.durableHint = durableHint
        // A store that is only read is not written to.
        if let durableHint, durableHint.position != end.position { durableHint.note(end.position) }
    }

    /// Throws `durabilityLost`, and refuses all later calls, if the store's files were removed or replaced.
    package func requireStore() throws(EngineError) { try state.withLock { (state) throws(EngineError) in try requireStore(&state) } }

    private func requireStore(_ state: inout State) throws(EngineError) {
        if let refusal = state.refusal { throw refusal }
        do throws(EngineError) { try lock?.verify() } catch {
            state.refusal = error
            throw error
        }
    }

    /// The end of the last group.
    package var end: LogMark { state.withLock { $0.mark } }

    /// Everything before this position is durable.
    package var durable: LogPosition {
        Interleaving.point("the durable position of the log")
        return LogPosition(durablePosition.load(ordering: .acquiring))
    }

    /// Whether a write or a sync of the log has failed. All later calls throw `durabilityLost`.
    package var isPoisoned: Bool { state.withLock { $0.refusal?.code == .durabilityLost } }

    /// Appends transactions as one group, in one write, and returns the end of the group; durable after `sync()`.
    ///
    /// Throws `full`, or another error of preallocation, with nothing logged. Throws `durabilityLost` when the write itself failed for another
    /// reason than a full disk.
    package func append(_ group: some Collection<TransactionRecord>) throws(EngineError) -> LogMark {
        precondition(!group.isEmpty, "A group of the log holds at least one transaction.")
        let bound = LogGroupEncoder.bound(group)
        let frees = group.allSatisfy(\.frees)
        while true {
            do throws(EngineError) {
                if let mark = try appendIfRoom(group, bound: bound, frees: frees) { return mark }
            } catch {
                guard error.code == .full, frees, releaseReserve() else { throw error }
                continue
            }
            try beginSegment(for: bound, frees: frees)
        }
    }

    /// Appends one transaction as a group and starts the device's write. Returns nil, and does nothing, if the current segment has no room.
    /// Durable after `sync()`. Throws as `append` does.
    package func appendLogFirst(_ record: TransactionRecord) throws(EngineError) -> LogMark? {
        try appendIfRoom(
            CollectionOfOne(record), bound: LogGroupEncoder.bound(CollectionOfOne(record)), frees: record.frees, beginsWriting: true)
    }

    /// Nil when the current segment has no room.
    private func appendIfRoom(
        _ group: some Collection<TransactionRecord>, bound: Int, frees: Bool, beginsWriting: Bool = false
    ) throws(EngineError) -> LogMark? {
        try state.withLock { (state) throws(EngineError) in
            try requireStore(&state)
            guard state.mark.position.rawValue + UInt64(bound) < LogPosition.last.rawValue else {
                throw EngineError(.full, "The log has used up all its positions. Copy the store's content to a new one.", path: directory)
            }
            guard let file = state.file, let current = state.current, hasRoom(state, for: bound, frees: frees) else { return nil }
            if state.buffer.count < bound || state.buffer.count > max(bound, 4 << 20) {
                state.buffer = WriteBuffer(bytes: max(bound, 1 << 16))
            }
            var encoder = LogGroupEncoder(
                at: state.mark, seed: state.seed, segment: current.header.check, durable: durable, compresses: options.compresses)
            let count = encoder.encode(group, into: state.buffer)
            assert(count <= bound && count % LogFrame.blockBytes == 0, "A group takes whole blocks within its bound.")
            let offset = current.offset(of: state.mark.position)
            assert(offset + UInt64(count) <= current.header.segmentBytes, "A group lies in one segment.")
            let bytes = unsafe UnsafeRawBufferPointer(state.buffer[0..<count])
            try unsafe put(bytes, meaningful: encoder.used, into: file, at: offset, &state)
            if beginsWriting {
                do throws(EngineError) { try file.beginWriting(at: offset, count: count) } catch {
                    throw state.poison(error, in: directory)
                }
            }
            assert(state.begun.last?.first ?? .zero <= state.mark.position, "A segment begins before its groups.")
            state.mark = LogMark(position: state.mark.position + count, check: encoder.check)
            assert(durable <= state.mark.position, "Only written bytes are durable.")
            state.seed = encoder.check
            if lacksPrepared.load(ordering: .relaxed), current.offset(of: state.mark.position) > current.header.segmentBytes / 2 {
                wantsPrepared.store(true, ordering: .relaxed)
            }
            return state.mark
        }
    }

    /// Makes everything appended before the call durable and returns the durable position. At most one sync runs.
    package func sync() throws(EngineError) -> LogPosition {
        let goal = end.position
        return try syncing.withLock { (_) throws(EngineError) in
            let (file, position) = try state.withLock { (state) throws(EngineError) in
                if let refusal = state.refusal { throw refusal }
                return (state.file, state.mark.position)
            }
            // A concurrent sync may have covered it.
            guard durable < goal, let file else { return durable }
            do throws(EngineError) {
                try file.sync(.commits)
            } catch {
                throw state.withLock { $0.poison(error, in: directory) }
            }
            assert(position >= goal, "A sync covers what was appended before it.")
            setDurable(position)
            return position
        }
    }

    /// Writes a group or a seal, which ends with zeros. Throws `full` when the disk refused it and its bytes are not in the file.
    func put(
        _ bytes: UnsafeRawBufferPointer, meaningful count: Int, into file: any File, at offset: UInt64, _ state: inout State
    ) throws(EngineError) {
        assert(count <= bytes.count && offset >= UInt64(LogSegmentHeader.bytes), "Groups lie after the header of their segment.")
        do throws(EngineError) { try unsafe file.write(bytes, at: offset) } catch {
            guard error.code == .full, let isThere = unsafe isThere(bytes.part(0..<count), in: file, at: offset) else {
                throw state.poison(error, in: directory)
            }
            if isThere { return }
            room.apply(.logRefused)
            throw error
        }
    }

    /// Whether a file holds exactly these bytes; nil if it cannot be read.
    private func isThere(_ bytes: UnsafeRawBufferPointer, in file: any File, at offset: UInt64) -> Bool? {
        var present = [UInt8](repeating: 0, count: bytes.count)
        do throws(EngineError) {
            let count = unsafe try present.withMutableBytes { (buffer) throws(EngineError) in
                unsafe try file.read(into: buffer, at: offset)
            }
            return unsafe count == bytes.count && present.elementsEqual(bytes)
        } catch { return nil }
    }

    /// Releases the reserve; false if there is none.
    func releaseReserve() -> Bool { reserve?.release() ?? false }

    /// Whether a group fits into the usable part of the current segment.
    func hasRoom(_ state: borrowing State, for bound: Int, frees: Bool) -> Bool {
        state.hasRoom(for: bound, isHalfHeldBack: !frees && room.state.holdsLogBack)
    }

    /// Rewrites the durable LSN hint, so that readers find it.
    func restoreDurableHint() { durableHint?.restore(durable) }

    func setDurable(_ position: LogPosition) {
        assert(position.rawValue >= durablePosition.load(ordering: .relaxed), "The durable position never falls.")
        durablePosition.store(position.rawValue, ordering: .releasing)
        durableHint?.note(position)
    }
}

extension LogWriter.State {
    /// Whether a group fits, with the block of the seal after it. A segment without a group takes the group for which it was begun.
    func hasRoom(for bound: Int, isHalfHeldBack: Bool) -> Bool {
        guard let current else { return false }
        assert(current.first <= mark.position, "The current segment holds the end of the log.")
        let end = current.offset(of: mark.position) + UInt64(bound + LogFrame.blockBytes)
        let isHalf = isHalfHeldBack && current.first < mark.position
        return end <= (isHalf ? current.header.segmentBytes / 2 : current.header.segmentBytes)
    }

    /// Refuses all later calls and returns the error to throw.
    mutating func poison(_ cause: EngineError, in directory: String) -> EngineError {
        let error = poisoned(by: cause, current.map { join(directory, $0.header.number.fileName) } ?? directory)
        refusal = error
        return error
    }
}

/// The error of all calls after a failed write or sync of the log.
func poisoned(by cause: EngineError, _ path: String) -> EngineError {
    EngineError(
        .durabilityLost,
        "Writing the log failed, so it is unknown which of the last commits are durable: \(cause.message) "
            + "Close the store and open it again; the commits acknowledged before are safe.",
        path: path, errno: cause.errno)
}
