// The file system of the operating system. Every call is repeated after interruptions and short results, descriptors are closed on
// `exec`, and a process that was forked after opening a file cannot write to it.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Folders and files of the operating system.
package struct PosixFileSystem: FileSystem {
    package init() {}

    package func open(_ path: String, _ mode: FileMode) throws(EngineError) -> any File {
        let flags: Int32 = switch mode {
        case .read: O_RDONLY
        case .readWrite: O_RDWR
        case .create: O_RDWR | O_CREAT | O_EXCL
        }
        let doing = mode == .create ? "creating the file" : "opening the file"
        let descriptor = try retrying(doing, path) { Self.openFile(path, flags | O_CLOEXEC) }
        return PosixFile(path: path, descriptor: try Self.aboveStandard(descriptor, path))
    }

    package func createDirectory(_ path: String) throws(EngineError) {
        _ = try retrying("creating the folder", path) { unsafe mkdir(path, 0o777) }
    }

    package func syncDirectory(_ path: String, _ site: SyncSite) throws(EngineError) {
        let doing = "syncing the folder"
        let descriptor = try retrying(doing, path) { Self.openFile(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        defer { _ = posixClose(descriptor) }
        _ = try retrying(doing, path) { fsync(descriptor) }
    }

    package func list(_ path: String) throws(EngineError) -> [String] {
        guard let directory = unsafe opendir(path) else {
            throw .system(errno, doing: "listing the folder", path: path)
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
        if unsafe stat(path, &status) == 0 { return true }
        if errno == ENOENT || errno == ENOTDIR { return false }
        throw .system(errno, doing: "looking for the file", path: path)
    }

    package func rename(_ source: String, to target: String) throws(EngineError) {
        _ = try retrying("renaming the file", source) { posixRename(source, target) }
    }

    package func remove(_ path: String) throws(EngineError) {
        _ = try retrying("removing the file", path) { posixRemove(path) }
    }

    package func lock(_ path: String, noting holder: String) throws(EngineError) -> any FileLock {
        let lock = try PosixFileLock(path: path, holder: holder) { () throws(EngineError) in
            let descriptor = try retrying("opening the file to lock", path) { Self.openFile(path, O_RDWR | O_CLOEXEC) }
            return try Self.aboveStandard(descriptor, path)
        }
        lock.note()
        return lock
    }

    package func isLocked(_ path: String) throws(EngineError) -> Bool {
        let descriptor: Int32
        do throws(EngineError) {
            descriptor = try retrying("opening the locked file", path) { Self.openFile(path, O_RDONLY | O_CLOEXEC) }
        } catch {
            if error.code == .notAStore { return false }
            throw error
        }
        defer { _ = posixClose(descriptor) }
        return try PosixFileLock.isHeld(descriptor, path)
    }

    private static func openFile(_ path: String, _ flags: Int32) -> Int32 {
        posixOpen(path, flags, 0o666)
    }

    /// A descriptor of at least 3: output to a closed standard stream must never reach a store.
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

// The types here have members that shadow the C functions of the same names.
func posixOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { unsafe open(path, flags, mode) }
private func posixRename(_ source: String, _ target: String) -> Int32 { unsafe rename(source, target) }
private func posixRemove(_ path: String) -> Int32 { unsafe remove(path) }
func posixClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
