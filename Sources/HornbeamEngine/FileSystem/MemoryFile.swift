// A file in memory, in pieces of 64 KiB. A piece is allocated when a byte other than zero is first written to it. So a log segment full of
// zeros needs no memory, and the bytes of a growing file are never moved.

internal import HornbeamThreads

/// An open file of a `MemoryFileSystem`.
final class MemoryFile: File {
    /// The bytes of a file. All open handles of the file share them.
    final class Content: Sendable {
        struct Bytes {
            var size: UInt64 = 0
            /// A nil piece is all zeros.
            var pieces: [[UInt8]?] = []
        }
        let bytes = Guarded(Bytes())
    }

    static let pieceBytes = 65536

    let path: String
    private let content: Content

    init(path: String, content: Content) {
        self.path = path
        self.content = content
    }

    func size() throws(EngineError) -> UInt64 { content.bytes.withLock { $0.size } }
    func sync(_ site: SyncSite) throws(EngineError) {}
    func writeBack() throws(EngineError) {}
    func close() throws(EngineError) {}

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int {
        content.bytes.withLock { bytes in
            guard offset < bytes.size else { return 0 }
            let count = Int(min(UInt64(buffer.count), bytes.size - offset))
            Self.forEachPiece(offset, count) { index, start, done, length in
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + length])
                if let piece = bytes.pieces[index] {
                    unsafe piece.withUnsafeBytes { unsafe part.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + length])) }
                } else {
                    unsafe part.initializeMemory(as: UInt8.self, repeating: 0)
                }
            }
            return count
        }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError) {
        content.bytes.withLock { bytes in
            let end = offset + UInt64(buffer.count)
            let pieceCount = (Int(end) + Self.pieceBytes - 1) / Self.pieceBytes
            while bytes.pieces.count < pieceCount { bytes.pieces.append(nil) }
            Self.forEachPiece(offset, buffer.count) { index, start, done, length in
                let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[done..<done + length])
                if bytes.pieces[index] == nil {
                    if unsafe part.isZero { return }
                    bytes.pieces[index] = [UInt8](repeating: 0, count: Self.pieceBytes)
                }
                unsafe bytes.pieces[index]!.withUnsafeMutableBytes {
                    unsafe UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + length]).copyMemory(from: part)
                }
            }
            bytes.size = max(bytes.size, end)
        }
    }

    /// Calls `body` for each affected piece: its index, the offset in it, the number of bytes already done, and the number of bytes in it.
    private static func forEachPiece(_ offset: UInt64, _ count: Int, _ body: (Int, Int, Int, Int) -> Void) {
        var done = 0
        while done < count {
            let position = Int(offset) + done
            let start = position % pieceBytes
            let length = min(pieceBytes - start, count - done)
            body(position / pieceBytes, start, done, length)
            done += length
        }
    }
}
