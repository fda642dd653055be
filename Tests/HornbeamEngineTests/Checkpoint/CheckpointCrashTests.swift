import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Page files and meta file together, as checkpoints use them: pages, sync, meta. Crashed everywhere.
@Suite struct CheckpointCrashTests {
    struct WrongState: Error, CustomStringConvertible { let description: String }

    /// A store of nothing but checkpoints: state n has n mod 7 + 1 pages that follow from n, and a page that names them.
    struct Store {
        let fileSystem: any FileSystem
        let bench: PageBench
        let appender: PageAppender

        init(_ fileSystem: any FileSystem) throws {
            self.fileSystem = fileSystem
            bench = try PageBench(on: fileSystem)
            appender = bench.files.makeAppender(fileSizeLimit: 20_000)
        }

        static func payload(_ number: UInt64, _ index: Int) -> [UInt8] {
            PageBench.payload(Int(number) * 16 + index, count: 1500 + index * 200, compressible: index % 2 == 0)
        }

        func checkpoint(_ number: UInt64, _ meta: MetaFile?) throws -> MetaFile {
            var names: [UInt8] = []
            for index in 0...Int(number % 7) {
                let reference = try bench.append(Store.payload(number, index), to: appender)
                names += BlobIndex([reference]).encoded
            }
            let catalogue = try bench.append(
                names, to: appender, heading: PageHeading(kind: .catalogue, tree: TreeID(0), version: TransactionNumber(number)))
            try appender.sync()
            var state = MetaFileTests.state(number)
            state.catalogue = catalogue
            guard let meta else {
                let made = try MetaFile.create("s/meta", fileSystem: fileSystem, state: state)
                try fileSystem.syncDirectory("s", .newStore)
                return made
            }
            try meta.write(state)
            return meta
        }

        func verify(_ state: MetaState) throws {
            let (names, info) = try bench.read(state.catalogue, expecting: .catalogue)
            guard info.heading.version.rawValue == state.checkpoint else { throw WrongState(description: "a stale catalogue") }
            for index in 0...Int(state.checkpoint % 7) {
                let reference = names.withBytes { PageReference(in: $0, at: index * 24) }
                guard try bench.read(reference).bytes == Store.payload(state.checkpoint, index) else {
                    throw WrongState(description: "page \(index) of checkpoint \(state.checkpoint)")
                }
            }
        }
    }

    static func verify(_ image: CrashEnumerator.Image) throws {
        guard try image.disk.exists("s/meta") else {
            guard image.acknowledged == 0 else { throw WrongState(description: "no meta file") }
            return
        }
        let meta: MetaFile
        do {
            meta = try MetaFile.open("s/meta", fileSystem: image.disk)
        } catch let error {
            // A partial meta file may exist before the creation of the store was reported.
            guard image.acknowledged == 0, [.notAStore, .damaged].contains(error.code) else { throw error }
            return
        }
        let store = try Store(image.disk)
        guard let newest = meta.states.first, (image.acknowledged...image.submitted).contains(newest.checkpoint) else {
            throw WrongState(description: "checkpoints \(meta.states.map(\.checkpoint))")
        }
        for state in meta.states { try store.verify(state) }
        guard image.depth < 2 else { return }
        image.disk.mark(.submitted(newest.checkpoint + 1))
        let again = try store.checkpoint(newest.checkpoint + 1, meta)
        image.disk.mark(.acknowledged(newest.checkpoint + 1))
        for state in again.states { try store.verify(state) }
    }

    @Test func everyCrashLeavesACompleteCheckpoint() throws {
        var enumerator = CrashEnumerator(seed: 1)
        enumerator.nestingDepth = 1
        enumerator.nestedImagesPerImage = 1
        let report = try enumerator.run { disk in
            let store = try Store(disk)
            var meta: MetaFile?
            for number in UInt64(1)...8 {
                disk.mark(.submitted(number))
                meta = try store.checkpoint(number, meta)
                disk.mark(.acknowledged(number))
            }
        } verify: { try Self.verify($0) }
        // Images that an earlier crash point has shown already are not made again.
        #expect(report.images > 350, "\(report)")
    }

    /// Every sync is needed: without it the enumerator finds an image that is not a checkpoint.
    @Test(arguments: [(PathKind.pages, FileSystemCall.sync), (.meta, .sync), (.other, .syncDirectory)])
    func aSyncThatLiesIsFound(kind: PathKind, call: FileSystemCall) throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let store = try Store(faults)
        faults.add(FaultRule(.lie, calls: [call], kind: kind, isSticky: true))
        var meta: MetaFile?
        for number in UInt64(1)...6 {
            disk.mark(.submitted(number))
            meta = try store.checkpoint(number, meta)
            disk.mark(.acknowledged(number))
        }
        #expect(throws: CrashEnumerator.Failure.self) {
            _ = try CrashEnumerator().crash(disk) { try Self.verify($0) }
        }
    }

    /// Every call fails once; the checkpoint is abandoned and written again to new files, and no commit is lost.
    @Test(arguments: [
        FaultRule.Effect.fail(.inputOutput), .fail(.full), .short, .failSyncKeepingNew, .failSyncRevertingToOld,
    ])
    func everyFailingCallIsSurvived(effect: FaultRule.Effect) throws {
        for index in 0..<200 {
            let disk = SimulatedDisk()
            let faults = FaultInjector(disk)
            let store = try Store(faults)
            disk.mark(.submitted(1))
            var meta = try store.checkpoint(1, nil)
            disk.mark(.acknowledged(1))
            faults.add(FaultRule(effect, calls: FileSystemCall.changing, after: index))
            for number in UInt64(2)...5 {
                disk.mark(.submitted(number))
                do {
                    meta = try store.checkpoint(number, meta)
                } catch is EngineError {
                    store.appender.abandon()
                    meta = try store.checkpoint(number, meta)
                }
                disk.mark(.acknowledged(number))
            }
            for state in try MetaFile.open("s/meta", fileSystem: disk).states { try store.verify(state) }
            var enumerator = CrashEnumerator(seed: UInt64(index))
            enumerator.stride = 5
            enumerator.subsetsUpTo = 3
            enumerator.randomImagesPerPoint = 1
            if index % 4 == 0 { _ = try enumerator.crash(disk) { try Self.verify($0) } }
            if faults.firedCount == 0 { return }
        }
        Issue.record("The workload makes more calls than were tried.")
    }

    @Test func abandonedFilesGoAndDurableOnesStay() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let bench = try PageBench(on: faults)
        let appender = bench.files.makeAppender()
        let kept = try bench.append([1], to: appender)
        try appender.sync()
        _ = try bench.append([2], to: appender)
        faults.add(FaultRule(.failSyncRevertingToOld, calls: [.sync], kind: .pages))
        #expect(throws: EngineError.self) { try appender.sync() }
        // The failed sync has given the file up already.
        let next = try bench.append([3], to: appender)
        #expect(next.file == PageFileNumber(2))
        #expect(try bench.read(kept).bytes == [1])
        faults.add(FaultRule(.fail(.full), calls: [.sync], kind: .pages))
        #expect(throws: EngineError.self) { try appender.sync() }
        appender.abandon()
        #expect(try bench.files.files().map(\.number) == [PageFileNumber(1)])
    }
}
