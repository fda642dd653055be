@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The store of the worked example in `Docs/FileFormat.md`: every choice that is random otherwise is fixed.
struct FormatExample {
    static let store = StoreIdentifier(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
    static let salt: UInt64 = 0x1112_1314_1516_1718
    static let segmentSalt: UInt64 = 0x2122_2324_2526_2728
    static let heading = PageHeading(kind: .blobChunk, tree: TreeID(7), level: 0, version: TransactionNumber(1))
    static let records = [
        TransactionRecord(number: TransactionNumber(1), payload: Array("first".utf8)),
        TransactionRecord(number: TransactionNumber(2), payload: []),
    ]

    static func state(catalogue: PageReference) -> MetaState {
        MetaState(
            store: store, salt: salt, pageSize: 16384, checkpoint: 1, log: .origin, transaction: .zero,
            nextObjectKey: 1, catalogue: catalogue, fileTable: .empty, oldestLogSegment: LogSegmentNumber(1),
            nextLogSegment: LogSegmentNumber(1), nextPageFile: PageFileNumber(2), isCleanlyClosed: true)
    }

    /// Writes the example's files and returns them by name.
    static func write() throws -> [String: [UInt8]] {
        let disk = SimulatedDisk()
        let files = try PageFiles(directory: ".", fileSystem: disk, salt: salt)
        let appender = files.makeAppender()
        let reference = try Array("Hornbeam".utf8).withBytes { (bytes) throws(EngineError) in
            try appender.append(heading, bytes, count: 8)
        }
        try appender.sync()
        _ = try MetaFile.create("meta", fileSystem: disk, state: state(catalogue: reference))
        let writer = try LogWriter(
            directory: ".", fileSystem: disk, store: store, continuing: .origin, nextSegment: LogSegmentNumber(1),
            options: LogOptions(firstSegmentBytes: 12288, salt: { segmentSalt }))
        _ = try writer.append(records)
        return disk.files
    }

    /// Lines of an offset and 16 bytes; lines of zeros are left out.
    static func dump(_ bytes: [UInt8]) -> String {
        var lines: [String] = []
        for start in stride(from: 0, to: bytes.count, by: 16) {
            let row = bytes[start..<min(start + 16, bytes.count)]
            if row.allSatisfy({ $0 == 0 }) { continue }
            let cells = row.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
            let offset = String(start, radix: 16)
            lines.append(String(repeating: "0", count: 4 - offset.count) + offset + "  " + cells.joined(separator: " "))
        }
        return lines.joined(separator: "\n")
    }

    /// The bytes of such lines in a file of a given length.
    static func parse(_ text: some StringProtocol, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let offset = words.first.flatMap({ Int($0, radix: 16) }) else { return nil }
            for (index, word) in words.dropFirst().enumerated() {
                guard let byte = UInt8(word, radix: 16), offset + index < count else { return nil }
                bytes[offset + index] = byte
            }
        }
        return bytes
    }

    /// The blocks of bytes in the document, by the name that heads each.
    static func documentBlocks() throws -> [String: Substring] {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
        let file = try PosixFileSystem().open(root + "/Docs/FileFormat.md", .read)
        var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
        _ = try bytes.withMutableBytes { (buffer) throws(EngineError) in try file.read(into: buffer, at: 0) }
        let text = String(decoding: bytes, as: UTF8.self)
        var found: [String: Substring] = [:]
        for block in text.split(separator: "```bytes ").dropFirst() {
            guard let end = block.firstRange(of: "```"), let line = block.firstIndex(of: "\n") else { continue }
            found[String(block[..<line])] = block[block.index(after: line)..<block.index(before: end.lowerBound)]
        }
        return found
    }
}
