import Foundation

/// The current case of a run, in memory that is shared through a file. So another process can report it after a trap or a hang.
///
///      0          8       16       18        1024
///      +----------+-------+--------+---------+
///      | notes    | seed  | length | name    |
///      +----------+-------+--------+---------+
final class Trail {
    private static let bytes = 1024
    private let memory: UnsafeMutableRawPointer

    init(path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        guard descriptor >= 0, ftruncate(descriptor, off_t(Self.bytes)) == 0,
            let memory = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
        else { throw Finding("The trail in \(path) cannot be mapped.") }
        self.memory = memory
    }

    deinit { munmap(memory, Self.bytes) }

    func note(_ seed: UInt64, _ name: String) {
        var name = name
        name.withUTF8 { text in
            let count = min(text.count, Self.bytes - 18)
            memory.storeBytes(of: seed, toByteOffset: 8, as: UInt64.self)
            memory.storeBytes(of: UInt16(count), toByteOffset: 16, as: UInt16.self)
            if count > 0 { (memory + 18).copyMemory(from: text.baseAddress!, byteCount: count) }
            memory.storeBytes(of: notes &+ 1, as: UInt64.self)
        }
    }

    /// The number of recorded cases.
    var notes: UInt64 { memory.load(as: UInt64.self) }
    var seed: UInt64 { memory.load(fromByteOffset: 8, as: UInt64.self) }

    var name: String {
        let count = min(Int(memory.load(fromByteOffset: 16, as: UInt16.self)), Self.bytes - 18)
        return String(decoding: UnsafeRawBufferPointer(start: memory + 18, count: count), as: UTF8.self)
    }
}
