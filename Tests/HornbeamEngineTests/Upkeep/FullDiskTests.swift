import Testing

@testable import HornbeamEngine

/// Full disks: nothing is lost, and reads continue.
@Suite struct FullDiskTests {
    private func key(_ n: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(n).bigEndian) { Array($0) } }

    private func value(_ n: Int, _ random: inout SplitMix) -> [UInt8] {
        (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func open(_ disk: TightDisk, pageSize: Int = 2048) throws -> TestStore {
        try TestStore(pageSize: pageSize, fileSystem: disk) { options in
            options.poolBytes = 256 * pageSize
            options.slackBytes = 32 << 10
            options.pageFileBytes = 64 << 10
            options.checkpointLogBytes = 256 << 10
            options.reserveBytes = 256 << 10
            options.log = LogOptions(firstSegmentBytes: 64 << 10, largestSegmentBytes: 256 << 10)
        }
    }

    /// Puts entries, some at a time, until the disk is full; returns the acknowledged ones.
    private func fill(_ store: TestStore, _ tree: TreeID, from start: Int, _ random: inout SplitMix) throws -> [Int: [UInt8]] {
        var kept: [Int: [UInt8]] = [:]
        var next = start
        while next < start + 100_000 {
            let batch = (next..<next + 40).map { ($0, value($0, &random)) }
            next += 40
            do {
                try store.write { transaction in
                    for (n, value) in batch { try transaction.put(key(n), value, in: tree) }
                }
            } catch let error as EngineError {
                #expect(error.code == .full, "\(error)")
                return kept
            }
            for (n, value) in batch { kept[n] = value }
        }
        return kept
    }

    private func expect(_ entries: [Int: [UInt8]], _ store: TestStore, _ tree: TreeID) throws {
        let view = try store.engine.snapshot().index(tree)
        #expect(view.count == entries.count)
        for (n, value) in entries { try #require(try view.get(key(n)) == value, "entry \(n)") }
    }

    @Test("a store on a full disk closes, and opens again with everything that was acknowledged")
    func fullStoresReopen() throws {
        var random = SplitMix(seed: 9)
        let disk = TightDisk(capacity: 2 << 20)
        var store: TestStore? = try open(disk)
        let tree = try store!.write { try $0.createIndex(named: "entries") }
        let entries = try fill(store!, tree, from: 0, &random)
        do { try store!.engine.close() } catch { #expect(error.code == .full) }
        store = nil
        disk.capacity += 2 << 20
        let again = try open(disk)
        try expect(entries, again, tree)
        #expect(try !disk.list("test.hornbeam").contains("spare"))
    }

    @Test("the first checkpoint makes the reserve, and a clean close removes it")
    func theReserveComesAndGoes() throws {
        let disk = TightDisk(capacity: 8 << 20)
        let store = try open(disk)
        _ = try store.write { try $0.createIndex(named: "entries") }
        #expect(try !disk.exists("test.hornbeam/reserve"))
        try store.engine.checkpoint()
        #expect(try disk.open("test.hornbeam/reserve", .read).size() == 256 << 10)
        try store.engine.close()
        #expect(try disk.list("test.hornbeam").filter { !$0.hasPrefix("pages-") } == ["lock", "meta"])
    }

    @Test("deletes on a full disk free space: no delete fails, and the space is used again", arguments: [2, 3])
    func deletesMakeRoom(megabytes: Int) throws {
        var random = SplitMix(seed: UInt64(megabytes))
        let disk = TightDisk(capacity: megabytes << 20)
        let store = try open(disk)
        let tree = try store.write { try $0.createIndex(named: "entries") }
        var entries = try fill(store, tree, from: 0, &random)
        let most = entries.count
        for round in 1...2 {
            // Commits until no commit of this size finds space, even after upkeep.
            for _ in 0..<4 {
                store.engine.maintain()
                entries.merge(try fill(store, tree, from: round * 1_000_000 + entries.count, &random)) { _, new in new }
            }
            let doomed = entries.keys.sorted().prefix(entries.count * 3 / 4)
            for start in stride(from: 0, to: doomed.count, by: 40) {
                let some = doomed[start..<min(start + 40, doomed.count)]
                try store.write { transaction in for n in some { _ = try transaction.delete(key(n), from: tree) } }
                for n in some { entries[n] = nil }
                store.engine.maintain()
            }
            try expect(entries, store, tree)
        }
        let again = try fill(store, tree, from: 9_000_000, &random)
        #expect(again.count > most / 3, "\(again.count) entries found room again, \(most) at first")
        entries.merge(again) { _, new in new }
        disk.capacity += 2 << 20
        try store.reopen()
        try expect(entries, store, tree)
    }

    @Test("after an opening on a full disk inserts throw `full`; then deletes free space, and inserts succeed",
          arguments: [2, 3], [false, true])
    func insertsBeforeDeletesAfterAnOpening(megabytes: Int, isClosed: Bool) throws {
        var random = SplitMix(seed: UInt64(megabytes) + 40)
        let disk = TightDisk(capacity: megabytes << 20)
        var store: TestStore? = try open(disk)
        let tree = try store!.write { try $0.createIndex(named: "entries") }
        var entries: [Int: [UInt8]] = [:]
        for round in 0..<4 {
            entries.merge(try fill(store!, tree, from: round * 1_000_000, &random)) { _, new in new }
            store!.engine.maintain()
        }
        let most = entries.count
        if isClosed { do { try store!.engine.close() } catch { #expect(error.code == .full) } }
        // Without closing, a crash.
        store = nil
        let again = try open(disk)
        try expect(entries, again, tree)
        // `fill` ends with a commit that was refused as full.
        for round in 0..<3 {
            entries.merge(try fill(again, tree, from: 10_000_000 + round * 1_000_000, &random)) { _, new in new }
            try expect(entries, again, tree)
            again.engine.maintain()
        }
        let doomed = entries.keys.sorted().prefix(entries.count * 3 / 4)
        for start in stride(from: 0, to: doomed.count, by: 40) {
            let some = doomed[start..<min(start + 40, doomed.count)]
            try again.write { transaction in for n in some { _ = try transaction.delete(key(n), from: tree) } }
            for n in some { entries[n] = nil }
            again.engine.maintain()
        }
        let found = try fill(again, tree, from: 20_000_000, &random)
        #expect(found.count > most / 3, "\(found.count) entries found room again, \(most) at first")
        entries.merge(found) { _, new in new }
        try expect(entries, again, tree)
        disk.capacity += 2 << 20
        try again.reopen()
        try expect(entries, again, tree)
    }

    @Test("while the reserve is used up an insert in a group with a delete is refused, in either order; the delete alone succeeds", arguments: [true, false])
    func noInsertPassesBesideADelete(isDeletedFirst: Bool) throws {
        var random = SplitMix(seed: 7)
        let disk = TightDisk(capacity: 8 << 20)
        let store = try open(disk)
        let tree = try store.write { try $0.createIndex(named: "entries") }
        var entries: [Int: [UInt8]] = [:]
        for n in 0..<100 { entries[n] = value(n, &random) }
        try store.write { transaction in for (n, value) in entries { try transaction.put(key(n), value, in: tree) } }
        try store.engine.checkpoint()
        let reserve = store.engine.core.reserve
        #expect(reserve.release())
        disk.capacity = disk.used

        let group = try store.engine.begin()
        for isDelete in [isDeletedFirst, !isDeletedFirst] {
            if isDelete {
                for n in 0..<40 { _ = try group.delete(key(n), from: tree) }
            } else {
                try group.put(key(500), [1], in: tree)
            }
            if isDelete == isDeletedFirst { _ = try group.endAndBeginNext(published: nil) }
        }
        let refusal = "full: The disk is full. Until there is room again, only commits that delete more than they add are accepted. Free some space. [test.hornbeam]"
        #expect(message { _ = try group.commit() } == refusal)
        #expect(message { try store.write { try $0.put(key(500), [1], in: tree) } } == refusal)
        try expect(entries, store, tree)
        try store.write { transaction in for n in 0..<40 { _ = try transaction.delete(key(n), from: tree) } }
        for n in 0..<40 { entries[n] = nil }
        try expect(entries, store, tree)
    }
}
