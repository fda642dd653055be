import Foundation
import HornbeamThreads
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Small commits that the log has before their trees are changed.
@Suite struct LogFirstTests {
    /// The outcome of starting the device's write.
    private final class Watch: Sendable {
        let engine = Guarded<Engine?>(nil)
        let seen = Guarded<[UInt64]>([])
        let interruption = Guarded<(@Sendable (Engine) -> Void)?>(nil)

        func writingBegins() {
            guard let engine = engine.withLock({ $0 }) else { return }
            seen.withLock { $0.append(engine.core.pipeline.executed.rawValue) }
            interruption.withLock { $0 }?(engine)
        }
    }

    /// A store that counts the log-first writes, and records the newest version at each of them.
    private final class WatchedStore {
        let disk: SimulatedDisk
        let faults: FaultInjector
        let store: TestStore
        let index: TreeID
        let table: TreeID
        private let watch = Watch()

        init(pageSize: Int = 1024) throws {
            disk = SimulatedDisk()
            faults = FaultInjector(disk)
            let watched = InterruptedDisk(faults) { [watch] in watch.writingBegins() }
            store = try TestStore(pageSize: pageSize, fileSystem: watched)
            (index, table) = try store.write { transaction in
                let index = try transaction.createIndex(named: "index")
                return (index, try transaction.createTable(named: "table", layout: OracleRow.layout))
            }
            watch.engine.withLock { $0 = store.engine }
        }

        deinit { watch.engine.withLock { $0 = nil } }

        /// The newest executed transaction at each writing that was begun since the last call.
        func begun() -> [UInt64] {
            watch.seen.withLock { seen in
                defer { seen = [] }
                return seen
            }
        }

        func interrupt(_ work: (@Sendable (Engine) -> Void)?) { watch.interruption.withLock { $0 = work } }

        func row(_ seed: UInt64) -> RowBuffer {
            var random = SplitMix(seed: seed)
            let buffer = RowBuffer(layout: OracleRow.layout)
            OracleRow.random(pageSize: store.options.pageSize, &random).fill(buffer)
            return buffer
        }
    }

    enum Change: CaseIterable {
        case entry, newEntry, row, entryAndRow, twoRows, rowTwice, number
        case twoEntries, deletion, largeValue, aLookAtTheTree, aLookAtAnother, sharedVersion, newTree
        case aKeyThatIsThere, lazily

        /// Whether the log has it before the trees are changed.
        var goesAhead: Bool {
            switch self {
            case .entry, .newEntry, .row, .entryAndRow, .twoRows, .number, .aLookAtAnother: true
            case .rowTwice, .twoEntries, .deletion, .largeValue, .aLookAtTheTree, .sharedVersion, .newTree, .aKeyThatIsThere, .lazily: false
            }
        }
    }

    @Test(arguments: Change.allCases)
    func smallCommitsOfPutsGoAhead(_ change: Change) throws {
        let watched = try WatchedStore()
        let (engine, index, table) = (watched.store.engine, watched.index, watched.table)
        try watched.store.write { try $0.put([1], [1], in: index) }
        _ = watched.begun()
        let base = engine.latest.rawValue
        let transaction = try engine.begin()
        var entries: Set<[UInt8]> = [[1]]
        if ![.row, .aKeyThatIsThere, .newTree, .newEntry, .largeValue].contains(change) {
            try transaction.put([2], [2], in: index)
            entries.insert([2])
        }
        switch change {
        case .entry, .lazily: break
        case .newEntry:
            #expect(try transaction.putNew([3], [3], in: index))
            entries.insert([3])
        case .row, .entryAndRow: #expect(try transaction.put(watched.row(7), key: 9, in: table))
        case .twoRows:
            #expect(try transaction.put(watched.row(7), key: 9, in: table))
            #expect(try transaction.put(watched.row(8), key: 8, in: table))
        case .rowTwice:
            #expect(try transaction.put(watched.row(7), key: 9, in: table))
            #expect(try !transaction.put(watched.row(8), key: 9, in: table))
        case .number: _ = try transaction.reserve(5)
        case .twoEntries:
            try transaction.put([3], [3], in: index)
            entries.insert([3])
        case .deletion: _ = try transaction.delete(77, from: table)
        case .largeValue:
            try transaction.put([4], [UInt8](repeating: 4, count: 5000), in: index)
            entries.insert([4])
        case .aLookAtTheTree: #expect(try transaction.index(index).get([2]) == [2])
        case .aLookAtAnother: #expect(try transaction.table(table).count == 0)
        case .sharedVersion:
            _ = try transaction.endAndBeginNext(published: nil)
            try transaction.put([3], [3], in: index)
            entries.insert([3])
        case .newTree: _ = try transaction.createIndex(named: "other")
        case .aKeyThatIsThere:
            #expect(try !transaction.putNew([1], [9], in: index))
            _ = try transaction.reserve(1)
        }
        _ = try transaction.commit(change == .lazily ? .lazy(maxDelay: .milliseconds(1)) : .full)
        #expect(watched.begun() == (change.goesAhead ? [base] : []))
        for engine in [engine, try TestStore(fileSystem: watched.disk.copy()).engine] {
            let snapshot = try engine.snapshot()
            #expect(try Set(Self.keys(snapshot, index)) == entries)
            let rows = change == .twoRows ? 2 : [.row, .rowTwice, .entryAndRow].contains(change) ? 1 : 0
            #expect(try snapshot.table(table).count == rows)
            #expect(try engine.check().problems == [])
        }
    }

    private static func keys(_ snapshot: Snapshot, _ index: TreeID) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try snapshot.index(index).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
            keys.append(Array(key))
            return true
        }
        return keys
    }

    /// The content of the store against a model, with and without deferred changes.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func smallTransactionsAnswerAsAModelDoes(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let watched = try WatchedStore(pageSize: seed % 2 == 0 ? 512 : 1024)
        let (engine, index, table) = (watched.store.engine, watched.index, watched.table)
        let oracle = EngineOracle(transactions: 2)
        var state = EngineOracle.State()
        let buffer = RowBuffer(layout: OracleRow.layout)
        for _ in 0..<250 {
            let before = state
            let transaction = try engine.begin()
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let key = Array("key \(Int.random(in: 0..<300, using: &random))".utf8)
                let rowKey = UInt64.random(in: 1...400, using: &random)
                switch Int.random(in: 0..<9, using: &random) {
                case 0..<2:
                    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: rowKey), count: Int(rowKey) % 90)
                    try transaction.put(key, value, in: index)
                    state.entries[key] = value
                case 2:
                    #expect(try transaction.putNew(key, key, in: index) == (state.entries[key] == nil))
                    state.entries[key] = state.entries[key] ?? key
                case 3..<6:
                    let row = OracleRow.random(pageSize: watched.store.options.pageSize, &random)
                    row.fill(buffer)
                    #expect(try transaction.put(buffer, key: rowKey, in: table) == (state.rows[rowKey] == nil))
                    state.rows[rowKey] = row
                case 6: #expect(try transaction.delete(key, from: index) == (state.entries.removeValue(forKey: key) != nil))
                case 7: #expect(try transaction.index(index).get(key) == state.entries[key])
                default: #expect(try transaction.table(table).count == UInt64(state.rows.count))
                }
            }
            if Int.random(in: 0..<8, using: &random) == 0 {
                transaction.abort()
                state = before
            } else {
                _ = try transaction.commit()
            }
        }
        #expect(watched.begun().count > 60, "seed \(seed)")
        // As it stands, and as the log has it.
        for engine in [engine, try TestStore(pageSize: watched.store.options.pageSize, fileSystem: watched.disk.copy()).engine] {
            let snapshot = try engine.snapshot()
            #expect(try oracle.digest(snapshot) == state.digest, "seed \(seed)")
            #expect(try engine.check().problems == [])
        }
    }

    @Test("a logged change that cannot be applied poisons the store, and is present when the store is opened again")
    func aLoggedChangeThatCannotBeAppliedIsNotLost() throws {
        let watched = try WatchedStore()
        let index = watched.index
        for key in 0..<200 as Range<UInt8> { try watched.store.write { try $0.put([key], [key], in: index) } }
        try watched.store.engine.checkpoint()
        let faults = watched.faults
        watched.interrupt { engine in
            // The leaf is evicted between the read of it and its change, and cannot be read again.
            guard let leaves = try? Self.leaves(of: index, in: engine) else { return }
            engine.core.pool.evict(pages: leaves.compactMap { engine.core.pool.diskReference($0)?.address })
            faults.add(FaultRule(.fail(.inputOutput), calls: [.read], kind: .pages, isSticky: true))
        }
        let error = #expect(throws: EngineError.self) { try watched.store.write { try $0.put([201], [201], in: index) } }
        #expect(error?.code == .durabilityLost)
        watched.interrupt(nil)
        faults.removeRules()
        #expect(throws: EngineError.self) { try watched.store.write { try $0.put([202], [202], in: index) } }
        #expect(try Self.keys(watched.store.engine.snapshot(), index).count == 200)
        let again = try TestStore(fileSystem: watched.disk.copy())
        #expect(try Self.keys(again.engine.snapshot(), index).last == [201])
        #expect(try again.engine.check().problems == [])
    }

    private static func leaves(of index: TreeID, in engine: Engine) throws -> [UInt32] {
        let pool = engine.core.pool
        let version = engine.core.registry.acquire()
        defer { engine.core.registry.release(version.number) }
        let slot = pool.epochs.enter()
        defer { pool.epochs.leave(slot) }
        let root = SlottedNode(pool.page(try pool.rootFrame(version.record(index).root)))
        return try (0..<root.count).map { try pool.child(root, $0) }
    }

    @Test("a transaction that begins during a log-first commit waits, builds on this commit, and follows it in the log", arguments: [false, true])
    func othersQueueBehindOneThatWentAhead(syncFails: Bool) throws {
        let watched = try WatchedStore()
        let index = watched.index
        let faults = watched.faults
        let other = Guarded<Result<Bool, any Error>?>(nil)
        watched.interrupt { engine in
            if syncFails { faults.add(FaultRule(.failSyncKeepingNew, calls: [.sync], kind: .log, isSticky: true)) }
            let hasBegun = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                hasBegun.signal()
                let result = Result {
                    let transaction = try engine.begin()
                    let seen = try transaction.index(index).get([1])
                    try transaction.put([2], [2], in: index)
                    _ = try transaction.commit()
                    return seen == [1]
                }
                other.withLock { $0 = result }
                other.signal()
            }
            hasBegun.wait()
            usleep(2000)
        }
        let own = Result { try watched.store.write { try $0.put([1], [1], in: index) } }
        let theirs = other.wait { $0 }
        watched.interrupt(nil)
        faults.removeRules()
        if syncFails {
            for error in [#expect(throws: EngineError.self) { try own.get() }, #expect(throws: EngineError.self) { try theirs.get() }] {
                #expect(error?.code == .durabilityLost)
            }
            #expect(try Self.keys(watched.store.engine.snapshot(), index).isEmpty)
        } else {
            try own.get()
            #expect(try theirs.get())
            #expect(try Self.keys(TestStore(fileSystem: watched.disk.copy()).engine.snapshot(), index) == [[1], [2]])
        }
    }

    /// Other work between the log and the trees.
    enum Meanwhile: CaseIterable { case checkpoint, closing, reading, refreshingAReader }

    @Test(arguments: Meanwhile.allCases)
    func otherWorkWaitsForOneThatWentAhead(_ meanwhile: Meanwhile) throws {
        let watched = try WatchedStore()
        let index = watched.index
        try watched.store.write { try $0.put([1], [1], in: index) }
        let disk = watched.disk
        let done = Guarded<Result<Int, any Error>?>(nil)
        watched.interrupt { engine in
            let hasBegun = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                hasBegun.signal()
                let result = Result {
                    switch meanwhile {
                    case .checkpoint: try engine.checkpoint()
                    case .closing: try engine.close()
                    case .reading: return try Self.keys(engine.snapshot(), index).count
                    case .refreshingAReader:
                        var options = EngineOptions()
                        options.isReadOnly = true
                        let reader = try Engine.open("test.hornbeam", fileSystem: disk, options: options)
                        return try Self.keys(reader.snapshot(), index).count
                    }
                    return 0
                }
                done.withLock { $0 = result }
                done.signal()
            }
            hasBegun.wait()
            usleep(2000)
        }
        try watched.store.write { try $0.put([2], [2], in: index) }
        let seen = try done.wait { $0 }.get()
        watched.interrupt(nil)
        #expect([0, 1, 2].contains(seen))
        #expect(try Self.keys(TestStore(fileSystem: watched.disk.copy()).engine.snapshot(), index) == [[1], [2]])
    }

    @Test("a lazy commit is durable together with the log-first commit that follows it")
    func lazyCommitsBeforeItAreSyncedWithIt() throws {
        let watched = try WatchedStore()
        let index = watched.index
        let transaction = try watched.store.engine.begin()
        try transaction.put([1], [1], in: index)
        _ = try transaction.commit(.lazy(maxDelay: .seconds(100)))
        _ = watched.begun()
        try watched.store.write { try $0.put([2], [2], in: index) }
        #expect(watched.begun().count == 1)
        let syncs = watched.faults.count(of: [.sync], kind: .log)
        try watched.store.engine.core.pipeline.syncIfNeeded()
        #expect(watched.faults.count(of: [.sync], kind: .log) == syncs)
    }
}
