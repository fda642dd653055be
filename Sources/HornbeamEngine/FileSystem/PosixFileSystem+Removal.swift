// Removing large files without making commits wait.
//
// A mount that discards tells the device of the blocks that a removed file had, all at once and in a commit of the journal:
// a millisecond for 4 MiB here, in which no sync gets through. So the file loses its name at once and its room a piece
// at a time, each in a commit of its own. Holds: what is shortened is nobody's. It has no other name (copies of a store may be hard
// links), and nobody else has it open (other processes go on reading files that were removed). The latter tells a write lease, which
// the kernel gives on no other condition. Whoever looked the name up before it went and opens the file after the first piece did so
// too late to need the file: readers look afterwards whether their state is still kept.

#if canImport(Glibc)
internal import CSystem
internal import Glibc
internal import HornbeamThreads

extension PosixFileSystem {
    /// What is given back at once: it takes the device as long as two or three commits. With less there are more commits of the journal.
    private static let removalBytes: off_t = 1 << 20
    /// ext2 to ext4, XFS, Btrfs and F2FS, as the kernel numbers them.
    private static let typesWithLeases: Set<UInt> = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010]
    // `F_SETLEASE` and `F_SETSIG`, which the C library's module hides.
    private static let setLease: Int32 = 1024
    private static let setSignal: Int32 = 10

    package func remove(_ path: String, mayRest: () -> Bool) throws(EngineError) {
        // Elsewhere a file that is open keeps a name, or leases tell nothing.
        guard mayRest(), unsafe Self.typesWithLeases.contains(file_system_type(path)) else { return try remove(path) }
        let descriptor = posixOpen(path, O_RDWR | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return try remove(path) }
        // Whatever is left goes when it is closed.
        defer { _ = posixClose(descriptor) }
        try remove(path)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_nlink == 0 else { return }
        var length = (status.st_size - 1) / Self.removalBytes * Self.removalBytes
        while length > 0, mayRest(), Self.isNobodyElses(descriptor) {
            let begun = MonotonicClock.nanoseconds
            guard ftruncate(descriptor, length) == 0, fsync(descriptor) == 0 else { return }
            usleep(UInt32(min(MonotonicClock.nanoseconds - begun, 2_000_000) / 1000))
            length -= Self.removalBytes
        }
    }

    /// Whether no other descriptor of the file is open. The lease is given back at once; should somebody who was about to open the
    /// file ask for it meanwhile, the signal is one that processes ignore unless they say otherwise.
    private static func isNobodyElses(_ descriptor: Int32) -> Bool {
        guard fcntl(descriptor, setSignal, SIGURG) == 0, fcntl(descriptor, setLease, F_WRLCK) == 0 else { return false }
        return fcntl(descriptor, setLease, F_UNLCK) == 0
    }
}
#endif
