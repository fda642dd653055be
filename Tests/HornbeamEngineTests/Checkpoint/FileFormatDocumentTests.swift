import Testing
@testable import HornbeamEngine

/// The document of the format agrees with the code: the bytes of the example are decoded and encoded again.
@Suite struct FileFormatDocumentTests {
    let blocks: [String: Substring]

    init() throws { blocks = try FormatExample.documentBlocks() }

    static let lengths = ["meta": 16384, "pages-0000000000000001": 40, "wal-0000000000000001": 12288]

    @Test(arguments: lengths.keys.sorted())
    func theExampleIsWhatTheCodeWrites(name: String) throws {
        let written = try #require(try FormatExample.write()[name])
        #expect(written.count == Self.lengths[name])
        let block = blocks[name].map(String.init)
        #expect(block == FormatExample.dump(written))
    }

    @Test func theExampleIsWhatTheCodeReads() throws {
        let disk = MemoryFileSystem()
        for (name, count) in Self.lengths {
            let block = try #require(blocks[name])
            let bytes = try #require(FormatExample.parse(block, count: count))
            let file = try disk.open(name, .create)
            try bytes.withBytes { (buffer) throws(EngineError) in try file.write(buffer, at: 0) }
        }
        let state = try #require(try MetaFile.open("meta", fileSystem: disk).states.first)
        #expect(state == FormatExample.state(catalogue: state.catalogue))
        let files = try PageFiles(directory: ".", fileSystem: disk, salt: state.salt)
        #expect(try files.readBlob(state.catalogue) == Array("Hornbeam".utf8))
        var payloads: [[UInt8]] = []
        let reader = LogReader(directory: ".", fileSystem: disk, store: state.store)
        let end = try reader.replay(from: state.log, oldest: state.oldestLogSegment, cleanlyClosed: state.isCleanlyClosed) {
            (number, payload, _) throws(EngineError) in payloads.append([UInt8](payload))
        }
        #expect(payloads == FormatExample.records.map(\.payload))
        #expect(end.mark.position == LogPosition(4096))
    }
}
