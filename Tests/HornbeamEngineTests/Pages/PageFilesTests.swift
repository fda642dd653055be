import Testing
@testable import HornbeamEngine

@Suite struct PageFilesTests {
    let disk = MemoryFileSystem()

    func makeFiles(salt: UInt64 = 7) throws -> PageFiles {
        if try !disk.exists("store") { try disk.createDirectory("store") }
        return try PageFiles(directory: "store", fileSystem: disk, salt: salt)
    }

    static func payload(_ seed: Int, count: Int, compressible: Bool) -> [UInt8] {
        var random = SplitMix(seed: UInt64(seed))
        return (0..<count).map { compressible ? UInt8($0 / 16 & 7) : UInt8(truncatingIfNeeded: random.next()) }
    }

    func read(_ files: PageFiles, _ reference: PageReference) throws -> ([UInt8], PageInfo) {
        var bytes = [UInt8](repeating: 0, count: PageAppender.payloadBytesMax)
        let info = try bytes.withMutableBytes { (buffer) throws(EngineError) in try files.read(reference, into: buffer) }
        return (Array(bytes[..<info.rawBytes]), info)
    }

    @Test(arguments: [0, 1, 7, 8, 100, 4096, 16384, 262144], [false, true])
    func everySizeComesBack(count: Int, compressible: Bool) throws {
        let files = try makeFiles()
        let appender = files.makeAppender()
        let payload = Self.payload(count, count: count, compressible: compressible)
        let heading = PageHeading(kind: .tableLeaf, tree: TreeID(0xABCDEF), level: 3, checkpoint: 99)
        let reference = try payload.withBytes { (bytes) throws(EngineError) in try appender.append(heading, bytes, count: 5) }
        #expect(reference.count == 5)
        let (bytes, info) = try read(files, reference)
        #expect(bytes == payload)
        #expect(info == PageInfo(heading: heading, rawBytes: count))
        if compressible && count > 1000 { #expect(reference.recordBytes < count / 2) }
    }

    @Test func unflushedPagesAreReadable() throws {
        let files = try makeFiles()
        let appender = files.makeAppender()
        var made: [(PageReference, [UInt8])] = []
        for seed in 0..<50 {
            let payload = Self.payload(seed, count: seed * 37, compressible: seed % 3 == 0)
            let heading = PageHeading(kind: .inner, tree: TreeID(1), checkpoint: 1)
            made.append((try payload.withBytes { (bytes) throws(EngineError) in try appender.append(heading, bytes) }, payload))
            if seed == 20 { try appender.sync() }
        }
        for (reference, payload) in made { #expect(try read(files, reference).0 == payload) }
    }
}
