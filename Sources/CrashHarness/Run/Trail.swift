import Foundation

/// The current case of a run, in memory that is shared through a file. So another process can report it after a trap or a hang.
///
///      0          8       16       18        1024
///      +----------+-------+--------+---------+
///      | notes    | seed  | length | name    |
///      +----------+-------+--------+---------+
@safe final class Trail {
    private static let bytes = 1024
    private let memory: UnsafeMutableRawPointer

    init(path: String) throws {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        guard descriptor >= 0, ftruncate(descriptor, off_t(Self.bytes)) == 0,
            let memory = unsafe mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), unsafe memory != MAP_FAILED
        else { throw Finding("The trail in \(path) cannot be mapped.") }
        unsafe self.memory = unsafe memory
    }

    deinit { unsafe munmap(memory, Self.bytes) }

    func note(_ seed: UInt64, _ name: String) {
        var name = name
        name.withUTF8 { text in
            let count = min(text.count, Self.bytes - 18)
            unsafe memory.storeBytes(of: seed, toByteOffset: 8, as: UInt64.self)
            unsafe memory.storeBytes(of: UInt16(count), toByteOffset: 16, as: UInt16.self)
            if count > 0 { unsafe (memory + 18).copyMemory(from: text.baseAddress!, byteCount: count) }
            unsafe memory.storeBytes(of: notes &+ 1, as: UInt64.self)
        }
    }

    /// The number of recorded cases.
    var notes: UInt64 { unsafe memory.load(as: UInt64.self) }
    var seed: UInt64 { unsafe memory.load(fromByteOffset: 8, as: UInt64.self) }

    var name: String {
        let count = unsafe min(Int(memory.load(fromByteOffset: 16, as: UInt16.self)), Self.bytes - 18)
        return unsafe String(decoding: UnsafeRawBufferPointer(start: memory + 18, count: count), as: UTF8.self)
    }
}
