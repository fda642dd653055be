// The file system of the operating system. Interrupted and partial calls are repeated, descriptors are closed on `exec`, and a forked child
// cannot write to files that its parent opened. While a lock is held, calls for files in the locked folder use its descriptor, even if
// another folder is now at that path. Only free space and the kind of file system are queried by path.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Folders and files of the operating system.
package struct PosixFileSystem: FileSystem {
    let lockedFolders = LockedFolders()
    /// The longest wait of a shared lock for an event, in milliseconds; negative without a limit. Tests set it, so that only events end the waits.
    var eventWaitMax = FileEvents.waitMax

    package init() {}

    package func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File {
        let flags: Int32 = switch mode {
        case .read: O_RDONLY
        // A store may come from an untrusted source, so writes do not follow its symbolic links.
        case .readWrite: O_RDWR | O_NOFOLLOW
        case .create: O_RDWR | O_CREAT | O_EXCL
        }
        let doing = mode == .create ? "creating the file" : "opening the file"
        let descriptor = try retrying(doing, path) { openFile(path, flags) }
        return PosixFile(path: path, descriptor: try Self.aboveStandard(descriptor, path))
    }

    package func createDirectory(_ path: String) throws(EngineError) {
        _ = try retrying("creating the folder", path) { lockedFolders.reach(path) { unsafe mkdirat($0, $1, 0o777) } }
    }

    package func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError) {
        let doing = "syncing the folder"
        let descriptor = try retrying(doing, path) { openFolder(path) }
        defer { _ = posixClose(descriptor) }
        _ = try retrying(doing, path) { fsync(descriptor) }
    }

    package func list(_ path: String) throws(EngineError) -> [String] {
        let descriptor = try retrying("listing the folder", path) { openFolder(path) }
        guard let directory = unsafe fdopendir(descriptor) else {
            let error = errno
            _ = posixClose(descriptor)
            throw .system(error, doing: "listing the folder", path: path)
        }
        defer { _ = unsafe closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(directory) else { break }
            let name = unsafe Self.name(of: entry)
            if name != "." && name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw .system(errno, doing: "listing the folder", path: path) }
        return names.sorted()
    }

    package func exists(_ path: String) throws(EngineError) -> Bool {
        var status = stat()
        if lockedFolders.reach(path, { unsafe fstatat($0, $1, &status, 0) }) == 0 { return true }
        if errno == ENOENT || errno == ENOTDIR { return false }
        throw .system(errno, doing: "looking for the file", path: path)
    }

    package func rename(_ source: String, to target: String) throws(EngineError) {
        _ = try retrying("renaming the file", source) {
            lockedFolders.reach(source) { folder, name in
                lockedFolders.reach(target) { unsafe renameat(folder, name, $0, $1) }
            }
        }
    }

    package func remove(_ path: String) throws(EngineError) {
        _ = try retrying("removing the file", path) { lockedFolders.reach(path, posixRemove) }
    }

    package func lock(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any FileLock {
        let lock = try lock(path, holder: holder, isShared: false)
        lock.recordHolder()
        return lock
    }

    package func share(_ path: String, recordingHolderIn holder: String) throws(EngineError) -> any SharedFileLock {
        try PosixSharedLock(try lock(path, holder: holder, isShared: true), path: path, holder: holder, waitMax: eventWaitMax)
    }

    private static let lockFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC

    private func lock(_ path: String, holder: String, isShared: Bool) throws(EngineError) -> PosixFileLock {
        let (folder, name) = LockedFolders.parts(path)
        let locked = try OpenFolder(folder)
        return try PosixFileLock(path: path, holder: holder, isShared: isShared, in: locked, of: lockedFolders) { () throws(EngineError) in
            let descriptor = try retrying("opening the file to lock", path) { posixOpen(name, Self.lockFlags, 0o666, in: locked.descriptor) }
            return try Self.aboveStandard(descriptor, path)
        }
    }

    package func isLocked(_ path: String) throws(EngineError) -> Bool {
        let descriptor: Int32
        do throws(EngineError) {
            descriptor = try retrying("opening the locked file", path) { openFile(path, O_RDONLY) }
        } catch {
            if error.code == .notAStore { return false }
            throw error
        }
        defer { _ = posixClose(descriptor) }
        return try PosixFileLock.isHeld(descriptor, path)
    }

    func openFile(_ path: String, _ flags: Int32) -> Int32 {
        lockedFolders.reach(path) { posixOpen($1, flags | O_CLOEXEC, 0o666, in: $0) }
    }

    private func openFolder(_ path: String) -> Int32 {
        lockedFolders.reachFolder(path) { posixOpen($1, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, in: $0) }
    }

    /// Returns a descriptor of at least 3. If a standard stream is closed, its number could belong to a file of the store, and the
    /// program's output would be written there.
    private static func aboveStandard(_ descriptor: Int32, _ path: String) throws(EngineError) -> Int32 {
        guard descriptor < 3 else { return descriptor }
        defer { _ = posixClose(descriptor) }
        return try retrying("opening the file", path) { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    }

    private static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
        unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
            unsafe field.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
                unsafe String(cString: $0)
            }
        }
    }
}

/// Repeats an interrupted call, and throws any other error.
func retrying(_ doing: String, _ path: String, _ call: () -> Int32) throws(EngineError) -> Int32 {
    while true {
        let result = call()
        if result >= 0 { return result }
        if errno != EINTR { throw .system(errno, doing: doing, path: path) }
    }
}

// C functions under other names, since members of the types in this folder hide the original names.
func posixOpen(_ path: String, _ flags: Int32, _ mode: mode_t, in folder: Int32 = AT_FDCWD) -> Int32 {
    unsafe openat(folder, path, flags, mode)
}
/// Removes a file or an empty folder like `remove` of the C library, but relative to a folder.
private func posixRemove(_ folder: Int32, _ path: String) -> Int32 {
    let result = unsafe unlinkat(folder, path, 0)
    guard result != 0, errno == EISDIR || errno == EPERM else { return result }
    return unsafe unlinkat(folder, path, AT_REMOVEDIR)
}
func posixClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
