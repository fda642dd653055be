import Testing

@testable import CrashHarness
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Opening stores at an older state, after damage that keeps the newest from being opened.
@Suite struct StartingPointTests {
    private let oracle = EngineOracle(transactions: 60, bigEvery: 1000)

    /// A store with two checkpoints, of transactions 20 and 30, and a log to transaction 36.
    private func store() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        var options = oracle.options
        options.checkpointLogBytes = 1 << 20
        options.poolBytes = 1 << 20
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: options)
        for end: UInt64 in [20, 30, 36] {
            if end > 20 { try engine.checkpoint() }
            try oracle.commit(to: engine, through: end)
        }
        return disk.copy()
    }

    private func open(_ disk: SimulatedDisk, _ point: StartingPoint, readOnly: Bool = false) throws -> Engine {
        var options = oracle.options
        options.startingPoint = point
        options.isReadOnly = readOnly
        return try Engine.open("s.hornbeam", fileSystem: disk, options: options)
    }

    /// Flips a bit of the n-th group from the end of the log.
    private func damageLog(_ disk: SimulatedDisk, groupsFromEnd: Int) throws {
        let store = try MetaFile.open("s.hornbeam/meta", fileSystem: disk).states[0].store
        let reader = LogReader(directory: "s.hornbeam", fileSystem: disk, store: store)
        var places: [(segment: LogSegmentNumber, position: LogPosition)] = []
        for number in try reader.segments() {
            var lines: [String] = []
            try reader.dump(number) { lines.append($0) }
            places += lines.dropFirst().dropLast().map { line in
                (number, LogPosition(UInt64(line.dropFirst().prefix { $0 != " " })!))
            }
        }
        let place = places[places.count - groupsFromEnd]
        let offset = Int(try reader.open(place.segment).offset(of: place.position))
        disk.damage("s.hornbeam/" + place.segment.fileName) { $0[offset + 44] ^= 1 }
    }

    @Test("a sound store loses nothing, even if the opening may skip damaged parts", arguments: [StartingPoint.newest, .lastReadable])
    func nothingIsLostOfASoundStore(_ point: StartingPoint) throws {
        let engine = try open(try store(), point)
        #expect(engine.latest.rawValue == 36 && engine.loss == nil)
        try oracle.expectSound(engine)
    }

    @Test("after damage in the log the commits before it can be opened, and the report names the others", arguments: 1...6, [false, true])
    func theLogIsReadAsFarAsItGoes(_ groupsFromEnd: Int, readOnly: Bool) throws {
        let disk = try store()
        try damageLog(disk, groupsFromEnd: groupsFromEnd)
        #expect(throws: EngineError.self) { try open(disk, .newest, readOnly: readOnly) }
        let engine = try open(disk, .lastReadable, readOnly: readOnly)
        let expected = 36 - UInt64(groupsFromEnd)
        let loss = try #require(engine.loss)
        #expect(loss.transaction.rawValue == expected)
        #expect(loss.description.hasPrefix("The store was opened as transaction \(expected) left it. "), "\(loss)")
        #expect(loss.reason?.contains("log") == true)
        if readOnly { return try oracle.expectSound(engine) }
        try goOn(engine, disk)
    }

    @Test("the previous checkpoint can be opened, and the report names the transactions after it", arguments: [false, true])
    func thePreviousCheckpointCanBeOpened(readOnly: Bool) throws {
        let disk = try store()
        let engine = try open(disk, .previousCheckpoint, readOnly: readOnly)
        #expect(
            engine.loss?.description
                == "The store was opened as transaction 20 left it. The 16 transactions 21 to 36 are lost, and any after them.")
        if readOnly {
            try oracle.expectSound(engine)
            #expect(try open(disk, .newest).latest.rawValue == 36)
        } else {
            try goOn(engine, disk)
        }
    }

    @Test func aStoreWhoseNewestCatalogueIsGoneOpensAtThePreviousCheckpoint() throws {
        let disk = try store()
        let state = try MetaFile.open("s.hornbeam/meta", fileSystem: disk).states[0]
        disk.damage("s.hornbeam/" + state.catalogue.file.fileName) { $0[Int(state.catalogue.offset) + 40] ^= 1 }
        // The log leads from the previous checkpoint to the end, so nothing is lost even so.
        #expect(try open(disk.copy(), .newest).latest.rawValue == 36)
        let engine = try open(disk, .previousCheckpoint)
        #expect(engine.loss?.transaction.rawValue == 20)
        try goOn(engine, disk)
    }

    /// The store works normally again and assigns no key of a lost object to another object.
    private func goOn(_ engine: Engine, _ disk: SimulatedDisk) throws {
        let found = engine.latest.rawValue
        let content = try oracle.digest(try engine.snapshot())
        #expect(content == oracle.digests[Int(found) - 1], "the transaction that skips keys comes on top")
        let transaction = try engine.begin()
        #expect(try transaction.reserve(1) > 1 << 20)
        _ = try transaction.commit()
        try engine.close()
        let again = try open(disk, .newest)
        #expect(again.latest.rawValue == found + 1 && again.loss == nil)
        #expect(try oracle.digest(try again.snapshot()) == content)
        #expect(try again.check().problems == [])
    }
}
