// Appends groups of committed transactions to the log: one positional write of whole 4 KiB blocks into a segment whose
// blocks exist already, then, when asked, one sync.
//
// Holds: a group is in one segment; a segment gets its first group only when all before it is durable; frames are chained; a
// failed write or sync of the log poisons the writer for good, since what is durable is then unknown. Errors that come
// before anything was logged (no room for the next segment) leave the writer as it was, and so does a full disk that refuses the
// group's own write, as file systems that copy on write may: the group is read back. If a byte of it is missing, no crash can bring it
// back, since what was never written is on no disk, and the next group takes its place; otherwise it counts as written.

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
        /// What the length of segments grows to.
        var segmentBytesGoal: Int
        /// Segments begun by this writer, the one being filled at the end.
        var begun: [BegunSegment] = []
        var current: BegunSegment? { begun.last }
        var buffer = WriteBuffer(bytes: 1 << 16)
        /// Why everything is refused from now on.
        var refusal: EngineError?
    }

    /// A segment and the position of its first group.
    struct BegunSegment {
        var header: LogSegmentHeader
        var first: LogPosition

        /// Where a position lies in the file.
        func offset(of position: LogPosition) -> UInt64 { LogSegmentHeader.offset(of: position, from: first) }
    }

    let directory: String
    let fileSystem: any FileSystem
    let store: StoreIdentifier
    let options: LogOptions

    // Order of locks: syncing, state, spare, waiting.

    /// Makes syncs follow one another: of two at once only one would be told of a failure.
    let syncing = Guarded(())
    /// Guards what an append changes; held across the write on purpose, the next group's place depends on it.
    let state: Guarded<State>
    /// The next segment, ready for its first group.
    let spare = Guarded<LogSpare?>(nil)
    /// The number of the next segment to be made; changed by whoever holds `spare`.
    let nextNumber: Atomic<UInt64>
    /// Segments that were let go, to be the next spares; held while one is renamed. Those that an earlier writer left have
    /// no length here, so that none is used again.
    let waiting: Guarded<[LogSpare.Waiting]>
    /// The spare was taken and has not been made anew.
    let lacksSpare = Atomic(false)
    /// It has to be made by now: half of the segment is used up. Sooner it would only take room.
    let wantsSpare = Atomic(false)
    /// The last attempt to make a segment met a full disk: the second half of the current one is for transactions that free room.
    let lacksRoom = Atomic(false)
    /// Gives room to a full disk, for transactions that free more.
    let reserve: SpaceReserve?
    /// A commit waits for the next segment.
    let isWaitingForSpare = Atomic(false)
    /// No segment is made any more; set by the holder of `spare`.
    let hasEnded = Atomic(false)
    /// The folder may hold segments or a spare.
    let hasFiles: Atomic<Bool>
    private let durablePosition: Atomic<UInt64>
    private let counter: DurableCounter?
    /// The writer's lock of the store: nothing is logged once it is of a file that is not the store's any more.
    let lock: (any FileLock)?

    /// Continues a log in a new segment, made at the first append.
    ///
    /// `counter` is told of every position that becomes durable. `end` and everything before it must be durable by
    /// other means than the log's last segment: after an unclean opening, write a checkpoint at `end` first.
    package init(
        directory: String, fileSystem: any FileSystem, store: StoreIdentifier, continuing end: LogMark,
        nextSegment: LogSegmentNumber, options: LogOptions = LogOptions(), counter: DurableCounter? = nil,
        listing: [String]? = nil, lock: (any FileLock)? = nil, reserve: SpaceReserve? = nil
    ) throws(EngineError) {
        self.reserve = reserve
        self.lock = lock
        self.directory = directory
        self.fileSystem = fileSystem
        self.store = store
        self.options = options
        let names = try fileSystem.list(directory, known: listing)
        let highest = names.compactMap(LogSegmentNumber.init(fileName:)).max()
        hasFiles = Atomic(names.contains { LogSpare.isName($0) || LogSegmentNumber(fileName: $0) != nil })
        waiting = Guarded(names.compactMap(LogSpare.Waiting.init(leftBehind:)))
        let number = highest.map { max($0.next, nextSegment) } ?? nextSegment
        state = Guarded(
            State(
                mark: end, seed: end.check, nextSegmentBytes: options.firstSegmentBytes,
                segmentBytesGoal: options.largestSegmentBytes))
        nextNumber = Atomic(number.rawValue)
        durablePosition = Atomic(end.position.rawValue)
        self.counter = counter
        // A store that is only looked at is not written to.
        if let counter, counter.position != end.position { counter.note(end.position) }
    }

    /// Throws `durabilityLost`, and refuses everything from then on, if the store's files are gone or others are in their place.
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

    /// Whether a write or a sync of the log has failed: everything throws `durabilityLost` from then on.
    package var isPoisoned: Bool { state.withLock { $0.refusal?.code == .durabilityLost } }

    /// Appends transactions as one group, in one write, and returns the end of the group; durable after `sync()`.
    ///
    /// Throws `full`, or what else kept a next segment from being made, with nothing logged; throws `durabilityLost` when the
    /// write itself failed for another reason than a full disk.
    package func append(_ group: some Collection<TransactionRecord>) throws(EngineError) -> LogMark {
        precondition(!group.isEmpty, "A group of the log holds at least one transaction.")
        let bound = LogGroupEncoder.bound(group)
        let frees = group.allSatisfy(\.frees)
        while true {
            do throws(EngineError) {
                if let mark = try appendIfRoom(group, bound: bound, frees: frees) { return mark }
            } catch {
                guard error.code == .full, frees, giveReserve() else { throw error }
                continue
            }
            try beginSegment(for: bound, frees: frees)
        }
    }

    /// Appends one transaction as a group and lets the device begin to write it, where the current segment has room for it; else
    /// nothing happens and the answer is nil. Durable after `sync()`. Throws as `append` does.
    package func appendAhead(_ record: TransactionRecord) throws(EngineError) -> LogMark? {
        try appendIfRoom(
            CollectionOfOne(record), bound: LogGroupEncoder.bound(CollectionOfOne(record)), frees: record.frees, isAhead: true)
    }

    /// Nil when the current segment has no room.
    private func appendIfRoom(
        _ group: some Collection<TransactionRecord>, bound: Int, frees: Bool, isAhead: Bool = false
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
            let offset = current.offset(of: state.mark.position)
            let bytes = unsafe UnsafeRawBufferPointer(state.buffer[0..<count])
            try unsafe put(bytes, meaningful: encoder.used, into: file, at: offset, &state)
            if isAhead {
                do throws(EngineError) { try file.beginWriting(at: offset, count: count) } catch {
                    throw state.poison(error, in: directory)
                }
            }
            state.mark = LogMark(position: state.mark.position + count, check: encoder.check)
            state.seed = encoder.check
            if lacksSpare.load(ordering: .relaxed), current.offset(of: state.mark.position) > current.header.segmentBytes / 2 {
                wantsSpare.store(true, ordering: .relaxed)
            }
            return state.mark
        }
    }

    /// Makes everything appended before the call durable and returns how far the log is; at most one sync runs.
    package func sync() throws(EngineError) -> LogPosition {
        let goal = end.position
        return try syncing.withLock { (_) throws(EngineError) in
            let (file, position) = try state.withLock { (state) throws(EngineError) in
                if let refusal = state.refusal { throw refusal }
                return (state.file, state.mark.position)
            }
            // A sync that this one waited for may have covered it.
            guard durable < goal, let file else { return durable }
            do throws(EngineError) {
                try file.sync(.commits)
            } catch {
                throw state.withLock { $0.poison(error, in: directory) }
            }
            noteDurable(position)
            return position
        }
    }

    /// Writes a group or a seal, which ends with zeros. Throws `full` when the disk refused it and it is not there.
    func put(
        _ bytes: UnsafeRawBufferPointer, meaningful count: Int, into file: any File, at offset: UInt64, _ state: inout State
    ) throws(EngineError) {
        do throws(EngineError) { try unsafe file.write(bytes, at: offset) } catch {
            guard error.code == .full, let isThere = unsafe isThere(bytes.part(0..<count), in: file, at: offset) else {
                throw state.poison(error, in: directory)
            }
            if isThere { return }
            lacksRoom.store(true, ordering: .relaxed)
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

    /// False if there is no room to give.
    func giveReserve() -> Bool { reserve?.release() ?? false }

    /// Whether a group fits into what it may use of the current segment.
    func hasRoom(_ state: borrowing State, for bound: Int, frees: Bool) -> Bool {
        state.hasRoom(for: bound, isHalfHeldBack: !frees && lacksRoom.load(ordering: .relaxed))
    }

    /// Sees to it that readers find the note of how far the log is durable.
    func restoreNote() { counter?.restore(durable) }

    func noteDurable(_ position: LogPosition) {
        durablePosition.store(position.rawValue, ordering: .releasing)
        counter?.note(position)
    }
}

extension LogWriter.State {
    /// Whether a group fits, with the block that the seal needs behind it. A segment that was just begun takes the group that it was
    /// begun for.
    func hasRoom(for bound: Int, isHalfHeldBack: Bool) -> Bool {
        guard let current else { return false }
        let end = current.offset(of: mark.position) + UInt64(bound + LogFrame.blockBytes)
        let isHalf = isHalfHeldBack && current.first < mark.position
        return end <= (isHalf ? current.header.segmentBytes / 2 : current.header.segmentBytes)
    }

    /// Refuses everything from now on and returns the error to throw.
    mutating func poison(_ cause: EngineError, in directory: String) -> EngineError {
        let error = poisoned(by: cause, current.map { join(directory, $0.header.number.fileName) } ?? directory)
        refusal = error
        return error
    }
}

/// What everything is refused with after writing or syncing the log has failed.
func poisoned(by cause: EngineError, _ path: String) -> EngineError {
    EngineError(
        .durabilityLost,
        "Writing the log failed, so it is unknown which of the last commits are durable: \(cause.message) "
            + "Close the store and open it again; the commits acknowledged before are safe.",
        path: path, errno: cause.errno)
}
