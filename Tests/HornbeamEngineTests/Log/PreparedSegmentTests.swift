import Synchronization
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The next segment is made ahead of need, so that the commit which steps into it waits for nothing.
@Suite struct PreparedSegmentTests {
    let disk = SimulatedDisk()
    let faults: FaultInjector
    let oracle: LogOracle

    init() throws {
        faults = FaultInjector(disk)
        oracle = LogOracle(fileSystem: faults, disk: disk)
        try oracle.createFolder()
    }

    /// A writer whose first segment has less space left than a group needs, and the number of its last commit.
    private func writerAtTheEndOfASegment() throws -> (LogWriter, UInt64) {
        let writer = try oracle.makeWriter()
        for number in UInt64(1)...2 {
            disk.mark(.submitted(number))
            _ = try writer.append([LogOracle.record(number)])
            _ = try writer.sync()
            disk.mark(.acknowledged(number))
        }
        #expect(writer.currentSegment == LogSegmentNumber(1))
        return (writer, 2)
    }

    /// A transaction that does not fit into a segment of the minimum length.
    private static func large(_ number: UInt64, bytes: Int = 60_000) -> TransactionRecord {
        TransactionRecord(number: TransactionNumber(number), payload: (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 37 >> 3) })
    }

    /// All that making a segment calls.
    private static let calls = FileSystemCall.changing.union([.open, .exists])

    @Test func theStepIntoAPreparedSegmentCostsOneWriteMore() throws {
        let (writer, last) = try writerAtTheEndOfASegment()
        try writer.prepareSegment()
        faults.resetCounts()
        _ = try writer.append([LogOracle.record(last + 1)])
        _ = try writer.sync()
        #expect(writer.currentSegment == LogSegmentNumber(2))
        #expect(faults.count(of: [.write]) == 2, "the seal and the group")
        #expect(faults.count(of: [.sync]) == 1)
        #expect(faults.count(of: FileSystemCall.changing) == 3)
        #expect(try oracle.replay().count == last + 1)
    }

    @Test func aPreparedSegmentIsTheEndOfTheLogUntilItHasAGroup() throws {
        let (writer, last) = try writerAtTheEndOfASegment()
        try writer.prepareSegment()
        #expect(writer.nextSegment == LogSegmentNumber(3), "its number is taken")
        #expect(writer.segment(holding: writer.end.position) == LogSegmentNumber(1))
        let (count, end) = try oracle.replay()
        #expect(count == last && end.mark == writer.end && end.lastSegment == LogSegmentNumber(2))
        var lines: [String] = []
        try LogReader(directory: "s", fileSystem: disk, store: LogOracle.store).dump(LogSegmentNumber(2)) { lines.append($0) }
        #expect(lines.count == 1 && lines[0].contains("first none"), "\(lines)")
    }

    /// A checkpoint at the very end of a segment names that one, since the next may have no durable group yet.
    @Test func aPositionBetweenTwoSegmentsIsInTheFirst() throws {
        let (writer, last) = try writerAtTheEndOfASegment()
        let mark = writer.end
        _ = try writer.append([LogOracle.record(last + 1)])
        #expect(writer.currentSegment == LogSegmentNumber(2))
        #expect(writer.segment(holding: mark.position) == LogSegmentNumber(1))
        #expect(writer.segment(holding: writer.end.position) == LogSegmentNumber(2))
    }

    @Test func oneThatIsTooShortIsReplaced() throws {
        let (writer, last) = try writerAtTheEndOfASegment()
        try writer.prepareSegment()
        let large = Self.large(last + 1)
        _ = try writer.append([large])
        _ = try writer.sync()
        #expect(writer.currentSegment == LogSegmentNumber(2) && writer.nextSegment == LogSegmentNumber(3))
        let reader = LogReader(directory: "s", fileSystem: disk, store: LogOracle.store)
        #expect(try reader.segments() == [LogSegmentNumber(1), LogSegmentNumber(2)])
        var payloads: [[UInt8]] = []
        _ = try reader.replay(from: .origin, oldest: LogSegmentNumber(1), cleanlyClosed: true) { (_, payload, _) throws(EngineError) in
            payloads.append([UInt8](payload))
        }
        #expect(payloads == [LogOracle.record(1).payload, LogOracle.record(2).payload, large.payload])
    }

    /// Likewise while each call that makes the longer one fails once: no number is left out.
    @Test(arguments: [FaultRule.Effect.fail(.inputOutput), .fail(.full)])
    func aFailureWhileItIsReplacedLeavesNoGap(_ effect: FaultRule.Effect) throws {
        for index in 0..<20 {
            let place = try PreparedSegmentTests()
            let (writer, _) = try place.writerAtTheEndOfASegment()
            try writer.prepareSegment()
            place.faults.add(FaultRule(effect, calls: Self.calls, after: index))
            do { _ = try writer.append([Self.large(3)]) } catch {}
            let wasHit = place.faults.firedCount > 0
            place.faults.removeRules()
            guard wasHit else { return }
            guard !writer.isPoisoned else { continue }
            for number in UInt64(3)...9 { _ = try writer.append([LogOracle.record(number)]) }
            let numbers = try LogReader(directory: "s", fileSystem: place.disk, store: LogOracle.store).segments().map(\.rawValue)
            #expect(numbers == Array(1...UInt64(numbers.count)) && numbers.count >= 2, "call \(index): \(numbers)")
        }
        Issue.record("Replacing a segment takes more calls than were tried.")
    }

    /// Each call that makes the segment fails once: commits go on, in a segment of the same number, unless it is the folder that could not
    /// be synced.
    @Test(arguments: [FaultRule.Effect.fail(.inputOutput), .fail(.full), .failSyncKeepingNew, .failSyncRevertingToOld])
    func aFailureWhileItIsMadeIsNoHarm(_ effect: FaultRule.Effect) throws {
        var poisoned = 0
        for index in 0..<20 {
            let place = try PreparedSegmentTests()
            let (writer, _) = try place.writerAtTheEndOfASegment()
            place.faults.add(FaultRule(effect, calls: Self.calls, after: index))
            var hasFailed = false
            do { try writer.prepareSegment() } catch { hasFailed = true }
            let wasHit = place.faults.firedCount > 0
            place.faults.removeRules()
            #expect(writer.nextSegment == LogSegmentNumber(hasFailed ? 2 : 3), "call \(index)")
            if writer.isPoisoned { poisoned += 1 } else { try place.oracle.write(3...8, to: writer) }
            #expect(try place.oracle.replay().count == (writer.isPoisoned ? 2 : 8))
            var enumerator = CrashEnumerator(seed: UInt64(index))
            enumerator.randomImagesPerPoint = 1
            enumerator.stride = 4
            _ = try enumerator.crash(place.disk) { try LogOracle.verify($0) }
            if !wasHit { return #expect(poisoned == 1) }
        }
        Issue.record("Making a segment takes more calls than were tried.")
    }

    /// The second half of a segment is reserved for commits that free space, but the group for which the segment was made may use it.
    @Test func aSegmentTakesTheGroupItWasMadeFor() throws {
        let (writer, last) = try writerAtTheEndOfASegment()
        try writer.prepareSegment()
        writer.room.apply(.logRefused)
        _ = try writer.append([Self.large(last + 1, bytes: 24_000)])
        #expect(writer.currentSegment == LogSegmentNumber(2))
    }

    /// A sealed segment without a group, as a begun one that no group fitted into would be, proves nothing by its seal.
    @Test func aSealBeforeASegmentThatIsThereProvesNothing() throws {
        let (writer, last) = try writerAtTheEndOfASegment()
        try writer.prepareSegment()
        for (bound, number) in [(20_000, UInt64(2)), (60_000, 3)] {
            try writer.beginSegment(for: bound, frees: false)
            #expect(writer.currentSegment == LogSegmentNumber(number))
        }
        let (count, end) = try oracle.replay()
        #expect(count == last && end.lastSegment == LogSegmentNumber(3))
    }

    /// A flipped bit in the first frame of the last segment is detected as soon as a second group proves that the first was durable.
    @Test func damageToTheFirstFrameIsNoticed() throws {
        let (writer, last) = try writerAtTheEndOfASegment()
        let segment = "s/" + LogSegmentNumber(2).fileName
        for number in last + 1...last + 2 {
            _ = try writer.append([LogOracle.record(number)])
            _ = try writer.sync()
            for byte in 4096..<4096 + LogFrame.groupFrameBytes {
                let copy = disk.copy()
                copy.damage(segment) { $0[byte] ^= 16 }
                let damaged = LogOracle(fileSystem: copy, disk: nil)
                if number == last + 1 {
                    #expect(try damaged.replay().count == last, "byte \(byte): nothing tells it from a torn write")
                    #expect(message { try damaged.replay(knownDurable: writer.durable) }.hasPrefix("logDamaged"))
                } else {
                    #expect(message { try damaged.replay() }.hasPrefix("logDamaged"), "byte \(byte)")
                }
            }
        }
    }

    /// Damage to the first frame of the oldest segment must not make it look as if nothing had been logged since the checkpoint.
    @Test func theOldestSegmentHasAFirstGroupUnlessTheStoreWasClosed() throws {
        let (writer, _) = try writerAtTheEndOfASegment()
        disk.damage("s/" + LogSegmentNumber(1).fileName) { $0[4096 + 20] ^= 1 }
        let reader = LogReader(directory: "s", fileSystem: disk, store: LogOracle.store)
        let text = message {
            try reader.replay(from: writer.end, oldest: LogSegmentNumber(1), cleanlyClosed: false) { (_, _, _) throws(EngineError) in }
        }
        #expect(text.contains("the first group of the oldest segment is damaged"), "\(text)")
    }
}
