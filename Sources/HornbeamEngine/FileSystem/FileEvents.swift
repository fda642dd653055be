// Waits until the times of a file are set, by any process.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import Synchronization

/// The changes of one file's times. One thread waits; any thread ends the waits.
final class FileEvents: Sendable {
    // The limits of a wait in milliseconds. The first covers the case that the file was removed and made again.
    private static let limit: Int32 = 1000
    private static let limitWithoutEvents: Int32 = 10

    /// The descriptor of inotify; −1 if the system has none to give.
    private let changes: Int32
    /// A pipe to end waits. Both are −1 if the system has none to give.
    private let ending: (read: Int32, write: Int32)
    private let hasEnded = Atomic(false)

    init() {
        #if canImport(Glibc)
        changes = Self.aboveStandard(inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)))
        #else
        changes = -1
        #endif
        var ends: [Int32] = [-1, -1]
        if unsafe pipe(&ends) != 0 { ends = [-1, -1] }
        ending = (Self.aboveStandard(ends[0]), Self.aboveStandard(ends[1]))
    }

    /// A descriptor of at least 3 that is closed on `exec`. If a standard stream is closed, its number could belong to this object.
    private static func aboveStandard(_ descriptor: Int32) -> Int32 {
        guard descriptor >= 0 else { return -1 }
        defer { _ = posixClose(descriptor) }
        return fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    }

    deinit {
        for descriptor in [changes, ending.read, ending.write] where descriptor >= 0 { _ = posixClose(descriptor) }
    }

    /// Begins to watch the file at a path, or continues. Changes before the next `wait` end that wait.
    func watch(_ path: String) {
        #if canImport(Glibc)
        if changes >= 0 { _ = unsafe inotify_add_watch(changes, path, UInt32(IN_ATTRIB)) }
        #endif
    }

    /// Returns after a change, after `end`, or after a time limit.
    func wait() {
        if hasEnded.load(ordering: .acquiring) { return }
        var watched = [changes, ending.read].filter { $0 >= 0 }.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = unsafe poll(&watched, nfds_t(watched.count), changes >= 0 ? Self.limit : Self.limitWithoutEvents)
        guard changes >= 0 else { return }
        var discarded = [UInt8](repeating: 0, count: 4096)
        while unsafe read(changes, &discarded, discarded.count) > 0 {}
    }

    func end() {
        hasEnded.store(true, ordering: .releasing)
        var byte: UInt8 = 0
        if ending.write >= 0 { _ = unsafe write(ending.write, &byte, 1) }
    }
}
