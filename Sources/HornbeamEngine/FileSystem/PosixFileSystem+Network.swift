// Distinguishes network file systems from local ones. On Linux the type number identifies the usual local file systems. For all others the
// name is read from the kernel's list of mounts, which takes longer than opening a store.

#if canImport(Glibc)
internal import CSystem
internal import Glibc
#else
internal import Darwin
#endif

extension PosixFileSystem {
    package func networkFileSystem(of path: String) -> String? {
        // A new store is on the file system of its folder.
        let candidates = [path, parent(ofPath: path)]
        #if canImport(Glibc)
        for candidate in candidates {
            let type = unsafe file_system_type(candidate)
            if type != 0 {
                if Self.localTypes.contains(type) { return nil }
                break
            }
        }
        var status = stat()
        guard candidates.contains(where: { unsafe stat($0, &status) == 0 }) else { return nil }
        let type = Self.type(ofDevice: UInt64(status.st_dev), inMounts: Self.text(of: "/proc/self/mountinfo"))
        return type.flatMap { Self.isServedByNetwork($0) ? $0 : nil }
        #else
        var status = statfs()
        guard candidates.contains(where: { unsafe statfs($0, &status) == 0 }) else { return nil }
        return status.f_flags & UInt32(MNT_LOCAL) != 0 ? nil : "remote"
        #endif
    }

    package func availableBytes(_ path: String) -> Int? {
        #if canImport(Glibc)
        let bytes = unsafe file_system_available(path)
        return bytes < 0 ? nil : Int(bytes)
        #else
        var status = statfs()
        guard unsafe statfs(path, &status) == 0 else { return nil }
        return Int(clamping: status.f_bavail &* UInt64(status.f_bsize))
        #endif
    }

    /// ext2 to ext4, XFS, Btrfs, tmpfs, overlay, ZFS and F2FS, as the kernel numbers them.
    private static let localTypes: Set<UInt> = [
        0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1, 0xF2F5_2010,
    ]

    /// Whether a file system is served by another machine. Of the FUSE file systems only the listed ones are; most are local.
    static func isServedByNetwork(_ type: String) -> Bool {
        let known = [
            "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "coda", "ncpfs", "ceph", "lustre", "glusterfs", "gpfs",
            "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.davfs",
        ]
        return known.contains(type)
    }

    /// The type of a device's file system. A line of `mounts` is `36 35 98:0 /root /mount options … - type source options`.
    static func type(ofDevice device: UInt64, inMounts mounts: String) -> String? {
        let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
        let minor = device & 0xFF | device >> 12 & ~0xFF & 0xFFFF_FFFF
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 3, fields[2] == "\(major):\(minor)", let dash = fields.lastIndex(of: "-"),
                dash + 1 < fields.count
            else { continue }
            return String(fields[dash + 1])
        }
        return nil
    }

    /// The text of a file in `/proc`; empty if it cannot be read.
    private static func text(of path: String) -> String {
        let descriptor = posixOpen(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return "" }
        defer { _ = posixClose(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
