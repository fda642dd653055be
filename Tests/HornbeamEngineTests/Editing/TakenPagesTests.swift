import HornbeamThreads
import Synchronization
import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// A change of many rows changes cached pages where they are if no reader can see them. Each version keeps its rows.
@Suite struct TakenPagesTests {
    private static let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes)])
    private static let count: UInt64 = 12_000

    private final class Subject: Sendable {
        let engine: Engine
        let options: EngineOptions
        let table: TreeID

        /// A table whose leaves are cached pages. The pool has room for two copies of them.
        init(on fileSystem: any FileSystem = MemoryFileSystem()) throws {
            var options = EngineOptions()
            options.pageSize = 1024
            options.poolBytes = 2 << 20
            self.options = options
            engine = try Engine.open("s", fileSystem: fileSystem, options: options)
            let transaction = try engine.begin()
            table = try transaction.createTable(named: "table", layout: layout)
            let row = RowBuffer(layout: layout)
            for key in 1...count {
                row.reset()
                row.set(0, key)
                row.setString(1, "a text of the row \(key)")
                try transaction.put(row, key: key, in: table)
            }
            _ = try transaction.commit()
            try cachePages()
        }

        /// After it all leaves are on disk and in the pool.
        func cachePages() throws {
            try engine.checkpoint()
            _ = try step(of: engine.snapshot())
        }

        func addOne(_ changes: [ColumnChange] = []) throws -> WriteTransaction {
            let transaction = try engine.begin()
            let rows = try transaction.table(table).selection(of: Array(1...count))
            try transaction.alter(rows, by: [.add(column: 0, step: 1)] + changes, in: table)
            return transaction
        }

        /// The number that was added to all rows; nil if the rows differ.
        func step(of snapshot: Snapshot) throws -> UInt64? {
            var steps: Set<UInt64> = []
            var found: UInt64 = 0
            try snapshot.table(table).forEachLeaf { leaf throws(EngineError) in
                for slot in 0..<leaf.count {
                    let row = leaf.row(slot)
                    steps.insert(row.load(0, as: UInt64.self) &- row.key)
                    found += 1
                }
                return true
            }
            return found == count && steps.count == 1 ? steps.first : nil
        }

        /// The address of each leaf in memory, by the key of its first row.
        func places() throws -> [UInt64: UInt] {
            var places: [UInt64: UInt] = [:]
            try engine.snapshot().table(table).forEachLeaf { leaf throws(EngineError) in
                places[leaf.row(0).key] = unsafe UInt(bitPattern: leaf.page.base)
                return true
            }
            return places
        }

        var framesInUse: Int { engine.core.pool.usage.inUse }
    }

    @Test func cachedPagesAreChangedWhereTheyAre() throws {
        let subject = try Subject()
        let before = try subject.places()
        #expect(before.count > 300)
        _ = try subject.addOne().commit()
        let after = try subject.places()
        #expect(before.keys == after.keys)
        let moved = before.count { after[$0.key] != $0.value }
        #expect(moved < 20, "\(moved) of \(before.count) leaves have other frames.")
        #expect(try subject.step(of: subject.engine.snapshot()) == 1)
        #expect(try subject.engine.check().problems == [])
    }

    @Test func anOldSnapshotReadsItsPagesFromTheDisk() throws {
        let subject = try Subject()
        var snapshots = [try subject.engine.snapshot()]
        for _ in 0..<3 {
            _ = try subject.addOne().commit()
            try subject.cachePages()
            snapshots.append(try subject.engine.snapshot())
        }
        for (step, snapshot) in snapshots.enumerated() { #expect(try subject.step(of: snapshot) == UInt64(step)) }
        #expect(try subject.engine.check().problems == [])
    }

    @Test func anAbortLeavesThePages() throws {
        let subject = try Subject()
        let frames = subject.framesInUse
        try subject.addOne().abort()
        #expect(subject.framesInUse <= frames)
        #expect(try subject.step(of: subject.engine.snapshot()) == 0)
        _ = try subject.addOne().commit()
        #expect(try subject.step(of: subject.engine.snapshot()) == 1)
        #expect(try subject.engine.check().problems == [])
    }

    @Test func aFailedCommitLeavesTheRows() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let subject = try Subject(on: faults)
        let transaction = try subject.addOne()
        faults.add(FaultRule(.fail(.inputOutput), calls: [.write], kind: .log, isSticky: true))
        #expect(throws: EngineError.self) { _ = try transaction.commit() }
        #expect(try subject.step(of: subject.engine.snapshot()) == 0)
        faults.removeRules()
        try? subject.engine.close()
        let again = try Engine.open("s", fileSystem: faults, options: subject.options)
        #expect(try again.check().problems == [])
        let rows = try again.snapshot().table(subject.table)
        #expect(try rows.withRow(Self.count) { (row) throws(EngineError) in row.load(0, as: UInt64.self) } == Self.count)
        try again.close()
    }

    @Test func aReaderInItsEpochKeepsItsPage() throws {
        let subject = try Subject()
        let snapshot = try subject.engine.snapshot()
        try snapshot.table(subject.table).forEachLeaf { leaf throws(EngineError) in
            // Another thread makes the change while this one is in its epoch.
            let first = leaf.row(0).key
            let error = Mutex<(any Error)?>(nil)
            let thread = WorkThread {
                do { _ = try subject.addOne().commit() } catch let failure { error.withLock { $0 = failure } }
            }
            #expect(thread.start())
            thread.join()
            #expect(error.withLock { $0 == nil })
            for slot in 0..<leaf.count { #expect(leaf.row(slot).load(0, as: UInt64.self) == first + UInt64(slot)) }
            return false
        }
        #expect(try subject.step(of: snapshot) == 0)
        #expect(try subject.step(of: subject.engine.snapshot()) == 1)
        #expect(try subject.engine.check().problems == [])
    }

    @Test("leaves with an older layout, and texts for which some leaves have no room, are copied") func copiesBesideChangedPages() throws {
        let subject = try Subject()
        var transaction = try subject.engine.begin()
        try transaction.setLayout(ColumnLayout(version: 2, columns: Self.layout.columns + [Column(id: ColumnID(3), kind: .bytes)]), of: subject.table)
        // Every other set of rows gets the new layout.
        for start in stride(from: 1 as UInt64, to: Self.count, by: 400) {
            let rows = try transaction.table(subject.table).selection(of: Array(start..<start + 200))
            try transaction.alter(rows, by: [.set(column: 1, cell: Array("short".utf8))], in: subject.table)
        }
        _ = try transaction.commit()
        try subject.cachePages()
        _ = try subject.addOne([.set(column: 2, cell: Array("a longer text that fills the leaves".utf8))]).commit()
        transaction = try subject.addOne([.set(column: 1, cell: [UInt8](repeating: 66, count: 200))])
        transaction.abort()
        #expect(try subject.step(of: subject.engine.snapshot()) == 1)
        try subject.engine.snapshot().table(subject.table).forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count {
                let row = leaf.row(slot)
                #expect(try row.string(1) == ((row.key - 1) % 400 < 200 ? "short" : "a text of the row \(row.key)"))
                #expect(try row.string(2) == "a longer text that fills the leaves")
            }
            return true
        }
        #expect(try subject.engine.check().problems == [])
    }

    @Test func leavesThatAreNotChangedStayInThePool() throws {
        let faults = FaultInjector(MemoryFileSystem())
        let subject = try Subject(on: faults)
        let transaction = try subject.engine.begin()
        try transaction.setLayout(ColumnLayout(version: 2, columns: Self.layout.columns + [Column(id: ColumnID(3), kind: .fixed8)]), of: subject.table)
        _ = try transaction.commit()
        try subject.cachePages()
        // Leaves of an older layout are converted one by one.
        faults.add(FaultRule(.fail(.inputOutput), calls: [.read], kind: .pages, isSticky: true))
        _ = try subject.addOne([.set(column: 2, cell: [UInt8](repeating: 1, count: 8))]).commit()
        #expect(try subject.step(of: subject.engine.snapshot()) == 1)
        faults.removeRules()
        #expect(try subject.engine.check().problems == [])
    }

    @Test func leavesThatTheTransactionHasWrittenEarlyAreChanged() throws {
        let subject = try Subject()
        let transaction = try subject.engine.begin()
        let row = RowBuffer(layout: Self.layout)
        try transaction.applyDeferred()
        transaction.redo.abandon()
        for key in Self.count + 1...2 * Self.count {
            row.reset()
            row.set(0, key)
            try transaction.put(row, key: key, in: subject.table)
        }
        #expect(transaction.earlyLeaves?.pages.isEmpty == false)
        for _ in 0..<3 {
            let rows = try transaction.table(subject.table).selection(of: Array(1...2 * Self.count))
            try transaction.alter(rows, by: [.add(column: 0, step: 1)], in: subject.table)
        }
        _ = try transaction.commit()
        for _ in 0..<2 {
            var found: UInt64 = 0
            try subject.engine.snapshot().table(subject.table).forEachLeaf { leaf throws(EngineError) in
                for slot in 0..<leaf.count {
                    #expect(leaf.row(slot).load(0, as: UInt64.self) == leaf.row(slot).key + 3)
                    found += 1
                }
                return true
            }
            #expect(found == 2 * Self.count)
            #expect(try subject.engine.check().problems == [])
            try subject.engine.checkpoint()
        }
    }

    @Test("each reader beside changes sees the rows of one version", arguments: [1, 3]) func readersBesideChanges(readers: Int) throws {
        let subject = try Subject()
        let isDone = Atomic(false)
        let reads = Atomic(0)
        let faults = Mutex<[String]>([])
        let threads = (0..<readers).map { _ in
            WorkThread {
                while !isDone.load(ordering: .relaxed) {
                    do {
                        let snapshot = try subject.engine.snapshot()
                        let first = try subject.step(of: snapshot)
                        let second = try subject.step(of: snapshot)
                        if first == nil || first != second { faults.withLock { $0.append("\(String(describing: first)) and \(String(describing: second))") } }
                        reads.add(1, ordering: .relaxed)
                    } catch {
                        faults.withLock { $0.append("\(error)") }
                    }
                }
            }
        }
        for thread in threads { #expect(thread.start()) }
        for round in 0..<12 {
            if round % 3 == 2 { try subject.addOne().abort() } else { _ = try subject.addOne().commit() }
            try subject.engine.checkpoint()
        }
        isDone.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
        #expect(faults.withLock { $0 } == [])
        #expect(reads.load(ordering: .relaxed) > 0)
        #expect(try subject.step(of: subject.engine.snapshot()) == 8)
        #expect(try subject.engine.check().problems == [])
    }
}
