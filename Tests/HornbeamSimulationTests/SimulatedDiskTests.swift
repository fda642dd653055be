import HornbeamEngine
import Testing

@testable import HornbeamSimulation

/// The simulated disk itself: a crash loses unsynced writes, and never synced ones.
@Suite struct SimulatedDiskTests {
    /// The contents of `f` in every image of a disk, as text; "-" where there is no file.
    func images(_ disk: SimulatedDisk, atEnd: Bool = true) throws -> Set<String> {
        var found: Set<String> = []
        var enumerator = CrashEnumerator()
        enumerator.randomImagesPerPoint = 0
        if atEnd { enumerator.stride = 1000 }
        var last = ""
        _ = try enumerator.crash(disk) { image in
            if atEnd, !image.name.hasPrefix("\(disk.operationCount):") { return }
            last = image.disk.files["f"].map { String(decoding: $0, as: UTF8.self) } ?? "-"
            found.insert(last)
        }
        return found
    }

    func write(_ text: String, to file: any File, at offset: UInt64 = 0) throws {
        try Array(text.utf8).withBytes { (bytes) throws(EngineError) in try file.write(bytes, at: offset) }
    }

    @Test func syncedBytesSurviveInEveryImage() throws {
        let disk = SimulatedDisk()
        let file = try disk.open("f", .create)
        try write("one", to: file)
        try file.sync(.pages)
        #expect(try images(disk) == ["-", "one"])
        try disk.syncDirectory(".", .pageFileNames)
        #expect(try images(disk) == ["one"])
    }

    @Test func unsyncedBytesSurviveOrNotOrInPart() throws {
        let disk = SimulatedDisk()
        let file = try disk.open("f", .create)
        try disk.syncDirectory(".", .pageFileNames)
        try write("one", to: file)
        let found = try images(disk)
        #expect(found.isSuperset(of: ["", "one", "\0\0\0"]))
        #expect(found.count == 4, "and garbage: \(found)")
    }

    @Test func twoUnsyncedWritesSurviveInAnyOrder() throws {
        let disk = SimulatedDisk()
        let file = try disk.open("f", .create)
        try disk.syncDirectory(".", .pageFileNames)
        try write("ab", to: file)
        try write("cd", to: file, at: 4096)
        let gap = String(repeating: "\0", count: 4094)
        #expect(try images(disk).isSuperset(of: ["", "ab", "ab" + gap + "cd", "\0\0" + gap + "cd"]))
    }

    @Test func aRenameWithoutFolderSyncMayBeLost() throws {
        let disk = SimulatedDisk()
        let file = try disk.open("g", .create)
        try write("new", to: file)
        try file.sync(.pages)
        try disk.syncDirectory(".", .pageFileNames)
        try disk.rename("g", to: "f")
        #expect(try images(disk) == ["-", "new"])
        try disk.syncDirectory(".", .pageFileNames)
        #expect(try images(disk) == ["new"])
    }

    @Test func aFailedSyncLosesBytesForGood() throws {
        for keepsNew in [true, false] {
            let disk = SimulatedDisk()
            let faults = FaultInjector(disk)
            let file = try faults.open("f", .create)
            try write("old", to: file)
            try file.sync(.pages)
            try faults.syncDirectory(".", .pageFileNames)
            try write("new", to: file)
            faults.add(FaultRule(keepsNew ? .failSyncKeepingNew : .failSyncRevertingToOld, calls: [.sync]))
            #expect(throws: EngineError.self) { try file.sync(.pages) }
            #expect(disk.files["f"] == Array((keepsNew ? "new" : "old").utf8))
            try file.sync(.pages)
            #expect(try images(disk).isSuperset(of: ["old", "new"]), "a later sync that succeeds makes nothing durable")
        }
    }

    @Test func aNamedImageComesBackAlone() throws {
        struct Wrong: Error {}
        let disk = SimulatedDisk()
        let file = try disk.open("f", .create)
        for index in 0..<9 { try write("x", to: file, at: UInt64(index) * 4096) }
        var enumerator = CrashEnumerator(seed: 9)
        enumerator.nestingDepth = 2
        var seen: [String: [String: [UInt8]]] = [:]
        _ = try enumerator.crash(disk) { image in
            _ = try image.disk.open("extra\(image.depth)", .create)
            seen[image.name] = image.disk.files
        }
        for name in seen.keys.sorted().enumerated().filter({ $0.offset % 23 == 0 }).map(\.element) {
            enumerator.only = name
            var found: [String: [UInt8]]?
            _ = try enumerator.crash(disk) { image in
                _ = try image.disk.open("extra\(image.depth)", .create)
                if image.name == name { found = image.disk.files }
            }
            #expect(found == seen[name])
        }
    }

    @Test func aRefusedImageIsReportedWithAllThatLeadsBackToIt() throws {
        struct Wrong: Error, CustomStringConvertible { var description: String { "the file is gone" } }
        let failure = #expect(throws: CrashEnumerator.Failure.self) {
            _ = try CrashEnumerator(seed: 5).run { disk in
                disk.mark(.submitted(1))
                let file = try disk.open("f", .create)
                try file.sync(.pages)
                disk.mark(.acknowledged(1))
            } verify: { image in
                if image.acknowledged == 1, try !image.disk.exists("f") { throw Wrong() }
            }
        }
        #expect(failure?.description == """
            seed 5, image "2:subset 0", commits 1…1 allowed: the file is gone
            """)
    }

    @Test func marksBoundWhatMayComeBack() throws {
        var bounds: [[UInt64]] = []
        _ = try CrashEnumerator().run { disk in
            let file = try disk.open("f", .create)
            for number in UInt64(1)...2 {
                disk.mark(.submitted(number))
                try file.sync(.pages)
                disk.mark(.acknowledged(number))
            }
        } verify: { image in
            if image.name.hasSuffix("subset 1") { bounds.append([image.acknowledged, image.submitted]) }
        }
        #expect(bounds == [[0, 1], [1, 2], [2, 2]])
    }

    @Test func everyCallIsCounted() throws {
        let faults = FaultInjector(MemoryFileSystem())
        try faults.createDirectory("s")
        let file = try faults.open("s/pages-0000000000000001", .create)
        for _ in 0..<3 { try write("x", to: file) }
        try file.sync(.pages)
        _ = try faults.list("s")
        #expect(faults.count(of: [.write]) == 3)
        #expect(faults.count(of: [.sync], kind: .pages) == 1)
        #expect(faults.count(of: [.sync], kind: .log) == 0)
        #expect(faults.count() == 7)
        faults.add(FaultRule(.fail(.full), calls: [.write], kind: .pages, after: 1, isSticky: true))
        try write("x", to: file)
        let error = try #require(throws: EngineError.self) { try write("x", to: file) }
        #expect("\(error)" == "full: An injected fault in write. [s/pages-0000000000000001]")
        #expect(throws: EngineError.self) { try write("x", to: file) }
        #expect(faults.firedCount == 2)
    }
}
