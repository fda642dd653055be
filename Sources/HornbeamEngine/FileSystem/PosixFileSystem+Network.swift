// Tells file systems that another machine serves from local ones. The C library's module hides `statfs`, so on Linux
// the kernel's list of mounts is asked for the type of the device that a path lies on.

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

extension PosixFileSystem {
    package func networkFileSystem(of path: String) -> String? {
        // A store that is about to be made lies where its folder does.
        let candidates = [path, parent(ofPath: path)]
        #if canImport(Glibc)
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

    /// Of FUSE only what is known to lead elsewhere: most of it is local.
    static func isServedByNetwork(_ type: String) -> Bool {
        let known = [
            "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "coda", "ncpfs", "ceph", "lustre", "glusterfs", "gpfs",
            "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.davfs",
        ]
        return known.contains(type)
    }

    /// The type of a device's file system: `36 35 98:0 /root /mount options … - type source options` is a line.
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

    /// A small file of the kernel's; empty when it cannot be read.
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
