// Waits until the times or the bytes of a file change, by any process.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import Synchronization

/// The changes of one file. One thread waits; any thread ends the waits.
final class FileEvents: Sendable {
    enum Kind: Sendable {
        /// The times of the file are set.
        case times
        /// The times are set, or bytes are written.
        case writes
    }

    // The longest waits in milliseconds. The first covers the case that the file was removed and made again.
    static let waitMax: Int32 = 1000
    static let waitMaxWithoutEvents: Int32 = 10

    /// The descriptor of inotify; −1 if the system could not make one.
    private let changes: Int32
    /// A pipe to end waits. Both are −1 if the system could not make one.
    private let waking: (read: Int32, write: Int32)
    private let hasEnded = Atomic(false)
    /// False if the file is missing, or if the system refused the watch because a limit is reached.
    private let isWatching = Atomic(false)
    /// In milliseconds; negative without a limit.
    private let waitMaxWithEvents: Int32

    /// `waitMax`: the longest wait for an event, in milliseconds; negative without a limit.
    init(waitMax: Int32 = FileEvents.waitMax) {
        waitMaxWithEvents = waitMax
        #if canImport(Glibc)
        changes = Self.aboveStandard(inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)))
        #else
        changes = -1
        #endif
        var ends: [Int32] = [-1, -1]
        if unsafe pipe(&ends) != 0 { ends = [-1, -1] }
        waking = (Self.aboveStandard(ends[0]), Self.aboveStandard(ends[1]))
        // A full pipe must not block the thread that ends a wait.
        for descriptor in [waking.read, waking.write] where descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    }

    /// A descriptor of at least 3 that is closed on `exec`. If a standard stream is closed, its number could belong to this object.
    private static func aboveStandard(_ descriptor: Int32) -> Int32 {
        guard descriptor >= 0 else { return -1 }
        defer { _ = posixClose(descriptor) }
        return fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    }

    deinit {
        for descriptor in [changes, waking.read, waking.write] where descriptor >= 0 { _ = posixClose(descriptor) }
    }

    /// Begins to watch the file at a path, or continues with another kind. Changes before the next `wait` end that wait.
    func watch(_ path: String, _ kind: Kind) {
        #if canImport(Glibc)
        let events = kind == .writes ? IN_ATTRIB | IN_MODIFY : IN_ATTRIB
        let isWatched = unsafe changes >= 0 && inotify_add_watch(changes, path, UInt32(events)) >= 0
        isWatching.store(isWatched, ordering: .relaxed)
        #endif
    }

    /// The longest time of the next wait, in milliseconds. It is short if no change and no call of `wake` would end the wait.
    var nextWaitMax: Int32 { isWatching.load(ordering: .relaxed) && waking.read >= 0 ? waitMaxWithEvents : Self.waitMaxWithoutEvents }

    /// Returns after a change, after `wake` or `end`, or after a time limit.
    func wait() {
        wait([changes, waking.read], nextWaitMax)
        empty(changes)
    }

    /// Returns after `wake` or `end`, or after a time.
    func pause(milliseconds: Int32) { wait([waking.read], milliseconds) }

    private func wait(_ descriptors: [Int32], _ milliseconds: Int32) {
        if hasEnded.load(ordering: .acquiring) { return }
        var watched = descriptors.filter { $0 >= 0 }.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = unsafe poll(&watched, nfds_t(watched.count), milliseconds)
        empty(waking.read)
    }

    private func empty(_ descriptor: Int32) {
        guard descriptor >= 0 else { return }
        var discarded = [UInt8](repeating: 0, count: 4096)
        while unsafe read(descriptor, &discarded, discarded.count) > 0 {}
    }

    /// Ends the current wait, or the next one.
    func wake() {
        var byte: UInt8 = 0
        if waking.write >= 0 { _ = unsafe write(waking.write, &byte, 1) }
    }

    /// Ends the current wait and all later ones.
    func end() {
        hasEnded.store(true, ordering: .releasing)
        wake()
    }
}
