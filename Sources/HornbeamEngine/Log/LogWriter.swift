// Appends groups of committed transactions to the log: one positional write of whole 4 KiB blocks into preallocated blocks of a segment,
// and one sync when the caller requests it.
//
// Invariants:
// - A whole group is in one segment. The check of each frame is the seed of the next one.
// - The first group of a segment is written only when everything before it is durable.
// - A failed write or sync poisons the writer, since it is unknown which bytes are durable.
// - An error before the write of a group, such as no space for the next segment, leaves the writer unchanged.
// - Copy-on-write file systems may find the disk full during the write itself. Then the group is read back. If all bytes are in the file, the
//   group counts as written. Otherwise no crash can complete it, the writer stays unchanged, and the next group overwrites it.

internal import HornbeamThreads
internal import Synchronization

/// Writes the log of one store.
package final class LogWriter: Sendable {
    struct State {
        /// The file of the current segment; nil until the first append.
        var file: (any File)?
        /// The end of the last group.
        var mark: LogMark
        /// The seed for the check of the next frame: the mark's check, or the header's check at the start of a segment.
        var seed: UInt64
        var nextSegmentBytes: Int
        /// The length of a full segment. The first segments are shorter.
        var segmentBytesGoal: Int
        /// The segments with groups of this writer that are not released yet. The last one is the current segment.
        var begun: [BegunSegment] = []
        var current: BegunSegment? { begun.last }
        var buffer = WriteBuffer(bytes: 1 << 16)
        /// The error that all calls throw after the writer was closed or poisoned.
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
    /// Guards the state of the writer. Locked during the write on purpose, because the position of the next group depends on its success.
    let state: Guarded<State>
    /// The preallocated next segment.
    let prepared: Guarded<PreparedSegment?>
    /// The number of the next segment. Changed only under the lock of `prepared`.
    let nextNumber: Atomic<UInt64>
    /// Released segments that are kept for recycling; locked during renames. Segments of an earlier writer have the length 0 here, so they are
    /// never recycled.
    let recycled: Guarded<[PreparedSegment.Recycled]>
    /// True after the writer began the prepared segment, until the next one is prepared.
    let lacksPrepared = Atomic(false)
    /// True when the next segment should be preallocated: half of the current one is used. Earlier preallocation would waste space.
    let wantsPrepared = Atomic(false)
    /// The room on the disk, which the log and the store share.
    let room: DiskRoom
    /// Released on a full disk, for transactions that free more space.
    let reserve: SpaceReserve?
    /// True while a commit waits for the next segment.
    let isCommitWaiting = Atomic(false)
    /// True after the writer was closed: no more segments are made. Set under the lock of `prepared`.
    let isClosed = Atomic(false)
    /// True if the folder may contain segments.
    let hasFiles: Atomic<Bool>
    private let durablePosition: Atomic<UInt64>
    private let durableHint: DurableLSNHint?
    /// The writer's lock of the store. Appends fail when its file was removed or replaced.
    let lock: (any FileLock)?

    /// Continues a log in a new segment, which the first append makes.
    ///
    /// Begins with `prepared`, the first segment of a new store, if there is one. Writes every durable position to `durableHint`. Everything before
    /// `end` must be durable: after recovery, write a checkpoint at `end` first.
    package init(
        directory: String, fileSystem: any FileSystem, store: StoreIdentifier, continuing end: LogMark,
        nextSegment: LogSegmentNumber, options: LogOptions = LogOptions(), durableHint: DurableLSNHint? = nil,
        listing: [String]? = nil, prepared: PreparedSegment? = nil, lock: (any FileLock)? = nil, reserve: SpaceReserve? = nil
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
        hasFiles = Atomic(prepared != nil || names.contains { PreparedSegment.isName($0) || LogSegmentNumber(fileName: $0) != nil })
        recycled = Guarded(names.compactMap(PreparedSegment.Recycled.init(leftBehind:)))
        let number = highest.map { max($0.next, nextSegment) } ?? nextSegment
        state = Guarded(
            State(
                mark: end, seed: end.check, nextSegmentBytes: options.firstSegmentBytes,
                segmentBytesGoal: options.largestSegmentBytes))
        assert(prepared == nil || prepared?.header.number == number, "The first segment has the first number.")
        self.prepared = Guarded(prepared)
        nextNumber = Atomic(prepared == nil ? number.rawValue : number.next.rawValue)
        durablePosition = Atomic(end.position.rawValue)
        self.durableHint = durableHint
        // The hint is not rewritten if it is right, so that opening and reading a store write nothing.
        if let durableHint, durableHint.position != end.position { durableHint.recordDurable(end.position) }
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

    /// The durable position: everything before it is durable.
    package var durable: LogPosition {
        Interleaving.point("the durable position of the log")
        return LogPosition(durablePosition.load(ordering: .acquiring))
    }

    /// Whether a write or a sync of the log has failed. All later calls throw `durabilityLost`.
    package var isPoisoned: Bool { state.withLock { $0.refusal?.code == .durabilityLost } }

    /// Appends transactions as one group, in one write, and returns the end of the group. The group is durable after `sync()`. With `beginsWriting`,
    /// starts to send it to the device.
    ///
    /// Throws `full`, or another error of preallocation, and then the log is unchanged. Throws `durabilityLost` when the write itself failed for
    /// another reason than a full disk.
    package func append(_ group: some Collection<TransactionRecord>, beginsWriting: Bool = false) throws(EngineError) -> LogMark {
        precondition(!group.isEmpty, "A group of the log holds at least one transaction.")
        let bound = LogGroupEncoder.bound(group)
        let frees = group.allSatisfy(\.frees)
        while true {
            do throws(EngineError) {
                if let mark = try appendIfRoom(group, bound: bound, frees: frees, beginsWriting: beginsWriting) { return mark }
            } catch {
                guard error.code == .full, frees, releaseReserve() else { throw error }
                continue
            }
            try beginSegment(for: bound, frees: frees)
        }
    }

    /// Appends one transaction as a group and starts to send it to the device. Returns nil, and does nothing, if the current segment has no
    /// room. The group is durable after `sync()`. Throws the same errors as `append`.
    package func appendLogFirst(_ record: TransactionRecord) throws(EngineError) -> LogMark? {
        try appendIfRoom(
            CollectionOfOne(record), bound: LogGroupEncoder.bound(CollectionOfOne(record)), frees: record.frees, beginsWriting: true)
    }

    /// Appends a group to the current segment; nil when the segment has no room.
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

    /// Makes all groups durable that were appended before the call, and returns the durable position. Only one sync runs at a time.
    package func sync() throws(EngineError) -> LogPosition {
        let goal = end.position
        return try syncing.withLock { (_) throws(EngineError) in
            let (file, position) = try state.withLock { (state) throws(EngineError) in
                if let refusal = state.refusal { throw refusal }
                return (state.file, state.mark.position)
            }
            // A concurrent sync may have made them durable already.
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

    /// Writes a group or a seal; zeros follow its `count` meaningful bytes. Throws `full` if the disk was full and the bytes are not in the file.
    func put(
        _ bytes: UnsafeRawBufferPointer, meaningful count: Int, into file: any File, at offset: UInt64, _ state: inout State
    ) throws(EngineError) {
        assert(count <= bytes.count && offset >= UInt64(LogSegmentHeader.bytes), "Groups lie after the header of their segment.")
        do throws(EngineError) { try unsafe file.write(bytes, at: offset) } catch {
            guard error.code == .full, let isWritten = unsafe isWritten(bytes.part(0..<count), in: file, at: offset) else {
                throw state.poison(error, in: directory)
            }
            if isWritten { return }
            room.apply(.logRefused)
            throw error
        }
    }

    /// Whether a file contains exactly these bytes at an offset; nil if it cannot be read.
    private func isWritten(_ bytes: UnsafeRawBufferPointer, in file: any File, at offset: UInt64) -> Bool? {
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
        durableHint?.recordDurable(position)
    }
}

extension LogWriter.State {
    /// Whether a group and a seal's block fit in the current segment. With `isHalfHeldBack`, only its first half is used, except for its first
    /// group.
    func hasRoom(for bound: Int, isHalfHeldBack: Bool) -> Bool {
        guard let current else { return false }
        assert(current.first <= mark.position, "The current segment holds the end of the log.")
        let end = current.offset(of: mark.position) + UInt64(bound + LogFrame.blockBytes)
        let isHalf = isHalfHeldBack && current.first < mark.position
        return end <= (isHalf ? current.header.segmentBytes / 2 : current.header.segmentBytes)
    }

    /// Makes all later calls throw the error that it returns.
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
