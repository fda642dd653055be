import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Folders that crashes leave beside a store.
@Suite struct StoreDraftTests {
    private func makeFolder(_ name: String, on disk: MemoryFileSystem) throws {
        try disk.createDirectory(name)
        try disk.open(name + "/meta", .create).close()
    }

    @Test("drafts that a crash left are removed when the store is made, those of other stores are not")
    func draftsAreRemoved() throws {
        let disk = MemoryFileSystem()
        let draft = StoreDraft.draftPath(of: "s.hornbeam", number: 0x1f)
        let other = StoreDraft.draftPath(of: "other.hornbeam", number: 0x2a)
        for name in [draft, other] { try makeFolder(name, on: disk) }
        try Engine.open("s.hornbeam", fileSystem: disk, options: Self.options).close()
        #expect(try disk.list("") == [other, "s.hornbeam"])
    }

    @Test("a folder with a name like that of a draft is not removed: a copy that a user made of a store or of a draft")
    func foldersOfOthersStay() throws {
        let disk = MemoryFileSystem()
        let copied = StoreDraft.draftPath(of: "other.hornbeam", number: 7).replacing("other", with: "s")
        let names = ["s.hornbeam.new-1f", "s.hornbeam.new-notes", "s.hornbeam.new-0123456789abcdef", copied]
        for name in names { try makeFolder(name, on: disk) }
        try Engine.open("s.hornbeam", fileSystem: disk, options: Self.options).close()
        for name in names { #expect(try disk.list(name) == ["meta"], "\(name)") }
    }

    @Test("the next opening removes all files that a crash during the creation of a store left")
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
