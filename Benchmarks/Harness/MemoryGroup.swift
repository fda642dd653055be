import Foundation

/// A control group of the kernel that limits the memory of the processes in it, the page cache of the files that they read included.
final class MemoryGroup {
    let path: String

    /// Creates a group; nil if the machine lets this process create none, which needs root.
    init?(bytes: Int) {
        let name = "hornbeam-bench-\(ProcessInfo.processInfo.processIdentifier)-\(bytes >> 20)"
        // The memory controller of version 1 has a hierarchy of its own; of version 2, all controllers share one.
        for (mount, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let path = "\(mount)/\(name)"
            guard mkdir(path, 0o755) == 0 else { continue }
            if FileManager.default.fileExists(atPath: "\(path)/\(limit)"), Self.write("\(bytes)", to: "\(path)/\(limit)") {
                self.path = path
                return
            }
            rmdir(path)
        }
        return nil
    }

    deinit { rmdir(path) }

    /// Moves this process into a group.
    static func enter(_ path: String) throws {
        guard write("\(ProcessInfo.processInfo.processIdentifier)", to: "\(path)/cgroup.procs") else {
            throw BenchmarkError("The process cannot enter the memory group \(path).")
        }
    }

    private static func write(_ text: String, to path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return text.withCString { Glibc.write(file, $0, strlen($0)) == strlen($0) }
    }
}

extension Folder {
    /// Removes the content of the files at or below a path from the page cache, so that the next process that reads it is charged for it.
    static func dropCache(at path: String) {
        sync()
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return }
        if isFolder.boolValue {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] { dropCache(at: path + "/" + name) }
            return
        }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
        close(file)
    }
}
