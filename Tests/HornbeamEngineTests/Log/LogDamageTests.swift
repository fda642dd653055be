import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Damage to a complete log gives an error or the correct content, and never silently loses the last commits.
@Suite struct LogDamageTests {
    /// Three segments of a log with every commit acknowledged.
    static func makeDisk() throws -> (SimulatedDisk, LogWriter) {
        let disk = SimulatedDisk()
        let oracle = LogOracle(fileSystem: disk, disk: nil)
        try oracle.createFolder()
        let writer = try oracle.makeWriter()
        for number in UInt64(1)...9 {
            _ = try writer.append([LogOracle.record(number)])
            _ = try writer.sync()
        }
        return (disk, writer)
    }

    static let first = "s/wal-0000000000000001"

    func replay(_ disk: SimulatedDisk, knownDurable: LogPosition = .zero) throws -> UInt64 {
        try LogOracle(fileSystem: disk, disk: nil).replay(knownDurable: knownDurable).count
    }

    @Test func everyFlippedBitIsAnErrorOrHarmless() throws {
        let (disk, writer) = try Self.makeDisk()
        #expect(try replay(disk) == 9)
        let last = writer.currentSegment!.fileName
        var errors = 0
        var shorter = 0
        for (path, bytes) in disk.files where path.contains("wal-") {
            for bit in stride(from: 3, to: bytes.count * 8, by: 1009) {
                let copy = disk.copy()
                copy.damage(path) { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
                do {
                    let count = try replay(copy)
                    // Only the last group has nothing after it that proves it durable; the durable LSN hint does.
                    if count < 9 {
                        #expect(path.hasSuffix(last) && count == 8, "bit \(bit) of \(path): \(count) commits")
                        #expect(message { try replay(copy, knownDurable: writer.durable) }.hasPrefix("logDamaged"))
                        shorter += 1
                    }
                } catch let error as EngineError {
                    #expect(error.code == .logDamaged, "bit \(bit) of \(path): \(error)")
                    errors += 1
                }
            }
        }
        #expect(errors > 50 && shorter > 0)
    }

    @Test func aLostMiddleIsNeverCutSilently() throws {
        let (disk, _) = try Self.makeDisk()
        let middle = disk.copy()
        middle.damage(Self.first) { bytes in
            for index in 8192..<12288 { bytes[index] = 0 }
        }
        #expect(message { try replay(middle) } == """
            logDamaged: Acknowledged commits between log positions 4096 and 8192 cannot be read: the log ends before \
            the next segment, wal-0000000000000002. Nothing was changed. Restore the store from a backup, or \
            salvage the part before the damage. [s/wal-0000000000000001]
            """)
        disk.damage(Self.first) { bytes in
            for index in 4096..<8192 { bytes[index] = 0 }
        }
        #expect(message { try replay(disk) } == """
            logDamaged: Acknowledged commits between log positions 0 and 8192 cannot be read: the log begins after the \
            store's last checkpoint. Nothing was changed. Restore the store from a backup, or salvage the part before the \
            damage. [s/wal-0000000000000001]
            """)
    }

    @Test func aLaterGroupVouchesForALostOne() throws {
        let (disk, writer) = try Self.makeDisk()
        let last = "s/" + writer.currentSegment!.fileName
        let segment = try LogReader(directory: "s", fileSystem: disk, store: LogOracle.store).open(writer.currentSegment!)
        for number in UInt64(10)...11 {
            _ = try writer.append([TransactionRecord(number: TransactionNumber(number), payload: [1])])
            _ = try writer.sync()
        }
        try #require(writer.currentSegment == segment.header.number)
        let offset = Int(segment.offset(of: LogPosition(writer.end.position.rawValue - 8192)))
        disk.damage(last) { $0[offset + 50] ^= 1 }
        let text = message { try replay(disk) }
        #expect(text.contains("a later group records that they were durable"), "\(text)")
    }

    @Test func aMissingSegmentIsNamed() throws {
        let (disk, writer) = try Self.makeDisk()
        try #require(writer.currentSegment!.rawValue >= 3)
        let middle = disk.copy()
        try middle.remove("s/wal-0000000000000002")
        #expect(message { try replay(middle) } == """
            logDamaged: The log segment wal-0000000000000002 is missing, with the commits after log position 0. Nothing \
            was changed. Restore the store's folder as a whole from a backup. [s/wal-0000000000000002]
            """)
        let newest = disk.copy()
        try newest.remove("s/" + writer.currentSegment!.fileName)
        #expect(message { try replay(newest) }.contains("the segment \(writer.currentSegment!) that follows is missing"))
    }

    @Test func truncationAtEverySectorIsAnError() throws {
        let (disk, _) = try Self.makeDisk()
        let length = disk.files[Self.first]!.count
        for size in stride(from: 0, to: length, by: 512) {
            let copy = disk.copy()
            copy.damage(Self.first) { $0.removeLast($0.count - size) }
            #expect(message { try replay(copy) }.hasPrefix("logDamaged"), "cut to \(size)")
        }
    }

    @Test func aSegmentOfAnotherStoreIsRefused() throws {
        let (disk, _) = try Self.makeDisk()
        let reader = LogReader(directory: "s", fileSystem: disk, store: StoreIdentifier(high: 1, low: 2))
        let text = message {
            try reader.replay(from: .origin, oldest: LogSegmentNumber(1), cleanlyClosed: false) { (_, _, _) throws(EngineError) in }
        }
        #expect(text == """
            logDamaged: A segment of the log cannot be read: the segment belongs to another store. Nothing was changed. \
            Restore the store's folder as a whole from a backup. [s/wal-0000000000000001]
            """)
    }

    @Test func swappedSegmentsAreRefused() throws {
        let (disk, _) = try Self.makeDisk()
        let second = disk.files["s/wal-0000000000000002"]!
        disk.damage(Self.first) { $0 = second }
        #expect(message { try replay(disk) }.contains("the segment's name is not the number in its header"))
    }

    @Test func groupsMovedWithinASegmentAreRefused() throws {
        let (disk, _) = try Self.makeDisk()
        disk.damage(Self.first) { bytes in
            bytes.replaceSubrange(8192..<12288, with: bytes[4096..<8192])
        }
        #expect(message { try replay(disk) }.hasPrefix("logDamaged"))
    }

    @Test func theDumpShowsEveryFrame() throws {
        let (disk, _) = try Self.makeDisk()
        let reader = LogReader(directory: "s", fileSystem: disk, store: LogOracle.store)
        var lines: [String] = []
        try reader.dump(LogSegmentNumber(1)) { lines.append($0) }
        #expect(lines.first?.hasPrefix("wal-0000000000000001 store 000000000000000b0000000000000016 bytes 16384 check ") == true)
        #expect(lines.first?.hasSuffix(" first @0 previous 0000000000000000") == true, "\(lines)")
        #expect(lines.contains { $0.contains("@0 group durable @0, 1 frames") })
        #expect(lines.last == "@8192 seal: wal-0000000000000002 follows", "\(lines)")
    }
}
