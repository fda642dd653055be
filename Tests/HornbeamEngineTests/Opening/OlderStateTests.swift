import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// When the newest checkpoint is damaged, the one before it serves only together with the log that leads from it on.
@Suite struct OlderStateTests {
    static let options: EngineOptions = {
        var options = EngineOptions()
        options.pageSize = 512
        options.poolBytes = 64 << 10
        options.usesBackgroundThread = false
        options.log.firstSegmentBytes = 65536
        return options
    }()

    func open(_ disk: SimulatedDisk) throws -> Engine { try Engine.open("s", fileSystem: disk, options: Self.options) }

    func commit(_ number: Int, to engine: Engine) throws {
        let transaction = try engine.begin()
        try transaction.setValue("n", Array("\(number)".utf8))
        _ = try transaction.commit()
    }

    func value(_ engine: Engine) throws -> String {
        try engine.snapshot().value("n").map { String(decoding: $0, as: UTF8.self) } ?? "none"
    }

    /// Flips a bit in the catalogue of the newest checkpoint.
    func damageNewest(_ disk: SimulatedDisk) throws {
        let state = try MetaFile.open("s/meta", fileSystem: disk).states[0]
        disk.damage("s/" + state.catalogue.file.fileName) { $0[Int(state.catalogue.offset) + 40] ^= 1 }
    }

    /// A store whose newest catalogue could not be read opened empty, without its acknowledged commits and without an error:
    /// the state before was that of its creation, and the log between had been removed at the clean close.
    @Test func withoutTheLogBetweenItIsRefused() throws {
        let disk = SimulatedDisk()
        let engine = try open(disk)
        try commit(1, to: engine)
        try engine.close()
        try damageNewest(disk)
        #expect(message { try open(disk) }.hasPrefix("damaged: The page at offset"))
    }

    @Test func withTheLogBetweenNothingIsLost() throws {
        let disk = SimulatedDisk()
        let engine = try open(disk)
        for number in 1...3 {
            try commit(number, to: engine)
            try engine.checkpoint()
        }
        try commit(4, to: engine)
        let crashed = disk.copy()
        try damageNewest(crashed)
        let recovered = try open(crashed)
        #expect(try value(recovered) == "4")
        #expect(try recovered.check().problems == [])
        try commit(5, to: recovered)
        try recovered.close()
        #expect(try value(open(crashed)) == "5")
    }
}
