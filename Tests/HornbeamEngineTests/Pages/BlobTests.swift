import Testing
@testable import HornbeamEngine

@Suite struct BlobTests {
    func write(_ bytes: [UInt8], _ bench: PageBench, _ appender: PageAppender, chunk: Int, fanOut: Int) throws -> PageReference {
        try bytes.withBytes { (buffer) throws(EngineError) in
            try bench.files.appendBlob(
                buffer, tree: TreeID(5), version: TransactionNumber(2), to: appender, chunkBytes: chunk, fanOut: fanOut)
        }
    }

    /// Every length around the borders of chunks and indexes, with sizes that reach index levels 1 to 5.
    @Test func everyLengthComesBack() throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender()
        for count in [1, 9, 10, 11, 19, 20, 21, 29, 30, 31, 89, 90, 91, 300, 2431] {
            let bytes = PageBench.payload(count, count: count)
            let reference = try write(bytes, bench, appender, chunk: 10, fanOut: 3)
            #expect(reference.count == UInt64(count) && reference.isBlobIndex == (count > 10))
            #expect(try bench.files.readBlob(reference) == bytes)
        }
    }

    @Test(arguments: [1, 1 << 18, (1 << 18) + 1, 700_000])
    func realChunksComeBack(count: Int) throws {
        let bench = try PageBench()
        let bytes = PageBench.payload(count, count: min(count, 500_000), compressible: true) + [UInt8](repeating: 7, count: max(0, count - 500_000))
        let reference = try bytes.withBytes { (buffer) throws(EngineError) in
            try bench.files.appendBlob(buffer, tree: TreeID(1), version: TransactionNumber(1), to: bench.files.makeAppender())
        }
        #expect(try bench.files.readBlob(reference) == bytes)
        var pages = 0
        try bench.files.forEachBlobPage(reference) { (_) throws(EngineError) in pages += 1 }
        let chunks = (count + (1 << 18) - 1) >> 18
        #expect(pages == (chunks == 1 ? 1 : chunks + 1))
    }

    @Test func everyRecordIsEnumerated() throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender()
        let reference = try write(PageBench.payload(1, count: 100), bench, appender, chunk: 10, fanOut: 3)
        var bytes = 0
        try bench.files.forEachBlobPage(reference) { (page) throws(EngineError) in bytes += page.recordBytes }
        #expect(UInt64(bytes) == appender.bytesAppended)
    }

    @Test func movingABlobRewritesWhatMustMove() throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender(fileSizeLimit: 400)
        let bytes = PageBench.payload(8, count: 300)
        let reference = try write(bytes, bench, appender, chunk: 20, fanOut: 4)
        var files: Set<PageFileNumber> = []
        try bench.files.forEachBlobPage(reference) { (page) throws(EngineError) in files.insert(page.file) }
        try #require(files.count > 3)
        for victim in files.sorted() {
            let moved = try bench.files.copyBlob(reference, to: appender, version: TransactionNumber(3)) { $0 == victim }
            #expect(moved != reference && moved.count == reference.count)
            #expect(try bench.files.readBlob(moved) == bytes)
            try bench.files.forEachBlobPage(moved) { (page) throws(EngineError) in
                if page.file == victim { Issue.record("A record stayed behind in \(victim).") }
            }
        }
        #expect(try bench.files.copyBlob(reference, to: appender, version: TransactionNumber(3)) { _ in false } == reference)
    }

    @Test func aHostileIndexIsRefused() throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender()
        let chunk = try write([1, 2, 3], bench, appender, chunk: 10, fanOut: 3)
        func index(_ references: [PageReference], level: Int, count: UInt64) throws -> PageReference {
            let heading = PageHeading(kind: .blobIndex, tree: TreeID(1), level: level, version: TransactionNumber(1))
            var reference = try bench.append(BlobIndex(references).encoded, to: appender, heading: heading)
            reference.count = count
            return reference.flagged(PageReference.blobIndexFlag)
        }
        #expect(try bench.files.readBlob(index([chunk, chunk], level: 1, count: 6)) == [1, 2, 3, 1, 2, 3])
        let short = try index([chunk, chunk], level: 1, count: 7)
        #expect(message { try bench.files.readBlob(short) }.contains("the blob's chunks do not add up"))
        let empty = try index([], level: 1, count: 0)
        #expect(message { try bench.files.readBlob(empty) }.contains("the blob's chunks do not add up"))
        let inner = try index([chunk], level: 1, count: 3)
        let level = try index([inner], level: 1, count: 3)
        #expect(message { try bench.files.readBlob(level) }.contains("the blob's chunks do not add up"))
        var long = chunk
        long.count = 4
        #expect(message { try bench.files.readBlob(long) }.contains("the blob's chunks do not add up"))
        long.count = .max
        #expect(message { try bench.files.readBlob(long) }.contains("the blob's chunks do not add up"))
        let leaf = try bench.append([1, 2, 3], to: appender)
        #expect(message { try bench.files.readBlob(leaf) }.contains("not the expected one"))
    }
}
