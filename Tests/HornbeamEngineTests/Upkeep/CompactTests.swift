import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Compaction, cleaning under crashes, and the counts of space.
@Suite struct CompactTests {
    private func key(_ n: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(n).bigEndian) { Array($0) } }

    private func store(_ configure: (inout EngineOptions) -> Void = { _ in }) throws -> (TestStore, TreeID) {
        let store = try TestStore(pageSize: 1024) { options in
            options.poolBytes = 128 << 10
            options.pageFileBytes = 16 << 10
            options.slackBytes = 1 << 30
            configure(&options)
        }
        return (store, try store.write { try $0.createIndex(named: "t") })
    }

    private func put(_ keys: some Sequence<Int>, _ fill: UInt8, _ store: TestStore, _ tree: TreeID) throws {
        var random = SplitMix(seed: UInt64(fill))
        try store.write { transaction in
            for n in keys {
                try transaction.put(key(n), (0..<100).map { _ in UInt8.random(in: 0...255, using: &random) }, in: tree)
            }
        }
    }

    @Test func compactionFreesAllUnneededSpace() throws {
        let (store, tree) = try store()
        for round in 0..<6 {
            try put(stride(from: round, to: 3000, by: round + 1), UInt8(round), store, tree)
            try store.engine.checkpoint()
        }
        try store.write { transaction in
            try transaction.put([0xFF], Array(repeating: 7, count: 50_000), in: tree)
            for n in 0..<1500 { _ = try transaction.delete(key(n), from: tree) }
        }
        let content = try store.engine.snapshot().index(tree).content()
        try store.engine.checkpoint()
        let before = try store.engine.statistics()
        #expect(before.pageFileBytes > before.liveBytes * 2)
        var fractions: [Double] = []
        try store.engine.compact { progress throws(EngineError) in fractions.append(progress.fraction) }
        let after = try store.engine.statistics()
        #expect(Double(after.pageFileBytes) < Double(after.liveBytes) * 1.1 + 8192, "\(after)")
        #expect(fractions.count > 1 && fractions == fractions.sorted() && fractions.last == 1)
        #expect(try store.engine.snapshot().index(tree).content() == content)
        #expect(try store.engine.check().problems == [])
        try store.reopen()
        #expect(try store.engine.snapshot().index(tree).content() == content)
    }

    @Test func compactionKeepsWhatSnapshotsRead() throws {
        let (store, tree) = try store()
        try put(0..<2000, 1, store, tree)
        try store.engine.checkpoint()
        let held = try store.engine.snapshot(isPinned: true)
        let content = try held.index(tree).content()
        try put(0..<2000, 2, store, tree)
        try store.engine.compact()
        let figures = try store.engine.statistics()
        #expect(figures.pinnedBytes > 100_000, "\(figures)")
        #expect(figures.oldestSnapshotAge != nil && figures.liveVersions == 2)
        #expect(figures.fileBytes >= figures.pageFileBytes && figures.pageFileBytes >= figures.liveBytes + figures.pinnedBytes)
        #expect(try held.index(tree).content() == content)
    }

    @Test func pinnedBytesAreCountedWhileTheyArePinned() throws {
        let (store, tree) = try store()
        try put(0..<500, 1, store, tree)
        try store.engine.compact()
        let figures = try store.engine.statistics()
        #expect(figures.pinnedBytes == 0 && figures.oldestSnapshotAge == nil && figures.liveVersions == 1)
    }

    @Test func aCancelledCompactionLeavesAWholeStore() throws {
        let (store, tree) = try store()
        try put(0..<2000, 1, store, tree)
        try put(0..<2000, 2, store, tree)
        let content = try store.engine.snapshot().index(tree).content()
        let error = #expect(throws: EngineError.self) {
            try store.engine.compact { _ throws(EngineError) in throw .workCancelled }
        }
        #expect(error?.code == .cancelled)
        try store.engine.compact()
        #expect(try store.engine.snapshot().index(tree).content() == content)
        try store.reopen()
        #expect(try store.engine.snapshot().index(tree).content() == content)
    }

    @Test(arguments: ["a wrong byte", "an unreadable page", "an unreadable first page"])
    func aDamagedPageEndsCompactionAndNothingElse(damage: String) throws {
        let disk = SimulatedDisk()
        let store = try TestStore(pageSize: 1024, fileSystem: disk) { $0.poolBytes = 32 << 10 }
        let tree = try store.write { try $0.createIndex(named: "t") }
        try put(0..<2000, 1, store, tree)
        try store.reopen()
        let leaves = try store.engine.snapshot().readable(tree, store.engine.leafSearch()).leaves
        let place = leaves[leaves.count / 2]
        try store.reopen()
        let file = "test.hornbeam/\(place.file.fileName)"
        switch damage {
        case "a wrong byte": disk.damage(file) { $0[Int(place.offset) + 40] ^= 1 }
        case "an unreadable page": disk.makeUnreadable(file, at: place.offset)
        default: disk.makeUnreadable(file, at: 0)
        }
        let error = #expect(throws: EngineError.self) { try store.engine.compact() }
        #expect(error?.message.hasPrefix("Not all pages can be read, so the store cannot be compacted.") == true)
        try put(1500..<1510, 3, store, tree)
        try store.engine.checkpoint()
        #expect(try store.engine.snapshot().index(tree).get(key(1503)) != nil)
    }

    @Test func aDeletedValueThatCannotBeReadEndsNoCheckpoint() throws {
        let disk = SimulatedDisk()
        let store = try TestStore(pageSize: 1024, fileSystem: disk)
        let tree = try store.write { try $0.createIndex(named: "t") }
        try store.write { try $0.put([1], Array(repeating: 7, count: 600 << 10), in: tree) }
        try store.reopen()
        let pool = store.engine.core.pool
        let root = try store.engine.snapshot().version.record(tree).root
        let blob: PageReference = try pool.reading { () throws(EngineError) in SlottedNode(pool.page(try pool.rootFrame(root))).value(0).load(0) }
        #expect(blob.isBlobIndex)
        disk.makeUnreadable("test.hornbeam/\(blob.file.fileName)", at: blob.offset)
        let isDeleted = try store.write { try $0.delete([UInt8(1)], from: tree) }
        #expect(isDeleted)
        try store.engine.checkpoint()
        try store.reopen()
        #expect(try store.engine.snapshot().index(tree).get([1]) == nil)
    }

    // MARK: Crashes

    /// Steps that leave much to be cleaned. A value counts them, since cleaning makes transactions of its own.
    private struct Steps {
        let options: EngineOptions
        private(set) var states: [[Int: [UInt8]]] = [[:]]

        init(count: Int) {
            var options = EngineOracle.smallest
            options.slackBytes = 0
            options.pageFileBytes = 4096
            options.poolBytes = 64 * 512
            self.options = options
            for step in 1...count {
                var state = states[step - 1]
                for n in 0..<12 { state[(step * 7 + n * 5) % 90] = [UInt8](repeating: UInt8(step), count: 40 + n) }
                states.append(state)
            }
        }

        func perform(_ engine: Engine, _ disk: SimulatedDisk) throws {
            for step in 1..<states.count {
                disk.mark(.submitted(UInt64(step)))
                let transaction = try engine.begin()
                let tree = try transaction.tree(named: "t") ?? transaction.createIndex(named: "t")
                for (n, value) in states[step] where states[step - 1][n] != value {
                    try transaction.put([UInt8(n)], value, in: tree)
                }
                try transaction.setValue("step", [UInt8(step)])
                _ = try transaction.commit()
                disk.mark(.acknowledged(UInt64(step)))
                if step % 3 == 0 { try engine.checkpoint() }
            }
            try engine.compact()
        }

        /// The step that a store is at; throws unless it holds exactly that step's state.
        func verify(_ engine: Engine) throws -> UInt64 {
            let snapshot = try engine.snapshot()
            let step = Int(try snapshot.value("step")?.first ?? 0)
            let content = try snapshot.tree(named: "t").map { try snapshot.index($0).content() } ?? [:]
            let expected = Dictionary(uniqueKeysWithValues: states[step].map { ([UInt8($0.key)], $0.value) })
            guard content == expected else { throw Finding("the content is not that of step \(step)") }
            let problems = try engine.check().problems
            guard problems.isEmpty else { throw Finding(problems.joined(separator: " ")) }
            return UInt64(step)
        }
    }

    @Test("cleaning and compaction survive a crash at every sixth operation")
    func cleaningSurvivesCrashes() throws {
        let steps = Steps(count: 14)
        var enumerator = CrashEnumerator(seed: 11)
        enumerator.subsetsUpTo = 3
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 6
        let report = try enumerator.run(
            workload: { disk in
                let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: steps.options)
                try steps.perform(engine, disk)
                try engine.close()
            },
            verify: { image in
                let engine = try Engine.open("s.hornbeam", fileSystem: image.disk, options: steps.options)
                let step = try steps.verify(engine)
                guard step >= image.acknowledged, step <= max(image.submitted, image.acknowledged) else { throw Finding("found step \(step)") }
                try engine.compact()
                guard try steps.verify(engine) == step else { throw Finding("compaction changed the step") }
                try engine.close()
            })
        print("crashes while cleaning: \(report)")
        #expect(report.images > 500)
    }
}

extension IndexView {
    /// All entries.
    func content() throws -> [[UInt8]: [UInt8]] {
        var content: [[UInt8]: [UInt8]] = [:]
        try forEach(in: KeyRange()) { key, value throws(EngineError) in
            content[Array(key)] = Array(value)
            return true
        }
        return content
    }
}
