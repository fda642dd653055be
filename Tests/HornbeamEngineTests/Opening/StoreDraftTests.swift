import Testing

@testable import HornbeamEngine

/// What crashes leave beside a store.
@Suite struct StoreDraftTests {
    @Test func draftsThatACrashLeftAreRemovedWhenTheStoreIsMade() throws {
        let disk = MemoryFileSystem()
        for name in ["s.hornbeam.new-1f", "s.hornbeam.new-notes", "other.hornbeam.new-2a"] {
            try disk.createDirectory(name)
            try disk.open(name + "/meta", .create).close()
        }
        try Engine.open("s.hornbeam", fileSystem: disk).close()
        #expect(try disk.list("") == ["other.hornbeam.new-2a", "s.hornbeam", "s.hornbeam.new-notes"])
    }

    @Test("a crash while a store is made leaves nothing that the next opening does not clear away")
    func crashesWhileAStoreIsMade() throws {
        let enumerator = CrashEnumerator(seed: 3)
        let report = try enumerator.run(
            workload: { disk in try Engine.open("s.hornbeam", fileSystem: disk, options: Self.options).close() },
            verify: { image in
                let engine = try Engine.open("s.hornbeam", fileSystem: image.disk, options: Self.options)
                #expect(engine.latest == .zero)
                try engine.close()
                let names = try image.disk.list("")
                #expect(names == ["s.hornbeam"])
            })
        #expect(report.images > 10)
    }

    private static let options: EngineOptions = {
        var options = EngineOptions()
        options.poolBytes = 1 << 20
        options.usesBackgroundThread = false
        return options
    }()
}
