import HornbeamThreads
import Testing

@testable import HornbeamEngine

/// Writing a piece at a time beside commits.
@Suite struct PiecesTests {
    /// A file that records its calls.
    private final class NotingFile: File {
        enum Call: Equatable {
            case write(Range<Int>)
            case writeBack
        }

        private let noted = Guarded<[Call]>([])
        private let content = MemoryFile(path: "noted", content: MemoryFile.Content())
        var calls: [Call] { noted.withLock { $0 } }
        var writes: [Range<Int>] {
            calls.compactMap { if case .write(let range) = $0 { range } else { nil } }
        }

        let path = "noted"
        func size() throws(EngineError) -> UInt64 { try content.size() }
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(EngineError) -> Int {
            try content.read(into: buffer, at: offset)
        }
        func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(EngineError) {
            noted.withLock { $0.append(.write(Int(offset)..<Int(offset) + buffer.count)) }
            try content.write(buffer, at: offset)
        }
        func sync(_ site: SyncSite) throws(EngineError) {}
        func writeBack() throws(EngineError) { noted.withLock { $0.append(.writeBack) } }
        func close() throws(EngineError) {}
    }

    @Test(arguments: [0, 1, 4095, 4096, 100_000, 1 << 20], [1, 4096, 131_072, 131_073, 1_000_003])
    func everyByteIsWrittenOnceInPiecesThatEndWhereBlocksDo(offset: Int, count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        for rests in [true, false] {
            let file = NotingFile()
            try bytes.withUnsafeBytes { try file.writeInPieces($0, at: UInt64(offset)) { rests } }
            #expect(file.calls == file.writes.flatMap { [.write($0), .writeBack] })
            #expect(file.writes.first?.lowerBound == offset && file.writes.last?.upperBound == offset + count)
            #expect(zip(file.writes, file.writes.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
            #expect(file.writes.dropLast().allSatisfy { $0.upperBound % 4096 == 0 })
            #expect(file.writes.allSatisfy { $0.count <= (rests ? 128 << 10 : 512 << 10) })
            var read = [UInt8](repeating: 0, count: count)
            #expect(try read.withUnsafeMutableBytes { try file.read(into: $0, at: UInt64(offset)) } == count)
            #expect(read == bytes)
        }
    }

    @Test func piecesGrowWhenAThreadWaits() throws {
        let file = NotingFile()
        var pieces = 0
        try [UInt8](repeating: 7, count: 1 << 20).withUnsafeBytes { bytes in
            try file.writeInPieces(bytes, at: 0) {
                pieces += 1
                return pieces <= 2
            }
        }
        #expect(file.writes.map(\.count) == [128 << 10, 128 << 10, 512 << 10, 256 << 10])
    }
}
