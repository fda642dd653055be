// The writer's lock of a store: an open-file-description lock on byte 0 of a file that the store needs. The kernel releases it when the
// process exits. Unlike a process lock (`F_SETLK`), it remains when other code of the process closes the same file. On some systems such
// locks do not conflict within one process, so the class also has a table of the locks of this process.
//
// A lock belongs to a file, not to a path: if the file is removed or replaced, a second writer could lock the new file. `verify` detects
// that. A forked child closes its copies of the descriptors at once; otherwise it would hold the parent's locks until it exits.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads
internal import Synchronization

/// The exclusive lock of a file of the operating system.
final class PosixFileLock: FileLock {
    /// A file's identity, independent of its path.
    private struct Identity: Hashable {
        var device: UInt64
        var number: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(status.st_ino)
        }
    }

    /// The file of a lock of this process.
    private struct Held {
        var identity: Identity
        var isShared: Bool
    }

    /// The locks of this process, by their descriptors.
    private static let held = Guarded<[Int32: Held]>([:])

    private let path: String
    /// The path of the file that records the number of the process with the lock.
    private let holder: String
    let descriptor: Int32
    private let identity: Identity
    private let folder: OpenFolder
    private let lockedFolders: LockedFolders
    private let isReleased = Atomic(false)
    private let forks: Int

    /// Locks the file whose descriptor `open` returns. The descriptor is closed when the lock is released, or at once if locking fails.
    /// `isShared`: several engines may hold it, in this process too.
    ///
    /// The table is locked before the file is opened. Otherwise a child could be forked in between, with a descriptor that is not in its
    /// copy of the table.
    init(
        path: String, holder: String, isShared: Bool = false, in folder: OpenFolder, of lockedFolders: LockedFolders,
        _ open: () throws(EngineError) -> Int32
    ) throws(EngineError) {
        Self.closeInChildren()
        self.folder = folder
        self.lockedFolders = lockedFolders
        forks = ProcessForks.watch()
        self.path = path
        self.holder = holder
        (descriptor, identity) = try Self.held.withLock { (held) throws(EngineError) in
            let descriptor = try open()
            do throws(EngineError) {
                let identity = try Self.identity(of: descriptor, path)
                guard held.values.allSatisfy({ $0.identity != identity || isShared && $0.isShared }) else { throw Self.inUseHere(path) }
                try Self.lock(descriptor, path, isShared: isShared, holder: holder)
                held[descriptor] = Held(identity: identity, isShared: isShared)
                return (descriptor, identity)
            } catch {
                _ = posixClose(descriptor)
                throw error
            }
        }
        lockedFolders.insert(folder)
    }

    deinit { release() }

    func release() {
        // In a forked child the descriptor is already closed, and its number may belong to another file.
        guard !isReleased.exchange(true, ordering: .relaxed), forks == ProcessForks.count else { return }
        lockedFolders.remove(folder)
        Self.held.withLock { held in
            // Closing is not enough: a child process that was just forked may not have closed its copy of the descriptor yet.
            _ = try? Self.set(F_UNLCK, descriptor, path, bytes: Self.allBytes)
            _ = posixClose(descriptor)
            held[descriptor] = nil
        }
    }

    func verify() throws(EngineError) {
        guard forks == ProcessForks.count else { throw .forked(path) }
        var status = stat()
        while unsafe stat(path, &status) != 0 {
            guard errno == EINTR else { throw .storeGone(path) }
        }
        guard Identity(status) == identity else { throw .storeGone(path) }
    }

    private static func identity(of descriptor: Int32, _ path: String) throws(EngineError) -> Identity {
        var status = stat()
        _ = try retrying("reading the identity of the locked file", path) { unsafe fstat(descriptor, &status) }
        return Identity(status)
    }

    private static func inUseHere(_ path: String) -> EngineError {
        EngineError(
            .storeInUse, "The store is open for writing in this process already. Use the open store, or close it.", path: path)
    }

    private static func lock(_ descriptor: Int32, _ path: String, isShared: Bool, holder: String) throws(EngineError) {
        do throws(EngineError) { try set(isShared ? F_RDLCK : F_WRLCK, descriptor, path) } catch {
            guard error.errno == EAGAIN || error.errno == EACCES else { throw error }
            throw EngineError(
                .storeInUse,
                "\(holderName(in: holder)) has the store open for writing. Close it there, or open the store read-only.",
                path: path, errno: error.errno)
        }
    }

    /// The byte that an open store locks, and all bytes.
    static let firstByte: Range<off_t> = 0..<1
    static let allBytes: Range<off_t> = 0..<1024

    /// Sets a lock of bytes. With `waits`, returns when the lock is granted.
    static func set(
        _ type: Int32, _ descriptor: Int32, _ path: String, bytes: Range<off_t> = firstByte, waits: Bool = false
    ) throws(EngineError) {
        var request = request(type, bytes)
        _ = try retrying("locking the store", path) { unsafe fcntl(descriptor, waits ? waitForOpenFileLock : setOpenFileLock, &request) }
    }

    private static func request(_ type: Int32, _ bytes: Range<off_t>) -> flock {
        var request = flock()
        request.l_type = Int16(type)
        request.l_whence = Int16(SEEK_SET)
        request.l_start = bytes.lowerBound
        request.l_len = off_t(bytes.count)
        return request
    }

    /// Whether bytes of an open file are locked through another descriptor.
    static func isHeld(_ descriptor: Int32, _ path: String, bytes: Range<off_t> = firstByte) throws(EngineError) -> Bool {
        var request = request(F_WRLCK, bytes)
        _ = try retrying("testing the store's lock", path) { unsafe fcntl(descriptor, getOpenFileLock, &request) }
        return request.l_type != Int16(F_UNLCK)
    }

    // MARK: Forks

    /// Registers handlers that lock the table during a fork, so that the child has a complete table.
    private static let isPrepared =
        pthread_atfork(
            { held.monitor.lock() }, { held.monitor.unlock() },
            {
                unsafe closeAll(&held.value.pointee)
                held.monitor.unlock()
            }) == 0

    private static func closeInChildren() { _ = isPrepared }

    private static func closeAll(_ held: inout [Int32: Held]) {
        for descriptor in held.keys { _ = posixClose(descriptor) }
        held.removeAll()
    }

    // MARK: The holder

    /// The offset of the holder's process number in its file. The kernel does not report the owner of such a lock; messages name it.
    private static let holderOffset: off_t = 24

    /// Writes the number of this process to the holder's file. If that fails, messages cannot name the process.
    func recordHolder() {
        let file = lockedFolders.reach(holder) { posixOpen($1, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666, in: $0) }
        guard file >= 0 else { return }
        defer { _ = posixClose(file) }
        var process = UInt64(getpid())
        if file > 2 { _ = unsafe pwrite(file, &process, 8, Self.holderOffset) }
    }

    /// Makes the holder's file if it is missing.
    func createHolderFile() {
        let file = lockedFolders.reach(holder) { posixOpen($1, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666, in: $0) }
        if file >= 0 { _ = posixClose(file) }
    }

    /// Sets the times of the holder's file, which notifies processes that watch it.
    func touchHolderFile() { _ = lockedFolders.reach(holder) { unsafe utimensat($0, $1, nil, 0) } }

    /// Releases the first byte while another thread waits for another one.
    func unlockFirstByte() { _ = try? Self.set(F_UNLCK, descriptor, path) }

    /// The recorded process as the subject of an error message.
    static func holderName(in holder: String) -> String { recordedHolder(in: holder).map { "Process \($0)" } ?? "Another process" }

    /// The recorded process number, if that process exists and is not this one.
    private static func recordedHolder(in holder: String) -> pid_t? {
        let file = posixOpen(holder, O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { return nil }
        defer { _ = posixClose(file) }
        var process: UInt64 = 0
        guard unsafe pread(file, &process, 8, holderOffset) == 8, let number = pid_t(exactly: process), number > 0,
            number != getpid(), kill(number, 0) == 0 || errno == EPERM
        else { return nil }
        return number
    }
}

#if canImport(Glibc)
/// `F_OFD_SETLK`, which the C library's module hides.
private let setOpenFileLock: Int32 = 37
/// `F_OFD_SETLKW` and `F_OFD_GETLK`, likewise.
private let waitForOpenFileLock: Int32 = 38
private let getOpenFileLock: Int32 = 36
#else
private let setOpenFileLock: Int32 = F_OFD_SETLK
private let waitForOpenFileLock: Int32 = F_OFD_SETLKW
private let getOpenFileLock: Int32 = F_OFD_GETLK
#endif
