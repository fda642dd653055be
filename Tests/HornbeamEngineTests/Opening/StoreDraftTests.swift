import HornbeamThreads
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

    @Test("a crash before the end of the first commit leaves no store, an empty one, or one with the commit")
    func crashesUntilTheFirstCommit() throws {
        let report = try CrashEnumerator(seed: 4).run(
            workload: { disk in
                let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: Self.options)
                disk.mark(.submitted(1))
                try Self.commit(1, to: engine)
                disk.mark(.acknowledged(1))
            },
            verify: { image in
                let engine = try Engine.open("s.hornbeam", fileSystem: image.disk, options: Self.options)
                #expect(engine.latest.rawValue >= image.acknowledged)
                if engine.latest == .zero { try Self.commit(1, to: engine) }
                #expect(try Self.entries(of: engine) == [1])
                #expect(try engine.check().problems == [])
                try engine.close()
            })
        #expect(report.images > 10)
    }

    @Test("the first commit of a new store creates no file")
    func theLogIsMadeWithTheStore() throws {
        let disk = MemoryFileSystem()
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: Self.options)
        let names = try disk.list("s.hornbeam")
        #expect(names.contains("wal-0000000000000001"))
        try Self.commit(1, to: engine)
        #expect(try disk.list("s.hornbeam") == names)
        try engine.close()
    }

    @Test("another process opens a new store before its creator does, and commits: both commits stay", arguments: 0..<40)
    func anotherProcessIsFaster(call: Int) throws {
        let disk = MemoryFileSystem()
        let others = Guarded(0)
        let interrupted = InterruptedDisk(disk, at: Int.max) {}
        interrupted.interrupt(at: call) {
            guard let engine = try? Engine.open("s.hornbeam", fileSystem: disk, options: Self.options) else { return }
            if (try? Self.commit(2, to: engine)) != nil { others.withLock { $0 += 1 } }
            try? engine.close()
        }
        var expected: Set<UInt8> = []
        if let engine = try? Engine.open("s.hornbeam", fileSystem: interrupted, options: Self.options) {
            try Self.commit(1, to: engine)
            expected.insert(1)
            try engine.close()
        }
        if others.withLock({ $0 }) > 0 { expected.insert(2) }
        #expect(!expected.isEmpty)
        let engine = try Engine.open("s.hornbeam", fileSystem: disk, options: Self.options)
        #expect(Set(try Self.entries(of: engine)) == expected)
        try engine.close()
    }

    private static func commit(_ key: UInt8, to engine: Engine) throws {
        let transaction = try engine.begin()
        let tree = try transaction.tree(named: "t") ?? transaction.createIndex(named: "t")
        try transaction.put([key], [key], in: tree)
        _ = try transaction.commit()
    }

    private static func entries(of engine: Engine) throws -> [UInt8] {
        let snapshot = try engine.snapshot()
        guard let tree = snapshot.tree(named: "t") else { return [] }
        let view = try snapshot.index(tree)
        return try [1, 2].filter { try view.get([$0]) == [$0] }
    }

    private static let options: EngineOptions = {
        var options = EngineOptions()
        options.poolBytes = 1 << 20
        options.usesBackgroundThread = false
        return options
    }()
}
