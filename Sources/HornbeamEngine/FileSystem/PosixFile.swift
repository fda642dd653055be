// One open file of the operating system. It needs no lock: positional reads and writes are thread-safe, and the descriptor stays open as
// long as the object exists.

#if canImport(Glibc)
internal import CSystem
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads
internal import Synchronization

/// An open file of the operating system.
final class PosixFile: File {
    let path: String
    private let descriptor: Int32
    /// The process that opened the file: a forked child shares the descriptor and must not use it.
    private let owner = getpid()
    private let forks = ProcessForks.watch()
    private let isClosed = Atomic(false)
    private let pattern = AccessPattern()

    init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        if !isClosed.load(ordering: .relaxed) { _ = posixClose(descriptor) }
    }

    func size() throws(EngineError) -> UInt64 {
        var status = stat()
        _ = try retrying("reading the file's size", path) { unsafe fstat(descriptor, &status) }
        return UInt64(status.st_size)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int {
        if forks != ProcessForks.count { try checkOwner() }
        if let isRandom = pattern.note(offset: offset, count: buffer.count) { advise(isRandom: isRandom) }
        var done = 0
        while done < buffer.count {
            let count = unsafe pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
            if count == 0 { break }
            if count > 0 {
                done += count
            } else if errno != EINTR {
                throw .system(errno, doing: "reading at offset \(offset)", path: path)
            }
        }
        return done
    }

    /// Turns the system's read-ahead off or on.
    private func advise(isRandom: Bool) {
        #if canImport(Glibc)
        _ = posix_fadvise(descriptor, 0, 0, isRandom ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL)
        #endif
    }

    func readAhead(at offset: UInt64, count: Int) {
        #if canImport(Glibc)
        // Only a hint: a system that refuses it reads the bytes when they are needed.
        _ = posix_fadvise(descriptor, off_t(offset), off_t(count), POSIX_FADV_WILLNEED)
        #endif
    }

    func removeFromCache(at offset: UInt64, count: Int) {
        #if canImport(Glibc)
        // The system keeps blocks that the range covers only in part, so the range is extended to whole blocks.
        let block: UInt64 = 4096
        let start = offset / block * block
        let end = (offset + UInt64(count) + block - 1) / block * block
        _ = posix_fadvise(descriptor, off_t(start), off_t(end - start), POSIX_FADV_DONTNEED)
        #endif
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError) {
        try checkOwner()
        var done = 0
        while done < buffer.count {
            let count = unsafe pwrite(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
            if count > 0 {
                done += count
            } else if count == 0 {
                throw .system(EIO, doing: "writing at offset \(offset)", path: path)
            } else if errno != EINTR {
                throw .system(errno, doing: "writing at offset \(offset)", path: path)
            }
        }
    }

    func sync(_ site: SyncSite) throws(EngineError) { try flush() }

    private func flush() throws(EngineError) {
        try checkOwner()
        _ = try retrying("syncing the file", path) { fdatasync(descriptor) }
    }

    func writeBack() throws(EngineError) {
        try checkOwner()
        #if canImport(Glibc)
        if try writeRange({ file_range_write(descriptor, 0, 0) }) { return }
        #endif
        // A full sync does more than a write-back.
        try flush()
    }

    func beginWriting(at offset: UInt64, count: Int) throws(EngineError) {
        #if canImport(Glibc)
        _ = try writeRange { file_range_begin_writing(descriptor, Int64(offset), Int64(count)) }
        #endif
    }

    #if canImport(Glibc)
    /// False after the kernel, or a filter of system calls such as seccomp, refused to write a range of a file.
    private static let canWriteRanges = Atomic(true)

    /// False if the kernel or the file system cannot write ranges.
    private func writeRange(_ call: () -> Int32) throws(EngineError) -> Bool {
        guard PosixFile.canWriteRanges.load(ordering: .relaxed) else { return false }
        do throws(EngineError) {
            _ = try retrying("writing the file to the device", path, call)
            return true
        } catch {
            if [ENOSYS, EPERM].contains(error.errno) {
                PosixFile.canWriteRanges.store(false, ordering: .relaxed)
            } else {
                // Some file systems cannot write ranges.
                guard [EINVAL, ESPIPE, EOPNOTSUPP].contains(error.errno) else { throw error }
            }
            return false
        }
    }
    #endif

    func close() throws(EngineError) {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        // A failed close releases the descriptor too, so the call is not repeated.
        if posixClose(descriptor) != 0 && errno != EINTR { throw .system(errno, doing: "closing the file", path: path) }
    }

    private func checkOwner() throws(EngineError) {
        guard getpid() == owner else { throw .forked(path) }
    }
}

#if !canImport(Glibc)
/// Darwin's full flush: `fsync` alone leaves data in the drive's cache.
private func fdatasync(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_FULLFSYNC) }
#endif
