import Testing
@testable import HornbeamEngine

@Suite struct MetaFileTests {
    let disk = MemoryFileSystem()

    static func state(_ checkpoint: UInt64) -> MetaState {
        MetaState(
            store: StoreIdentifier(high: 0x1122, low: 0x3344), salt: 99, pageSize: 16384, checkpoint: checkpoint,
            log: LogMark(position: LogPosition(4096 * checkpoint), check: checkpoint &* 0x9E37_79B9),
            transaction: TransactionNumber(checkpoint * 10), nextObjectKey: checkpoint * 100,
            catalogue: PageReference(file: PageFileNumber(3), offset: 64 * checkpoint, recordBytes: 128, check: .max, count: 7),
            fileTable: PageReference(file: PageFileNumber(4), offset: 8 * checkpoint, recordBytes: 64, check: 1 << 40, count: 1),
            oldestLogSegment: LogSegmentNumber(checkpoint), nextLogSegment: LogSegmentNumber(checkpoint + 1),
            nextPageFile: PageFileNumber(UInt32(checkpoint) + 5), isCleanlyClosed: checkpoint % 2 == 0)
    }

    func bytes() throws -> [UInt8] {
        let file = try disk.open("meta", .read)
        var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
        _ = try bytes.withMutableBytes { (buffer) throws(EngineError) in try file.read(into: buffer, at: 0) }
        return bytes
    }

    func replaceFile(_ bytes: [UInt8]) throws {
        if try disk.exists("meta") { try disk.remove("meta") }
        let file = try disk.open("meta", .create)
        try bytes.withBytes { (buffer) throws(EngineError) in try file.write(buffer, at: 0) }
    }

    @Test func theTwoNewestStatesComeBack() throws {
        let meta = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        #expect(try MetaFile.open("meta", fileSystem: disk).states == [Self.state(1)])
        for checkpoint in UInt64(2)...9 {
            try meta.write(Self.state(checkpoint))
            let expected = [Self.state(checkpoint), Self.state(checkpoint - 1)]
            #expect(meta.states == expected)
            #expect(try MetaFile.open("meta", fileSystem: disk).states == expected)
        }
    }

    /// If any single block is lost, the newest state survives in its other copy.
    @Test(arguments: 0..<4, [UInt8(0), 0xA5])
    func oneLostBlockLosesNothing(block: Int, filling: UInt8) throws {
        let meta = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        try meta.write(Self.state(2))
        var bytes = try bytes()
        bytes.replaceSubrange(block * 4096..<(block + 1) * 4096, with: repeatElement(filling, count: 4096))
        try replaceFile(bytes)
        #expect(try MetaFile.open("meta", fileSystem: disk).states == [Self.state(2), Self.state(1)])
    }

    /// Every bit of one copy, with the other copy lost: the older state or nothing, never a wrong one.
    @Test func everyFlippedBitIsNoticed() throws {
        let meta = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        try meta.write(Self.state(2))
        var bytes = try bytes()
        bytes.replaceSubrange(12288..<16384, with: repeatElement(0, count: 4096))
        // In debug, every 13th bit of the zeros and every bit of the fields and the check.
        let bits = (0..<4096 * 8).filter { $0 < 180 * 8 || $0 >= 4088 * 8 || $0 % 131 == 0 }
        for bit in bits {
            bytes[4096 + bit / 8] ^= 1 << UInt8(bit % 8)
            try replaceFile(bytes)
            #expect(try MetaFile.open("meta", fileSystem: disk).states == [Self.state(1)], "bit \(bit)")
            bytes[4096 + bit / 8] ^= 1 << UInt8(bit % 8)
        }
    }

    @Test func theNewestStateCanBeGivenUp() throws {
        let meta = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        #expect(meta.discardNewest() == nil)
        try meta.write(Self.state(2))
        #expect(meta.discardNewest() == Self.state(1))
        try meta.write(Self.state(3))
        #expect(try MetaFile.open("meta", fileSystem: disk).states == [Self.state(3), Self.state(1)])
    }

    @Test func aMetaFileOfTheFirstVersionOpens() throws {
        let meta = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        var older = try bytes()
        for copy in [0, 1] {
            older[8192 * copy + 8] = 1
            Self.renewCheck(&older, block: 2 * copy, slot: 0)
        }
        try replaceFile(older)
        #expect(try MetaFile.open("meta", fileSystem: disk).states == [Self.state(1)])
        _ = meta
    }

    @Test func errorsSayWhatIsThere() throws {
        #expect(message { try MetaFile.open("meta", fileSystem: disk) } == """
            notAStore: There is no such file or folder in memory. [meta]
            """)
        try replaceFile(Array("a text file".utf8))
        #expect(message { try MetaFile.open("meta", fileSystem: disk) } == """
            notAStore: The file is not the meta file of a store. Check the path. [meta]
            """)
        try disk.remove("meta")
        _ = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        let good = try bytes()

        var newer = good
        newer[8] = 3
        Self.renewCheck(&newer, block: 0, slot: 0)
        try replaceFile(newer)
        #expect(message { try MetaFile.open("meta", fileSystem: disk) } == """
            newerFormat: The store has format version 3; this library reads version 2. Open it with a newer release. [meta]
            """)

        var featured = good
        featured[24] = 5
        Self.renewCheck(&featured, block: 0, slot: 0)
        try replaceFile(featured)
        #expect(message { try MetaFile.open("meta", fileSystem: disk) } == """
            newerFormat: The store uses features that this library does not know (bits 101). Open it with a newer release. [meta]
            """)

        var damaged = good
        damaged[100] ^= 1
        damaged[8192 + 100] ^= 1
        try replaceFile(damaged)
        #expect(message { try MetaFile.open("meta", fileSystem: disk) } == """
            damaged: No copy of the store's meta block is valid: the check is wrong. Restore the store from a backup. [meta]
            """)
    }

    /// Slots 0 of one file and slots 1 of another.
    func mix(_ change: (inout MetaState) -> Void) throws {
        let meta = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        try meta.write(Self.state(2))
        let first = try bytes()
        try disk.remove("meta")
        var states = [Self.state(1), Self.state(2)]
        for index in states.indices { change(&states[index]) }
        let stranger = try MetaFile.create("meta", fileSystem: disk, state: states[0])
        try stranger.write(states[1])
        var mixed = try bytes()
        for copy in [0, 8192] { mixed.replaceSubrange(copy..<copy + 4096, with: first[copy..<copy + 4096]) }
        try replaceFile(mixed)
    }

    @Test func slotsOfTwoStoresAreRefused() throws {
        try mix { $0.store = StoreIdentifier(high: 1, low: 2) }
        #expect(message { try MetaFile.open("meta", fileSystem: disk) } == """
            damaged: The two slots of the meta file are not of one store. Restore the store's folder as a whole from a backup. [meta]
            """)
    }

    @Test func anOlderStateOfAnotherHistoryDoesNotCount() throws {
        try mix { $0.transaction = TransactionNumber(77) }
        #expect(try MetaFile.open("meta", fileSystem: disk).states.map(\.transaction) == [TransactionNumber(77)])
    }

    /// Two crashes while meta was written once made a store refuse to open. The first left the new state 3 in one copy
    /// of its slot and state 1 in the other; state 4 followed in the other slot; then the write of state 5 was torn over
    /// the copy of 3, and state 1 came to light, which state 4 does not follow.
    @Test func aStateLongGoneThatATornWriteUncoversDoesNotCount() throws {
        let meta = try MetaFile.create("meta", fileSystem: disk, state: Self.state(1))
        let first = try bytes()[8192..<12288]
        for checkpoint in UInt64(2)...4 { try meta.write(Self.state(checkpoint)) }
        var torn = try bytes()
        torn.replaceSubrange(8192..<12288, with: first)
        torn.replaceSubrange(0..<2048, with: repeatElement(0xA5, count: 2048))
        try replaceFile(torn)
        let opened = try MetaFile.open("meta", fileSystem: disk)
        #expect(opened.states == [Self.state(4)])
        try opened.write(Self.state(5))
        #expect(try MetaFile.open("meta", fileSystem: disk).states == [Self.state(5), Self.state(4)])
    }

    @Test func theDumpNamesEveryField() {
        #expect(Self.state(2).dump == """
            checkpoint 2, cleanly closed
              store 00000000000011220000000000003344
              page size 16384
              transaction #20, next object key 200
              log @8192~000000013c6ef372, oldest segment wal-0000000000000002, next segment wal-0000000000000003
              catalogue pages-0000000000000003+128 (128 bytes, count 7)
              file table pages-0000000000000004+16 (64 bytes, count 1)
              next page file pages-0000000000000007
            """)
    }

    static func renewCheck(_ bytes: inout [UInt8], block: Int, slot: Int) {
        bytes.withMutableBytes { buffer in
            let part = buffer.part(block * 4096..<(block + 1) * 4096)
            part.set(XXH64.hash(UnsafeRawBufferPointer(part).part(0..<4088), seed: UInt64(slot)), at: 4088)
        }
    }
}

/// The description of the engine error that a closure throws; a word if it throws none.
func message<R>(_ body: () throws -> R) -> String {
    do {
        _ = try body()
        return "nothing thrown"
    } catch let error as EngineError {
        return error.description
    } catch {
        return "another error: \(error)"
    }
}
