import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Stores in one file: packed, unpacked, on disks that fail.
@Suite struct PackedStoreTests {
    private static let path = "s.hornbeam"
    private let oracle = EngineOracle(transactions: 130)

    private func store(_ transactions: UInt64, on disk: any FileSystem) throws -> Engine {
        let engine = try Engine.open(Self.path, fileSystem: disk, options: oracle.options)
        try oracle.commit(to: engine, through: transactions)
        return engine
    }

    @Test("an unpacked store has the state of the last commit, and the identity of the packed one", arguments: [1, 2, 20, 57, 130] as [UInt64])
    func roundTrip(transactions: UInt64) throws {
        let disk = MemoryFileSystem()
        let engine = try store(transactions, on: disk)
        // Cleaning makes transactions of its own.
        let latest = engine.latest
        var fractions: [Double] = []
        let packed = try engine.pack(to: "s.hornbeamz") { progress throws(EngineError) in fractions.append(progress.fraction) }
        #expect(packed.transaction == latest)
        #expect(try packed.bytes == Int(disk.open("s.hornbeamz", .read).size()))
        #expect(fractions == fractions.sorted() && fractions.last == 1)
        #expect(try disk.list("") == [Self.path, "s.hornbeamz"])
        try oracle.commit(to: engine, through: min(transactions + 1, 130))
        fractions = []
        let report = try Engine.unpack("s.hornbeamz", to: "copy.hornbeam", fileSystem: disk, options: oracle.options) { progress throws(EngineError) in
            fractions.append(progress.fraction)
        }
        #expect(report.transaction == packed.transaction && report.files == packed.files)
        #expect(fractions == fractions.sorted() && fractions.last == 1)
        let copy = try Engine.open("copy.hornbeam", fileSystem: disk, options: oracle.options)
        #expect(copy.latest == latest && copy.storeIdentifier == engine.storeIdentifier)
        try oracle.expectSound(copy)
        #expect(try disk.list("") == ["copy.hornbeam", Self.path, "s.hornbeamz"])
    }

    @Test("files of several blocks are packed, in blocks that become smaller and in blocks that do not")
    func severalBlocks() throws {
        let disk = MemoryFileSystem()
        let engine = try Engine.open(Self.path, fileSystem: disk, options: oracle.options)
        var random = SimulationRandom(seed: 5)
        let noise = (0..<900_000).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
        for (name, value) in [("noise", noise), ("text", Array(repeating: 65, count: 900_000))] {
            let transaction = try engine.begin()
            try transaction.setValue(name, value)
            _ = try transaction.commit()
        }
        let report = try engine.pack(to: "s.hornbeamz")
        #expect(report.bytes > 900_000)
        _ = try Engine.unpack("s.hornbeamz", to: "copy.hornbeam", fileSystem: disk, options: oracle.options)
        let copy = try Engine.open("copy.hornbeam", fileSystem: disk, options: oracle.options)
        #expect(try copy.snapshot().value("noise") == noise)
        #expect(try copy.snapshot().value("text")?.count == 900_000)
    }

    @Test func commitsGoOnWhileAStoreIsPacked() throws {
        let folder = TemporaryFolder()
        let engine = try Engine.open(folder.path + "/s.hornbeam", options: oracle.options)
        try oracle.commit(to: engine, through: 30)
        let report = try engine.pack(to: folder.path + "/s.hornbeamz") { _ throws(EngineError) in
            guard engine.latest.rawValue == 30 else { return }
            do { try oracle.commit(to: engine, through: 40) } catch { throw EngineError(.inputOutput, "\(error)") }
        }
        #expect(report.transaction.rawValue == 30)
        let unpacked = try Engine.unpack(folder.path + "/s.hornbeamz", to: folder.path + "/copy.hornbeam")
        #expect(unpacked.transaction.rawValue == 30)
        try oracle.expectSound(try Engine.open(folder.path + "/copy.hornbeam", options: oracle.options))
    }

    @Test("packing and unpacking replace nothing, and cancelled work leaves nothing")
    func nothingIsReplaced() throws {
        let disk = MemoryFileSystem()
        let engine = try store(20, on: disk)
        _ = try engine.pack(to: "s.hornbeamz")
        let names = try disk.list("")
        func unpack(_ file: String, _ target: String, _ progress: ProgressReport? = nil) throws -> EngineError? {
            #expect(throws: EngineError.self) {
                try Engine.unpack(file, to: target, fileSystem: disk, options: oracle.options, progress: progress)
            }
        }
        let occupied = #expect(throws: EngineError.self) { try engine.pack(to: "s.hornbeamz") }
        #expect(occupied?.description == "notAStore: There is a file or folder at this path already. Choose another path. [s.hornbeamz]")
        #expect(throws: EngineError.self) { try engine.pack(to: Self.path) }
        #expect(
            try unpack("s.hornbeamz", Self.path)?.description
                == "notAStore: The folder contains files already. Choose another path. [s.hornbeam]")
        #expect(
            try unpack("s.hornbeam/meta", "new.hornbeam")?.description
                == "notAStore: The file is no packed store. Check the path. [s.hornbeam/meta]")
        #expect(
            try unpack(Self.path, "new.hornbeam")?.description
                == "notAStore: There is a folder at this path, and a packed store is a file. Check the path. [s.hornbeam]")
        #expect(try unpack("nothing", "new.hornbeam")?.code == .notAStore)
        #expect(throws: EngineError.self) { try engine.pack(to: "new") { _ throws(EngineError) in throw .workCancelled } }
        #expect(try unpack("s.hornbeamz", "new") { _ throws(EngineError) in throw .workCancelled }?.code == .cancelled)
        #expect(try disk.list("") == names)
    }

    private static let failing: [FileSystemCall] = [.create, .createDirectory, .write, .sync, .syncDirectory, .rename, .read, .list]

    @Test("a packing that fails changes nothing in the store, and leaves no file", arguments: failing)
    func failedPacking(call: FileSystemCall) throws {
        var failures = 0
        for index in 0... {
            let disk = SimulatedDisk()
            let injector = FaultInjector(disk)
            let engine = try store(20, on: injector)
            try engine.checkpoint()
            let fired = injector.firedCount
            injector.add(FaultRule(.fail(.full), calls: [call], after: index))
            let result = Result { try engine.pack(to: "s.hornbeamz") }
            let isDone = injector.firedCount == fired
            injector.removeRules()
            if case .success = result {
                _ = try Engine.unpack("s.hornbeamz", to: "copy.hornbeam", fileSystem: disk, options: oracle.options)
            } else {
                failures += 1
                #expect(try disk.list("") == [Self.path], "\(call) \(index)")
            }
            try oracle.expectSound(engine)
            if isDone { break }
        }
        #expect(failures > 0)
    }

    @Test("an unpacking that fails leaves no store", arguments: failing)
    func failedUnpacking(call: FileSystemCall) throws {
        let packed = SimulatedDisk()
        _ = try store(20, on: packed).pack(to: "s.hornbeamz")
        var failures = 0
        for index in 0... {
            let disk = packed.copy()
            let injector = FaultInjector(disk)
            injector.add(FaultRule(.fail(.full), calls: [call], after: index))
            let result = Result { try Engine.unpack("s.hornbeamz", to: "copy.hornbeam", fileSystem: injector, options: oracle.options) }
            if case .failure = result, try !disk.exists("copy.hornbeam") {
                failures += 1
                #expect(try disk.list("") == [Self.path, "s.hornbeamz"], "\(call) \(index)")
            } else {
                // The name of the store may not be durable after an error of the last sync; the store is complete.
                try oracle.expectSound(try Engine.open("copy.hornbeam", fileSystem: disk, options: oracle.options))
            }
            if injector.firedCount == 0 { break }
        }
        #expect(failures > 0)
    }

    @Test("a crash while a store is packed and unpacked leaves whole results or none, and the next run removes the rest")
    func crashes() throws {
        let oracle = EngineOracle(transactions: 20)
        let before = SimulatedDisk()
        let engine = try Engine.open(Self.path, fileSystem: before, options: oracle.options)
        try oracle.commit(to: engine, through: 12)
        try engine.close()
        var enumerator = CrashEnumerator(seed: 7)
        enumerator.subsetsUpTo = 1
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 3
        var whole = 0
        let report = try enumerator.run(
            on: before,
            workload: { disk in
                let engine = try Engine.open(Self.path, fileSystem: disk, options: oracle.options)
                _ = try engine.pack(to: "s.hornbeamz")
                _ = try Engine.unpack("s.hornbeamz", to: "copy.hornbeam", fileSystem: disk, options: oracle.options)
            },
            verify: { image in
                let disk = image.disk
                let engine = try Engine.open(Self.path, fileSystem: disk, options: oracle.options)
                if try disk.exists("copy.hornbeam") {
                    try oracle.expectSound(try Engine.open("copy.hornbeam", fileSystem: disk, options: oracle.options))
                    whole += 1
                } else {
                    if try !disk.exists("s.hornbeamz") { _ = try engine.pack(to: "s.hornbeamz") }
                    _ = try Engine.unpack("s.hornbeamz", to: "copy.hornbeam", fileSystem: disk, options: oracle.options)
                }
                let names = try disk.list("").filter { $0.hasPrefix("copy.hornbeam") }
                guard names == ["copy.hornbeam"] else { throw Finding("drafts remain: \(names)") }
            })
        #expect(whole > 0 && report.images > whole)
    }
}
