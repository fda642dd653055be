// The memory that this process may use.

import Glibc

/// The memory of the machine, or less if the process is in a control group with a limit, as in a container.
package enum MemoryLimit {
    /// The limit in bytes, read once.
    static let bytes = min(sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)), ofControlGroups() ?? .max)

    /// The smallest limit of the process's control group and of the groups above it, of cgroup version 1 and 2; nil without a limit.
    ///
    /// A group that the process cannot see has no readable limit. In a container the group of the container is usually mounted as the
    /// topmost one.
    /// - Parameter root: The folder that contains `proc` and `sys`; another one in tests.
    package static func ofControlGroups(root: String = "") -> Int? {
        let groups = text("\(root)/proc/self/cgroup") ?? ""
        let found = groups.split(separator: "\n").flatMap { line -> [Int] in
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return [] }
            if parts[1].isEmpty { return limits(of: parts[2], below: "\(root)/sys/fs/cgroup", file: "memory.max") }
            guard parts[1].split(separator: ",").contains("memory") else { return [] }
            return limits(of: parts[2], below: "\(root)/sys/fs/cgroup/memory", file: "memory.limit_in_bytes")
        }
        return found.min()
    }

    /// The limits of a group and of the groups above it.
    private static func limits(of group: Substring, below mount: String, file: String) -> [Int] {
        var names = group.split(separator: "/")
        // A group outside of the process's namespace is named relative to the topmost one.
        if names.contains("..") { names = [] }
        var limits: [Int] = []
        while true {
            let folder = names.isEmpty ? mount : mount + "/" + names.joined(separator: "/")
            if let limit = text("\(folder)/\(file)")?.split(separator: "\n").first.flatMap({ Int($0) }), limit > 0 { limits.append(limit) }
            if names.popLast() == nil { return limits }
        }
    }

    /// The first 64 KiB of a file; nil if it cannot be read.
    private static func text(_ path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = unsafe max(read(file, buffer.baseAddress, buffer.count), 0)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
