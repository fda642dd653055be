import HornbeamSimulation
import HornbeamThreads
import Testing
@testable import HornbeamEngine

/// Helpers of the page-file tests: a folder of page files and payloads that follow from a seed.
struct PageBench {
    let fileSystem: any FileSystem
    let files: PageFiles

    init(on fileSystem: any FileSystem = MemoryFileSystem(), salt: UInt64 = 7) throws {
        self.fileSystem = fileSystem
        if try !fileSystem.exists("s") {
            try fileSystem.createDirectory("s")
            try fileSystem.syncDirectory(".", .pageFileNames)
        }
        files = try PageFiles(directory: "s", fileSystem: fileSystem, salt: salt)
    }

    static let heading = PageHeading(kind: .tableLeaf, tree: TreeID(0xABCDEF), level: 3, version: TransactionNumber(99))

    private static let noise: [UInt8] = {
        var random = SplitMix(seed: 1)
        return (0..<1 << 19).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }()

    static func payload(_ seed: Int, count: Int, compressible: Bool = false) -> [UInt8] {
        guard compressible else { return Array(noise[seed % 1000..<seed % 1000 + count]) }
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: count)
        for index in stride(from: 0, to: count, by: 100) { bytes[index] = UInt8(truncatingIfNeeded: seed + index) }
        return bytes
    }

    func append(_ payload: [UInt8], to appender: PageAppender, heading: PageHeading = heading) throws -> PageReference {
        try payload.withBytes { (bytes) throws(EngineError) in try appender.append(heading, bytes, count: UInt64(bytes.count)) }
    }

    func read(_ reference: PageReference, expecting kind: PageKind? = nil) throws -> (bytes: [UInt8], info: PageInfo) {
        var bytes = [UInt8](repeating: 0, count: PageAppender.payloadBytesMax)
        let info = try bytes.withMutableBytes { (buffer) throws(EngineError) in
            try files.read(reference, into: buffer, expecting: kind)
        }
        return (Array(bytes[..<info.rawBytes]), info)
    }
}

@Suite struct PageFilesTests {
    @Test(arguments: [0, 1, 7, 8, 100, 4096, 16384, 262144], [false, true])
    func everySizeComesBack(count: Int, compressible: Bool) throws {
        let bench = try PageBench()
        let payload = PageBench.payload(count, count: count, compressible: compressible)
        let reference = try bench.append(payload, to: bench.files.makeAppender())
        #expect(reference.count == UInt64(count))
        let (bytes, info) = try bench.read(reference, expecting: .tableLeaf)
        #expect(bytes == payload)
        #expect(info == PageInfo(heading: PageBench.heading, rawBytes: count))
        #expect(reference.recordBytes % 8 == 0 && reference.recordBytes >= 32)
        if !compressible { #expect(reference.recordBytes == (count + 32 + 7) / 8 * 8) }
        if compressible && count > 1000 { #expect(reference.recordBytes < count / 2) }
    }

    /// Appends, flushes, syncs, seals, abandons, removals and reopenings at random, against a dictionary.
    @Test(arguments: 1...8)
    func randomUseAgreesWithADictionary(seed: Int) throws {
        var bench = try PageBench()
        var appender = bench.files.makeAppender(fileSizeLimit: 60_000)
        var durable: [PageReference: [UInt8]] = [:]
        var pending: [PageReference: [UInt8]] = [:]
        var used: Set<PageFileNumber> = []
        var random = SplitMix(seed: UInt64(seed))
        for step in 0..<400 {
            switch Int.random(in: 0..<40, using: &random) {
            case 0..<25:
                let count = Int.random(in: 0...4000, using: &random)
                let payload = PageBench.payload(step, count: count, compressible: Bool.random(using: &random))
                let reference = try bench.append(payload, to: appender)
                #expect(durable[reference] == nil && pending[reference] == nil)
                pending[reference] = payload
                used.insert(reference.file)
            case 25, 26: try appender.flush()
            case 27, 28:
                try appender.sync()
                durable.merge(pending) { $1 }
                pending = [:]
            case 29: try appender.seal()
            case 30:
                appender.abandon()
                pending = [:]
            case 31:
                guard let file = Set(durable.keys.map(\.file)).subtracting(pending.keys.map(\.file)).randomElement(using: &random)
                else { continue }
                try appender.seal()
                try bench.files.remove(file)
                durable = durable.filter { $0.key.file != file }
            case 32:
                try appender.sync()
                durable.merge(pending) { $1 }
                pending = [:]
                let next = bench.files.nextFile
                bench = try PageBench(on: bench.fileSystem)
                #expect(bench.files.nextFile <= next, "what is below is kept in the meta file")
                appender = bench.files.makeAppender(fileSizeLimit: 60_000)
            default:
                let all = durable.merging(pending) { $1 }
                guard let (reference, payload) = all.randomElement(using: &random) else { continue }
                #expect(try bench.read(reference).bytes == payload, "seed \(seed), step \(step)")
            }
        }
        try appender.sync()
        for (reference, payload) in durable.merging(pending, uniquingKeysWith: { $1 }) {
            #expect(try bench.read(reference).bytes == payload, "seed \(seed)")
        }
        let summaries = try bench.files.files()
        #expect(summaries.map(\.number) == summaries.map(\.number).sorted())
        #expect(Set(durable.keys.map(\.file)).isSubset(of: summaries.map(\.number)))
        #expect(summaries.allSatisfy { $0.bytes <= 60_000 })
    }

    @Test func numbersOfFilesAreNeverUsedAgain() throws {
        let bench = try PageBench()
        var seen: Set<PageFileNumber> = []
        for _ in 0..<5 {
            let appender = bench.files.makeAppender()
            let reference = try bench.append([1], to: appender)
            #expect(seen.insert(reference.file).inserted)
            try appender.sync()
            try bench.files.remove(reference.file)
        }
        let reopened = try PageFiles(directory: "s", fileSystem: bench.fileSystem, salt: 7, nextFile: bench.files.nextFile)
        #expect(reopened.nextFile == PageFileNumber(6))
    }

    @Test func moreFilesThanMayBeOpenAreRead() throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender()
        let references = try (0..<PageFiles.openFilesMax + 50).map { index in
            try appender.seal()
            return try bench.append([UInt8(truncatingIfNeeded: index)], to: appender)
        }
        for (index, reference) in references.enumerated() {
            #expect(try bench.read(reference).bytes == [UInt8(truncatingIfNeeded: index)])
        }
        #expect(Set(references.map(\.file)).count == references.count)
        #expect(bench.files.openFileCount == PageFiles.openFilesMax)
    }

    /// No device block that a sync made durable is written again.
    @Test func aSyncEndsItsBlock() throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender()
        _ = try bench.append([1, 2, 3], to: appender)
        let second = try bench.append([4], to: appender)
        #expect(second.offset == 40)
        try appender.sync()
        #expect(try bench.append([5], to: appender).offset == 4096)
    }

    @Test func twoThreadsAppendAtOnce() async throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender(fileSizeLimit: 300_000)
        let made = try await withThrowingTaskGroup(of: [(PageReference, Int)].self) { group in
            for thread in 0..<4 {
                group.addTask {
                    try (0..<100).map { index in
                        let seed = thread * 100 + index
                        return (try bench.append(PageBench.payload(seed, count: 2000, compressible: index % 2 == 0), to: appender), seed)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(made.map(\.0.address)).count == 400)
        for (reference, seed) in made {
            #expect(try bench.read(reference).bytes == PageBench.payload(seed, count: 2000, compressible: seed % 2 == 0))
        }
    }

    @Test func aCopiedRecordIsValidInItsNewPlaceOnly() throws {
        let bench = try PageBench()
        let appender = bench.files.makeAppender()
        let payload = PageBench.payload(3, count: 5000, compressible: true)
        let old = try bench.append(payload, to: appender)
        try appender.seal()
        let new = try bench.files.copy(old, to: appender, version: TransactionNumber(100))
        #expect(new.file != old.file && new.count == old.count && new.recordBytes == old.recordBytes)
        let (bytes, info) = try bench.read(new)
        #expect(bytes == payload)
        #expect(info.heading.version == TransactionNumber(100) && info.heading.tree == PageBench.heading.tree)
        #expect(try bench.read(old).bytes == payload)
    }

    @Test("a file may be opened for reading, by a thread that lists the folder, before its appender has it", arguments: 0..<12)
    func aNewFileMayBeListed(point: Int) throws {
        let bench = try PageBench(on: SimulatedDisk())
        let references = Guarded<[PageReference]>([])
        let appending = Interleaving.Part("append") {
            let reference = try bench.append(PageBench.payload(1, count: 100), to: bench.files.makeAppender())
            references.withLock { $0.append(reference) }
        }
        let listing = Interleaving.Part("list") { _ = try bench.files.files() }
        let schedule = Schedule(preemptions: [Schedule.Preemption(point: point, target: 1)], seed: 1)
        let result = Interleaving(schedule).run([appending, listing])
        #expect(result.stopReason == nil && result.failures.isEmpty, "schedule \(schedule)")
        let named = references.withLock(\.self).map(\.file)
        #expect(try bench.files.files().map(\.number) == named)
    }
}
