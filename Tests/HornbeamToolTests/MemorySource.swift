@testable import HornbeamTool

/// Bytes in memory.
final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private let chunk: Int
    private var position = 0
    /// The largest buffer that a reader has offered.
    private(set) var largestBuffer = 0

    /// - Parameter chunk: The maximum number of bytes per read.
    init(_ text: String, chunk: Int = .max) {
        bytes = Array(text.utf8)
        self.chunk = chunk
    }

    init(bytes: [UInt8], chunk: Int = .max) {
        self.bytes = bytes
        self.chunk = chunk
    }

    var fractionRead: Double { bytes.isEmpty ? 1 : Double(position) / Double(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        largestBuffer = max(largestBuffer, buffer.count)
        let count = min(buffer.count, chunk, bytes.count - position)
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count])) }
        position += count
        return count
    }
}
