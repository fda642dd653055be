import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The durable LSN hint proves the last group of the log durable, and no group that was not acknowledged.
@Suite struct DurableLSNHintTests {
    static let store = LogOracle.store

    func makeDisk() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        try disk.createDirectory("s")
        _ = try disk.open("s/lock", .create)
        return disk
    }

    func durableHint(_ fileSystem: any FileSystem, store: StoreIdentifier = store) -> DurableLSNHint {
        DurableLSNHint("s/lock", fileSystem: fileSystem, store: store)
    }

    @Test func theNotedPositionComesBackForItsStoreOnly() throws {
        let disk = try makeDisk()
        #expect(durableHint(disk).position == nil)
        durableHint(disk).recordDurable(LogPosition(8192))
        durableHint(disk).recordDurable(LogPosition(4096 << 20))
        #expect(durableHint(disk).position == LogPosition(4096 << 20))
        #expect(durableHint(disk, store: StoreIdentifier(high: 1, low: 2)).position == nil)
        for bit in 0..<128 {
            let copy = disk.copy()
            copy.damage("s/lock") { $0[8 + bit / 8] ^= 1 << UInt8(bit % 8) }
            #expect(durableHint(copy).position == nil)
        }
    }

    @Test func theNoteDoesNotGoBack() throws {
        let disk = try makeDisk()
        let writing = durableHint(disk)
        writing.recordDurable(LogPosition(8192))
        writing.restore(LogPosition(4096))
        #expect(durableHint(disk).position == LogPosition(8192))
        writing.recordDurable(LogPosition(4096))
        #expect(durableHint(disk).position == LogPosition(8192))
        try disk.remove("s/lock")
        writing.restore(LogPosition(4096))
        #expect(durableHint(disk).position == LogPosition(8192))
    }

    @Test func noCommitFailsForIt() throws {
        let disk = try makeDisk()
        let faults = FaultInjector(disk)
        let writer = try LogWriter(
            directory: "s", fileSystem: faults, store: Self.store, continuing: .origin, nextSegment: LogSegmentNumber(1),
            durableHint: durableHint(faults))
        faults.add(FaultRule(.fail(.inputOutput), kind: .lock, isSticky: true))
        let mark = try writer.append([LogOracle.record(1)])
        #expect(try writer.sync() == mark.position)
        #expect(faults.firedCount == 1)
        #expect(durableHint(faults).position == nil)
        faults.removeRules()
        #expect(durableHint(disk).position == .zero, "the hint of the opening")
        let second = try writer.append([LogOracle.record(2)])
        _ = try writer.sync()
        #expect(durableHint(disk).position == second.position, "the next hint is written again")
        try disk.remove("s/lock")
        #expect(durableHint(disk).position == nil)
        writer.restoreDurableHint()
        #expect(durableHint(disk).position == second.position)
    }

    @Test func itIsNotedAfterTheSyncOnly() throws {
        let disk = try makeDisk()
        let faults = FaultInjector(disk)
        let writer = try LogWriter(
            directory: "s", fileSystem: faults, store: Self.store, continuing: .origin, nextSegment: LogSegmentNumber(1),
            durableHint: durableHint(disk))
        let first = try writer.append([LogOracle.record(1)])
        #expect(durableHint(disk).position == .zero)
        _ = try writer.sync()
        #expect(durableHint(disk).position == first.position)
        _ = try writer.append([LogOracle.record(2)])
        faults.add(FaultRule(.failSyncKeepingNew, calls: [.sync]))
        #expect(throws: EngineError.self) { _ = try writer.sync() }
        #expect(durableHint(disk).position == first.position)
    }

    /// Damage to the last commit of a store that was not closed was a silently shorter history.
    @Test func theLastCommitOfAStoreIsMissed() throws {
        let disk = SimulatedDisk()
        let engine = try Engine.open("s", fileSystem: disk, options: OlderStateTests.options)
        for number in 1...3 {
            let transaction = try engine.begin()
            try transaction.setValue("n", Array("\(number)".utf8))
            _ = try transaction.commit()
        }
        let sound = disk.copy()
        #expect(try Engine.open("s", fileSystem: sound, options: OlderStateTests.options).latest == TransactionNumber(3))
        let damaged = disk.copy()
        damaged.damage("s/wal-0000000000000001") { bytes in bytes[4096 + 2 * 4096 + 90] ^= 1 }
        #expect(message { try Engine.open("s", fileSystem: damaged, options: OlderStateTests.options) } == """
            logDamaged: Acknowledged commits between log positions 8192 and 12288 cannot be read: the log ends before the \
            position that was acknowledged. Nothing was changed. Restore the store from a backup, or salvage the \
            part before the damage. [s/wal-0000000000000001]
            """)
    }
}
