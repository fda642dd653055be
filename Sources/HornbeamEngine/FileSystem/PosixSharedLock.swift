// The lock of a store that several processes write in turns: open-file-description locks on bytes of one file, which the kernel releases
// when a process exits.
//
//      byte     lock of                                    kind
//      0        each process that has the store open       read; the lock of a store that is not shared is a write lock of this byte
//      1        the process that has the turn              write
//      2        the process that is next                   write
//      3        each process that has had the turn         read
//      16 + n   each process that uses version n           read
//      2⁶⁰ + b  each process that has read b blocks        read
//               of 4 KiB of the log
//      2⁶¹ + s  each process whose oldest snapshot is of   read
//               a state that was replaced at second s
//
// The last two only inform: `hornbeam info` reads them. Seconds are those of the monotonic clock.
//
// A process that wants the turn waits for byte 2, then notifies the holder, then waits for byte 1, and then releases byte 2. So at most one
// process waits for byte 1, and the kernel queues the others at byte 2. To notify the holder, the process sets the times of the file `lock`;
// the holder watches that file with inotify. Writes of the durable LSN hint to the file do not change this kind of event.
// The holder tests byte 2 after it has begun to watch, so that no request is missed. Without a watch it tests the byte every 10 ms.
//
// A process without the turn watches writes to the file `lock`: the durable LSN hint is written there after each sync.
//
// Byte 3 shows that the store was recovered after the last power failure: locks do not survive one.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads

/// A shared lock of a file of the operating system.
final class PosixSharedLock: SharedFileLock {
    private static let turn: Range<off_t> = 1..<2
    private static let request: Range<off_t> = 2..<3
    private static let recovered: Range<off_t> = 3..<4
    /// The version of the protocol that this header describes. Processes with different versions do not share a store.
    private static let version: off_t = 1
    private static let versions: Range<off_t> = 16..<272
    private static let blocks: off_t = 1 << 60
    private static let seconds: off_t = 1 << 61

    private struct State {
        /// The number of calls of the operating system that use the descriptor without this lock.
        var waiting = 0
        var isReleased = false
        /// True while a thread waits for the turn or has it. To the kernel, all locks of one descriptor have the same owner, so a second attempt would
        /// succeed, and the release of one would end the other.
        var isTaking = false
        var isRecovered = false
        /// The locked bytes that record how far this engine has read, and the age of its oldest snapshot.
        var progress: [off_t] = []
    }

    private let path: String
    private let holder: String
    private let base: PosixFileLock
    private let state = Guarded(State())
    private let events: FileEvents

    /// `waitMax`: the longest wait for an event, in milliseconds; negative without a limit.
    init(_ base: PosixFileLock, path: String, holder: String, waitMax: Int32) throws(EngineError) {
        self.base = base
        self.path = path
        self.holder = holder
        events = FileEvents(waitMax: waitMax)
        do throws(EngineError) {
            base.createHolderFile()
            try joinVersion()
        } catch {
            base.release()
            throw error
        }
    }

    deinit { release() }

    private func joinVersion() throws(EngineError) {
        let own = Self.versions.lowerBound + Self.version
        try PosixFileLock.set(F_RDLCK, base.descriptor, path, bytes: own..<own + 1)
        for others in [Self.versions.lowerBound..<own, own + 1..<Self.versions.upperBound] {
            guard try PosixFileLock.isHeld(base.descriptor, path, bytes: others) else { continue }
            throw EngineError(
                .newerFormat,
                "\(holderName) has the store open with another version of this library, which takes turns differently. "
                    + "Use the same release in all processes.", path: path)
        }
    }

    func verify() throws(EngineError) { try base.verify() }

    func release() {
        state.withLock { state in
            if state.isReleased { return }
            state.isReleased = true
            // A thread that waits for the turn releases the rest when the turn is granted.
            if state.waiting == 0 { base.release() } else { base.unlockFirstByte() }
        }
    }

    /// Calls `body`, during which the descriptor stays open. Throws `closed` after the release.
    private func whileOpen<R: Sendable>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        let isOpen = state.withLock { state in
            if state.isReleased { return false }
            state.waiting += 1
            return true
        }
        guard isOpen else { throw EngineError(.closed, "The store is closed.", path: path) }
        defer {
            let isLast = state.withLock { state in
                state.waiting -= 1
                return state.isReleased && state.waiting == 0
            }
            if isLast { base.release() }
        }
        return try body()
    }

    func isSharedWithOthers() throws(EngineError) -> Bool {
        try whileOpen { () throws(EngineError) in try PosixFileLock.isHeld(base.descriptor, path) }
    }

    func isRecovered() throws(EngineError) -> Bool {
        if state.withLock({ $0.isRecovered }) { return true }
        return try whileOpen { () throws(EngineError) in try PosixFileLock.isHeld(base.descriptor, path, bytes: Self.recovered) }
    }

    func recordRecovered() throws(EngineError) {
        if state.withLock({ $0.isRecovered }) { return }
        try whileOpen { () throws(EngineError) in try PosixFileLock.set(F_RDLCK, base.descriptor, path, bytes: Self.recovered) }
        state.withLock { $0.isRecovered = true }
    }

    func tryTakeTurn() throws(EngineError) -> Bool {
        guard beginTaking() else { return false }
        var isTaken = false
        defer { if !isTaken { endTaking() } }
        isTaken = try whileOpen { () throws(EngineError) in
            if try PosixFileLock.isHeld(base.descriptor, path, bytes: Self.request) { return false }
            do throws(EngineError) { try PosixFileLock.set(F_WRLCK, base.descriptor, path, bytes: Self.turn) } catch {
                guard error.errno == EAGAIN || error.errno == EACCES else { throw error }
                return false
            }
            base.recordHolder()
            return true
        }
        return isTaken
    }

    func takeTurn() throws(EngineError) {
        guard beginTaking() else { throw EngineError(.closed, "The store is being closed.", path: path) }
        do throws(EngineError) {
            try whileOpen { () throws(EngineError) in
                try PosixFileLock.set(F_WRLCK, base.descriptor, path, bytes: Self.request, waits: true)
                defer { _ = try? PosixFileLock.set(F_UNLCK, base.descriptor, path, bytes: Self.request) }
                base.touchHolderFile()
                try PosixFileLock.set(F_WRLCK, base.descriptor, path, bytes: Self.turn, waits: true)
                base.recordHolder()
            }
        } catch {
            endTaking()
            throw error
        }
    }

    func releaseTurn() {
        do throws(EngineError) {
            try whileOpen { () throws(EngineError) in try PosixFileLock.set(F_UNLCK, base.descriptor, path, bytes: Self.turn) }
        } catch {
            // The release of the whole lock has released the turn.
        }
        endTaking()
    }

    /// False if a thread of this process waits for the turn or has it.
    private func beginTaking() -> Bool {
        state.withLock { state in
            if state.isTaking { return false }
            state.isTaking = true
            return true
        }
    }

    private func endTaking() { state.withLock { $0.isTaking = false } }

    func isTurnRequested() throws(EngineError) -> Bool {
        try whileOpen { () throws(EngineError) in try PosixFileLock.isHeld(base.descriptor, path, bytes: Self.request) }
    }

    func waitForRequest() {
        events.watch(holder, .times)
        let isRequested = (try? isTurnRequested()) ?? true
        if !isRequested { events.wait() }
    }

    func watchCommits() { events.watch(holder, .writes) }
    func waitForCommit() { events.wait() }
    func pause(milliseconds: Int32) { events.pause(milliseconds: milliseconds) }
    func wake() { events.wake() }
    func endWait() { events.end() }

    func recordProgress(_ position: UInt64, oldestSnapshot: UInt64?) {
        let bytes = [Self.blocks + off_t(position >> 12)] + (oldestSnapshot.map { [Self.seconds + off_t($0 / 1_000_000_000)] } ?? [])
        let known = state.withLock { $0.progress }
        if bytes == known { return }
        do throws(EngineError) {
            try whileOpen { () throws(EngineError) in
                for byte in bytes where !known.contains(byte) { try PosixFileLock.set(F_RDLCK, base.descriptor, path, bytes: byte..<byte + 1) }
                for byte in known where !bytes.contains(byte) { try PosixFileLock.set(F_UNLCK, base.descriptor, path, bytes: byte..<byte + 1) }
            }
            state.withLock { $0.progress = bytes }
        } catch {
            // The store works without the record.
        }
    }

    var holderName: String { PosixFileLock.holderName(in: holder) }
}
