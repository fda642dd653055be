import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// The state table of the room on the disk.
@Suite struct DiskRoomTests {
    typealias State = DiskRoom.State

    @Test(arguments: [
        (State.ample, [State.logShort, .ample, .spent, .ample]), (.logShort, [.logShort, .ample, .exhausted, .logShort]),
        (.spent, [.exhausted, .spent, .spent, .ample]), (.exhausted, [.exhausted, .spent, .exhausted, .logShort]),
    ])
    func eachEventLeadsWhereTheTableSays(_ state: State, _ after: [State]) {
        #expect(DiskRoom.Event.allCases.map(state.after) == after)
    }

    @Test func eachStateAllowsWhatTheTableSays() {
        #expect(State.allCases.map(\.acceptsOnlyFreeing) == [false, false, true, true])
        #expect(State.allCases.map(\.holdsLogBack) == [false, true, false, true])
        let room = DiskRoom()
        for (event, isShort) in [(DiskRoom.Event.logRefused, true), (.segmentMade, false), (.reserveSpent, true), (.reserveMade, false)] {
            room.apply(event)
            #expect(room.isShort(unwritten: 0) == isShort, "\(room.state)")
        }
        room.setFreeBytes(4000)
        #expect(!room.isShort(unwritten: 1000) && room.isShort(unwritten: 1001))
        room.setFreeBytes(nil)
        #expect(!room.isShort(unwritten: 1001))
    }

    /// The reference keeps the last event of the log and the last event of the reserve.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func randomEventsGiveTheStatesOfTheReference(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let room = DiskRoom()
        var (isLogRefused, isReserveSpent) = (false, false)
        for _ in 0..<40 {
            let event = DiskRoom.Event.allCases.randomElement(using: &random)!
            room.apply(event)
            switch event {
            case .logRefused: isLogRefused = true
            case .segmentMade: isLogRefused = false
            case .reserveSpent: isReserveSpent = true
            case .reserveMade: isReserveSpent = false
            }
            #expect(room.state.holdsLogBack == isLogRefused && room.state.acceptsOnlyFreeing == isReserveSpent, "seed \(seed)")
            #expect(room.isShort(unwritten: 0) == (isLogRefused || isReserveSpent), "seed \(seed)")
        }
    }

    @Test("the reserve reports to the table", arguments: 0..<20 as Range<UInt64>)
    func theReserveReportsToTheTable(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let disk = TightDisk(capacity: 1 << 20)
        try disk.createDirectory("s")
        let reserve = SpaceReserve(directory: "s", fileSystem: disk, bytes: 1 << 16)
        var isPresent = false
        for _ in 0..<30 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                #expect(reserve.release() == isPresent, "seed \(seed)")
                if isPresent { #expect(reserve.room.state == .spent, "seed \(seed)") }
                isPresent = false
            case 1:
                reserve.prepare(isUrgent: true)
                isPresent = isPresent || disk.capacity == 1 << 20
                #expect(reserve.room.state == (isPresent ? .ample : .spent), "seed \(seed)")
            case 2: disk.capacity = 1 << 20
            default: disk.capacity = 1 << 15
            }
            #expect(try disk.exists("s/" + SpaceReserve.fileName) == isPresent, "seed \(seed)")
        }
        reserve.end(removes: true)
        reserve.prepare(isUrgent: true)
        #expect(try !disk.exists("s/" + SpaceReserve.fileName))
    }

    /// A process refused commits after another one had created the reserve again, and accepted them after another one had released it.
    @Test func aProcessThatTakesTheTurnReadsWhetherTheReserveIsSpent() throws {
        let disk = TightDisk(capacity: 1 << 20)
        try disk.createDirectory("s")
        let reserves = (0..<2).map { _ in SpaceReserve(directory: "s", fileSystem: disk, bytes: 1 << 16) }
        reserves[0].prepare(isUrgent: true)
        reserves[1].recordExistingFile(try disk.list("s"), isHandedOver: true)
        #expect(!reserves[1].isSpent)
        disk.capacity = 1 << 15
        #expect(reserves[1].release())
        reserves[0].recordExistingFile(try disk.list("s"), isHandedOver: true)
        #expect(reserves.map(\.isSpent) == [true, true])
        disk.capacity = 1 << 20
        reserves[0].prepare(isUrgent: true)
        reserves[1].recordExistingFile(try disk.list("s"), isHandedOver: true)
        #expect(reserves.map(\.isSpent) == [false, false])
    }

    @Test func aFailureThatIsNoFullDiskSpendsNoReserve() throws {
        let disk = SimulatedDisk()
        let faults = FaultInjector(disk)
        try disk.createDirectory("s")
        let reserve = SpaceReserve(directory: "s", fileSystem: faults, bytes: 1 << 16)
        faults.add(FaultRule(.fail(.inputOutput), calls: [.write], isSticky: true))
        reserve.prepare(isUrgent: true)
        #expect(reserve.room.state == .ample)
        faults.removeRules()
        faults.add(FaultRule(.fail(.full), calls: [.write], isSticky: true))
        reserve.prepare(isUrgent: true)
        #expect(reserve.room.state == .spent)
    }
}
