// The writer's lock of a store: an open-file-description lock on byte 0, which other code of the process cannot drop
// by closing the file and which the kernel drops when the holder dies, and a table of this process's own locks,
// because such a lock does not tell two engines of one process apart on every system.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads
internal import Synchronization

/// The exclusive lock of a file of the operating system.
final class PosixFileLock: FileLock {
    /// A file's identity, whatever path leads to it.
    private struct Identity: Hashable {
        var device: UInt64
        var number: UInt64
    }

    /// The files locked by this process.
    private static let held = Guarded<Set<Identity>>([])

    private let descriptor: Int32
    private let identity: Identity
    private let isReleased = Atomic(false)

    /// Takes over the descriptor and closes it when the lock is not to be had.
    init(path: String, descriptor: Int32) throws(EngineError) {
        do {
            identity = try Self.identity(of: descriptor, path)
            try Self.enter(identity, path)
        } catch {
            _ = posixClose(descriptor)
            throw error
        }
        self.descriptor = descriptor
        do {
            try Self.lock(descriptor, path)
        } catch {
            release()
            throw error
        }
    }

    deinit { release() }

    func release() {
        guard !isReleased.exchange(true, ordering: .relaxed) else { return }
        _ = posixClose(descriptor)
        Self.held.withLock { _ = $0.remove(identity) }
    }

    private static func identity(of descriptor: Int32, _ path: String) throws(EngineError) -> Identity {
        var status = stat()
        _ = try retrying("looking at the lock", path) { unsafe fstat(descriptor, &status) }
        return Identity(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
    }

    private static func enter(_ identity: Identity, _ path: String) throws(EngineError) {
        let isNew = held.withLock { $0.insert(identity).inserted }
        guard isNew else {
            throw EngineError(
                .storeInUse, "The store is open for writing in this process already. Use the one that is open, or close it.",
                path: path)
        }
    }

    private static func lock(_ descriptor: Int32, _ path: String) throws(EngineError) {
        var request = flock()
        request.l_type = Int16(F_WRLCK)
        request.l_whence = Int16(SEEK_SET)
        request.l_len = 1
        do {
            _ = try retrying("locking the store", path) { unsafe fcntl(descriptor, setOpenFileLock, &request) }
        } catch {
            guard error.errno == EAGAIN || error.errno == EACCES else { throw error }
            let holder = noted(descriptor).map { "Process \($0)" } ?? "Another process"
            throw EngineError(
                .storeInUse,
                "\(holder) has the store open for writing, or a child forked from it still does. "
                    + "Close it there, or open the store read-only.",
                path: path, errno: error.errno)
        }
        note(descriptor)
    }

    /// Whether anybody holds the lock of an open file.
    static func isHeld(_ descriptor: Int32, _ path: String) throws(EngineError) -> Bool {
        var request = flock()
        request.l_type = Int16(F_WRLCK)
        request.l_whence = Int16(SEEK_SET)
        request.l_len = 1
        _ = try retrying("asking for the store's lock", path) { unsafe fcntl(descriptor, getOpenFileLock, &request) }
        return request.l_type != Int16(F_UNLCK)
    }

    // MARK: Who holds it

    /// Where the holder's process is noted: such a lock does not tell its owner. For messages only.
    private static let holderOffset: off_t = 24

    private static func note(_ descriptor: Int32) {
        var process = UInt64(getpid())
        // A message that cannot name the process later is all that a failure costs.
        _ = unsafe pwrite(descriptor, &process, 8, holderOffset)
    }

    /// The process noted, if there is one of that number that is not this one.
    private static func noted(_ descriptor: Int32) -> pid_t? {
        var process: UInt64 = 0
        guard unsafe pread(descriptor, &process, 8, holderOffset) == 8, let number = pid_t(exactly: process), number > 0,
            number != getpid(), kill(number, 0) == 0 || errno == EPERM
        else { return nil }
        return number
    }
}

#if canImport(Glibc)
/// `F_OFD_SETLK`, which the C library's module hides.
private let setOpenFileLock: Int32 = 37
/// `F_OFD_GETLK`, likewise.
private let getOpenFileLock: Int32 = 36
#else
private let setOpenFileLock: Int32 = F_OFD_SETLK
private let getOpenFileLock: Int32 = F_OFD_GETLK
#endif
