// The folders of the stores that are locked for writing. While a store is open, its folder can be moved, and another store can be created
// at the old path. A call by path would then change the other store's files. So calls use a descriptor of the locked folder.
//
// Invariants:
// - The descriptor is opened first, and the file to lock is opened relative to it. So lock and descriptor belong to one folder.
// - The descriptor is closed after the lock was released and the last call with it has returned.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import HornbeamThreads

/// An open folder. Its descriptor is closed with the object.
final class OpenFolder: Sendable {
    let path: String
    let descriptor: Int32

    init(_ path: String) throws(EngineError) {
        self.path = path
        let opened = try retrying("opening the folder", path) { posixOpen(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
        defer { _ = posixClose(opened) }
        descriptor = try retrying("opening the folder", path) { fcntl(opened, F_DUPFD_CLOEXEC, 3) }
    }

    deinit { _ = posixClose(descriptor) }
}

/// The folders in which one file system holds a lock.
final class LockedFolders: Sendable {
    private let folders = Guarded<[String: OpenFolder]>([:])

    func insert(_ folder: OpenFolder) { folders.withLock { $0[folder.path] = folder } }

    func remove(_ folder: OpenFolder) {
        folders.withLock { folders in
            if folders[folder.path] === folder { folders[folder.path] = nil }
        }
    }

    /// Calls a closure with the descriptor of a file's folder and the file's name in it. If the folder is not locked, the closure gets
    /// `AT_FDCWD` and the path.
    func reach(_ path: String, _ body: (Int32, String) -> Int32) -> Int32 {
        let (folder, name) = Self.parts(path)
        guard let open = folders.withLock({ $0[folder] }) else { return body(AT_FDCWD, path) }
        return withExtendedLifetime(open) { body(open.descriptor, name) }
    }

    /// Like `reach`, for the path of a folder. If the folder itself is locked, the closure gets its descriptor and `.`.
    func reachFolder(_ path: String, _ body: (Int32, String) -> Int32) -> Int32 {
        guard let open = folders.withLock({ $0[path] }) else { return reach(path, body) }
        return withExtendedLifetime(open) { body(open.descriptor, ".") }
    }

    static func parts(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return (".", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}
