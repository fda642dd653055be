import Glibc
import Testing

@testable import HornbeamEngine

/// The folder of a store is moved away, and that of another store put in its place, before each call to the file system: the other store
/// does not change, the moved store loses nothing, and the process gets an error.
@Suite struct ReplacedFolderTests {
    /// The work during which the folder is replaced.
    enum Work: CaseIterable { case opening, commit, largeCommit, checkpoint, closing }

    private static let options: EngineOptions = {
        var options = EngineOptions()
        options.pageSize = 1024
        options.poolBytes = 64 << 10
        options.usesBackgroundThread = false
        options.log.firstSegmentBytes = 64 << 10
        return options
    }()

    private static func put(_ key: String, _ engine: Engine, bytes: Int = 700) throws {
        let transaction = try engine.begin()
        try transaction.setValue(key, [UInt8](repeating: 7, count: bytes))
        _ = try transaction.commit()
    }

    /// Leaves a store with pages and a log, as a crash does.
    private static func leaveStore(_ prefix: String, _ path: String) throws {
        let engine = try Engine.open(path, options: options)
        for number in 0..<6 {
            try put("\(prefix)\(number)", engine)
            if number == 2 { try engine.checkpoint() }
        }
    }

    /// The prefix of the values in a store; throws where some are missing.
    private static func prefix(_ engine: Engine) throws -> String {
        let names = try engine.snapshot().valueNames(startingWith: "")
        let prefixes = Set(names.compactMap(\.first).map(String.init)).intersection(["a", "b"])
        let prefix = try #require(prefixes.first)
        #expect(prefixes.count == 1 && (0..<6).allSatisfy { names.contains("\(prefix)\($0)") })
        return prefix
    }

    private static func bytes(_ folder: String) throws -> [String: [UInt8]] {
        let fileSystem = PosixFileSystem()
        var content: [String: [UInt8]] = [:]
        for name in try fileSystem.list(folder) {
            let file = try fileSystem.open(folder + "/" + name, .read)
            var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
            _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            content[name] = bytes
        }
        return content
    }

    private static func failure(_ body: () throws -> Void) -> EngineError? {
        do { try body() } catch { return error as? EngineError }
        return nil
    }

    private static func perform(_ work: Work, _ path: String, _ disk: InterruptedDisk, _ engine: inout Engine?) throws {
        switch work {
        case .opening: engine = try Engine.open(path, fileSystem: disk, options: options)
        case .commit: try put("c", #require(engine), bytes: 1)
        case .largeCommit: try put("c", #require(engine), bytes: 200_000)
        case .checkpoint: try #require(engine).checkpoint()
        case .closing: try #require(engine).close()
        }
    }

    @Test("whenever the folder of a store is replaced, the other store does not change and the moved store loses nothing",
          arguments: Work.allCases)
    func nothingIsLostInEitherFolder(_ work: Work) throws {
        var call = 0
        while try isInterrupted(work, at: call) { call += 1 }
        #expect(call > 2)
    }

    /// False when the work makes fewer calls.
    private func isInterrupted(_ work: Work, at call: Int) throws -> Bool {
        let folder = TemporaryFolder()
        let (path, other) = (folder.path + "/s", folder.path + "/other")
        try Self.leaveStore("a", path)
        try Self.leaveStore("b", other)
        let before = try Self.bytes(other)
        let disk = InterruptedDisk(PosixFileSystem()) {}
        var engine: Engine?
        if work != .opening {
            engine = try Engine.open(path, fileSystem: disk, options: Self.options)
            try Self.put("d", #require(engine))
        }
        disk.interrupt(at: call) {
            rename(path, path + "-moved")
            rename(other, path)
        }
        let failure = Self.failure { try Self.perform(work, path, disk, &engine) }
        guard disk.wasInterrupted else { return false }
        let name = "\(work) at call \(call)"
        // Before the lock is acquired, the process opens the other store, which is at the path now.
        let isOther = try work == .opening && failure == nil && engine.map(Self.prefix) == "b"
        if let failure {
            #expect([.durabilityLost, .storeInUse].contains(failure.code), "\(name): \(failure)")
        } else if !isOther, work != .closing, let engine {
            let next = Self.failure { try Self.put("e", engine) }
            #expect(next?.code == .durabilityLost, "\(name): \(String(describing: next))")
            #expect(next?.message.hasPrefix("The store is gone") == true)
        }
        if !isOther { #expect(try Self.bytes(path) == before, "\(name) changed the other store") }
        _ = Self.failure { try engine?.close() }
        engine = nil
        if !isOther { #expect(try Self.bytes(path) == before, "closing after \(name) changed the other store") }
        for (path, prefix) in [(path, "b"), (path + "-moved", "a")] {
            let next = try Engine.open(path, options: Self.options)
            #expect(try Self.prefix(next) == prefix, "\(name)")
            #expect(try next.check().problems == [], "\(name)")
            if work != .opening, prefix == "a" { #expect(try next.snapshot().value("d") != nil, "\(name)") }
            try next.close()
        }
        return true
    }
}
