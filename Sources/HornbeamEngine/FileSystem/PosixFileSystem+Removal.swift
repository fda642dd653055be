// Removes large files without delaying commits.
//
// With the mount option `discard`, the file system reports the blocks of a removed file to the device in one commit of its journal. That
// takes a millisecond for 4 MiB, and no sync completes in that time. So the name is removed at once, and the blocks are released in pieces,
// each in its own journal commit.
//
// Invariants:
// - Only a file without other users is truncated. It has no other name: copies of a store may be hard links. It has no other descriptor:
//   other processes continue to read removed files. The kernel grants a write lease only if there is no other descriptor.
// - A process that looked up the name before the removal and opens the file after the first truncation does not need the file: readers
//   check afterwards that `meta` still names their state.

#if canImport(Glibc)
internal import CSystem
internal import Glibc
internal import HornbeamThreads

extension PosixFileSystem {
    /// Bytes released in one step, which takes the time of two or three commits. Smaller steps cause more commits of the journal.
    private static let removalBytes: off_t = 1 << 20
    /// ext2 to ext4, XFS, Btrfs and F2FS, as the kernel numbers them.
    private static let typesWithLeases: Set<UInt> = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010]
    // `F_SETLEASE` and `F_SETSIG`, which the C library's module hides.
    private static let setLease: Int32 = 1024
    private static let setSignal: Int32 = 10

    package func remove(_ path: String, mayThrottle: () -> Bool) throws(EngineError) {
        // On other file systems an open file keeps a name, or a lease does not prove that there is no other descriptor.
        guard mayThrottle(), unsafe Self.typesWithLeases.contains(file_system_type(path)) else { return try remove(path) }
        let descriptor = openFile(path, O_RDWR | O_NOFOLLOW)
        guard descriptor >= 0 else { return try remove(path) }
        // Closing releases the remaining blocks.
        defer { _ = posixClose(descriptor) }
        try remove(path)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_nlink == 0 else { return }
        var length = (status.st_size - 1) / Self.removalBytes * Self.removalBytes
        while length > 0, mayThrottle(), Self.isOnlyDescriptor(descriptor) {
            let begun = MonotonicClock.nanoseconds
            guard ftruncate(descriptor, length) == 0, fsync(descriptor) == 0 else { return }
            usleep(UInt32(min(MonotonicClock.nanoseconds - begun, 2_000_000) / 1000))
            length -= Self.removalBytes
        }
    }

    /// Whether this is the only descriptor of the file. The lease is returned at once. If another process opens the file in between, the
    /// kernel sends a signal that is ignored by default.
    private static func isOnlyDescriptor(_ descriptor: Int32) -> Bool {
        guard fcntl(descriptor, setSignal, SIGURG) == 0, fcntl(descriptor, setLease, F_WRLCK) == 0 else { return false }
        return fcntl(descriptor, setLease, F_UNLCK) == 0
    }
}
#endif
