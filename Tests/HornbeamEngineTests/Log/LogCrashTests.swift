import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The log alone, crashed at every operation in every way.
@Suite struct LogCrashTests {
    @Test(arguments: [1, 2, 5])
    func everyCrashKeepsAPrefixWithAllThatWasAcknowledged(groupsPerSync: Int) throws {
        var enumerator = CrashEnumerator(seed: UInt64(groupsPerSync))
        enumerator.nestingDepth = 1
        enumerator.nestedImagesPerImage = 1
        let report = try enumerator.run { disk in
            let oracle = LogOracle(fileSystem: disk, disk: disk)
            try oracle.createFolder()
            try oracle.write(1...14, to: oracle.makeWriter(), groupsPerSync: groupsPerSync)
        } verify: { image in
            try LogOracle.verify(image)
        }
        #expect(report.images > 500 && report.nestedImages > 500, "\(report)")
    }

    /// Crashes while the log continues after a crash, with the torn segment still there.
    @Test func crashesAfterACrashKeepAPrefixToo() throws {
        let disk = SimulatedDisk()
        let oracle = LogOracle(fileSystem: disk, disk: disk)
        try oracle.createFolder()
        let writer = try oracle.makeWriter()
        try oracle.write(1...6, to: writer)
        disk.mark(.submitted(8))
        _ = try writer.append([LogOracle.record(7), LogOracle.record(8)])
        var enumerator = CrashEnumerator(seed: 3)
        enumerator.stride = 1000
        enumerator.nestingDepth = 3
        enumerator.nestedImagesPerImage = 3
        let report = try enumerator.crash(disk) { try LogOracle.verify($0) }
        #expect(report.nestedImages > 100, "\(report)")
    }

    /// A removed sync is noticed: the enumerator is sharp enough to find every one that the log needs.
    @Test(arguments: [PathKind.log, .spare, .other])
    func aSyncThatLiesIsFound(kind: PathKind) throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let oracle = LogOracle(fileSystem: faults, disk: disk)
        try oracle.createFolder()
        faults.add(FaultRule(.lie, calls: [.sync, .syncDirectory], kind: kind, isSticky: true))
        try oracle.write(1...12, to: oracle.makeWriter())
        #expect(throws: CrashEnumerator.Failure.self) {
            _ = try CrashEnumerator().crash(disk) { try LogOracle.verify($0) }
        }
    }

    @Test(arguments: [FaultRule.Effect.failSyncKeepingNew, .failSyncRevertingToOld], 0..<12)
    func aFailedSyncPoisonsAndLosesNothingAcknowledged(effect: FaultRule.Effect, after: Int) throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        let oracle = LogOracle(fileSystem: faults, disk: disk)
        try oracle.createFolder()
        faults.add(FaultRule(effect, calls: [.sync], after: after))
        let writer = try oracle.makeWriter()
        var failure: EngineError?
        do { try oracle.write(1...14, to: writer) } catch { failure = error as? EngineError }
        if writer.isPoisoned {
            #expect(failure?.code == .durabilityLost)
            let refusal = try #require(failure)
            #expect(throws: refusal) { _ = try writer.append([LogOracle.record(1)]) }
            #expect(throws: refusal) { _ = try writer.sync() }
            #expect(throws: refusal) { try writer.prepareSegment() }
        } else {
            // The sync of a preallocated segment failed, before anything was logged.
            #expect(failure?.code == .inputOutput || after > 8)
        }
        var enumerator = CrashEnumerator(seed: UInt64(after))
        enumerator.randomImagesPerPoint = 1
        enumerator.stride = 4
        _ = try enumerator.crash(disk) { try LogOracle.verify($0) }
        // The same process opens the log that its cache contains: a prefix of the commits, for every outcome of the failed sync.
        let (_, end) = try LogOracle(fileSystem: disk, disk: nil).replay()
        #expect(end.mark.position >= writer.durable)
    }

    /// Every call fails once: an error is thrown, and what was acknowledged comes back; an error before the log was
    /// touched leaves a writer that continues.
    @Test(arguments: [FaultRule.Effect.fail(.inputOutput), .fail(.full), .short])
    func everyFailingCallIsSurvived(effect: FaultRule.Effect) throws {
        for index in 0..<200 {
            let disk = SimulatedDisk()
            let faults = FaultInjector(disk)
            let oracle = LogOracle(fileSystem: faults, disk: disk)
            try oracle.createFolder()
            let calls = FileSystemCall.changing.union([.open, .list, .exists])
            faults.add(FaultRule(effect, calls: calls, after: index))
            var acknowledged: UInt64 = 0
            var writer: LogWriter?
            do {
                let made = try oracle.makeWriter()
                writer = made
                for number in UInt64(1)...12 {
                    _ = try made.append([LogOracle.record(number)])
                    _ = try made.sync()
                    acknowledged = number
                }
            } catch let error as EngineError {
                #expect([.inputOutput, .full, .durabilityLost].contains(error.code), "call \(index)")
            }
            let wasHit = faults.firedCount > 0
            faults.removeRules()
            if let writer, !writer.isPoisoned, acknowledged < 12 {
                for number in acknowledged + 1...12 { _ = try writer.append([LogOracle.record(number)]) }
                _ = try writer.sync()
                acknowledged = 12
            }
            let (count, _) = try oracle.replay()
            #expect(count >= acknowledged && count <= 12, "call \(index)")
            if !wasHit { return }
        }
        Issue.record("The workload makes more calls than were tried.")
    }
}
