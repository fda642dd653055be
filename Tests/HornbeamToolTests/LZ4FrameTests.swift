import Testing

@testable import HornbeamTool

/// The bytes are frames made by `lz4 -c` from the texts beside them.
@Suite struct LZ4FrameTests {
    private static let hello: [UInt8] = [
        0x04, 0x22, 0x4D, 0x18, 0x64, 0x40, 0xA7, 0x10, 0x00, 0x00, 0x80, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 
        0x2C, 0x20, 0x68, 0x6F, 0x72, 0x6E, 0x62, 0x65, 0x61, 0x6D, 0x0A, 0x00, 0x00, 0x00, 0x00, 0x18, 
        0x13, 0x65, 0xCD,
    ]
    private static let repeated: [UInt8] = [
        0x04, 0x22, 0x4D, 0x18, 0x64, 0x40, 0xA7, 0x31, 0x00, 0x00, 0x00, 0x8F, 0x61, 0x62, 0x63, 0x64, 
        0x65, 0x66, 0x67, 0x68, 0x08, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x40, 0x50, 0x65, 0x66, 0x67, 0x68, 0x0A, 0x00, 0x00, 0x00, 0x00, 
        0xFD, 0x92, 0x4B, 0x3E,
    ]

    private func decode(_ bytes: [UInt8], chunk: Int = .max, bufferSize: Int = 4096) throws -> String {
        let source = try LZ4FrameSource(MemorySource(bytes: bytes, chunk: chunk), path: "list.lz4")
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: bufferSize)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { return String(decoding: text, as: UTF8.self) }
            text += buffer[..<count]
        }
    }

    @Test func framesAreDecoded() throws {
        #expect(try decode(Self.hello) == "hello, hornbeam\n")
        #expect(try decode(Self.repeated) == String(repeating: "abcdefgh", count: 1000) + "\n")
        #expect(try decode([]) == "")
    }

    @Test(arguments: [1, 3, 7, 64], [1, 5, 100, 10_000])
    func anySizesOfReadsWillDo(chunk: Int, bufferSize: Int) throws {
        #expect(try decode(Self.repeated, chunk: chunk, bufferSize: bufferSize).utf8.count == 8001)
    }

    @Test func framesFollowOneAnother() throws {
        #expect(try decode(Self.hello + Self.hello) == "hello, hornbeam\nhello, hornbeam\n")
    }

    @Test func aCutFrameIsAnError() {
        for length in 1..<Self.hello.count {
            #expect(throws: CatalogueError("'list.lz4' ends in the middle of its LZ4 data; run 'apt-get update' to fetch it again.")) {
                try decode(Array(Self.hello[..<length]))
            }
        }
    }

    @Test func otherBytesAreAnError() {
        #expect(throws: CatalogueError(
            "'list.lz4' is not valid LZ4 data (ERROR_frameType_unknown); run 'apt-get update' to fetch it again.")
        ) { try decode(Array("Package: this is text, not LZ4".utf8)) }
    }
}
