import Testing

@testable import CrashHarness
@testable import HornbeamEngine

/// Maliciously crafted stores: their checksums are correct and their numbers are not.
@Suite struct HostileTests {
    @Test("a store that was split into its parts and written again is sound", arguments: [true, false])
    func theSoundStoreIsAccepted(isClosed: Bool) throws {
        let image = (isClosed ? HostileStore.closed : HostileStore.unclosed).image
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(HostileStore.path)
        for (name, bytes) in image.files() {
            try bytes.withUnsafeBytes { try fileSystem.open("\(HostileStore.path)/\(name)", .create).write($0, at: 0) }
        }
        let engine = try Engine.open(HostileStore.path, fileSystem: fileSystem, options: HostileStore.options)
        let report = try engine.check()
        #expect(report.problems == [])
        #expect(report.entries == (isClosed ? 2 * 300 + 2 : 2 * 12))
        #expect(report.blobs == (isClosed ? 2 : 0))
        try engine.close()
    }

    @Test("every kind of block has fields in one of the stores", arguments: HostileField.Kind.allCases)
    func everyKindIsTried(_ kind: HostileField.Kind) {
        let counts = [HostileStore.closed, HostileStore.unclosed].map { HostileField.fields(of: kind, in: $0.image).count }
        #expect(counts.reduce(0, +) >= 4, "\(counts)")
    }

    /// A sample; the harness runs all of them.
    @Test("numbers at their extremes give a result or a named error", arguments: HostileField.Kind.allCases)
    func extremesAreSurvived(_ kind: HostileField.Kind) throws {
        var number = 0
        for store in [HostileStore.closed, HostileStore.unclosed] {
            let all = HostileField.fields(of: kind, in: store.image).flatMap { field in field.extremes.map { field.edit($0) } }
            for edit in all.enumerated().filter({ $0.offset % max(all.count / 60, 1) == 0 }).map(\.element) {
                number += 1
                let opening = HostileStore.Opening.allCases[number % 7 < 4 ? 0 : number % 7 - 3]
                do { try HostileStore.use(store.image.files([edit]), opening) } catch { Issue.record("\(edit), \(opening): \(error)") }
            }
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var offset: Int
        var width = 8
        var value: UInt64
        var field: String
        var testDescription: String { "\(field) = \(value)" }
    }

    @Test(
        "a number of meta out of bounds is named",
        arguments: [
            Case(offset: 64, value: .max & ~4095, field: "the log position"), Case(offset: 64, value: 1 << 62, field: "the log position"),
            Case(offset: 56, value: .max, field: "the checkpoint's number"), Case(offset: 80, value: .max, field: "the transaction's number"),
            Case(offset: 88, value: .max, field: "the next object key"), Case(offset: 144, value: .max, field: "the oldest log segment"),
            Case(offset: 152, value: .max, field: "the next log segment"),
            Case(offset: 152, value: 10_000_000_000_000_001, field: "the next log segment"),
            Case(offset: 160, width: 4, value: .max, field: "the next page file"),
            Case(offset: 96, value: 0, field: "the reference of the catalogue"),
        ])
    func numbersOfMetaAreNamed(_ wrong: Case) throws {
        let edit = StoreImage.Edit(block: .meta, offset: wrong.offset, width: wrong.width, value: wrong.value)
        #expect(
            Self.refusal(HostileStore.closed.image.files([edit])) == """
                damaged: No copy of the store's meta block is valid: \(wrong.field) is wrong. Restore the store from a backup. \
                [\(HostileStore.path)/meta]
                """)
    }

    @Test("a live count that cannot be is refused before anything is written", arguments: [-1, 1 << 60, .max, .min] as [Int64])
    func liveCountsAreNamed(_ live: Int64) throws {
        let image = HostileStore.closed.image
        let table = try #require(image.fileTable)
        let edit = StoreImage.Edit(block: .payload(table), offset: 8, width: 8, value: UInt64(bitPattern: live))
        let refusal = try #require(Self.refusal(image.files([edit])))
        #expect(refusal.hasPrefix("damaged: The file table at offset "))
        #expect(refusal.contains("counts \(live) live bytes in page file pages-0000000000000001. Restore the store from a backup."))
        #expect(refusal.hasSuffix("[\(HostileStore.path)/pages-0000000000000001]"))
    }

    /// The largest accepted numbers: the store never writes a number that it would refuse.
    @Test("a store whose numbers reach their maximum throws an error and does not change", arguments: [
        (80, 1 << 62 - 1), (88, 1 << 62 - 1), (56, 1 << 62 - 1), (64, 1 << 62 - 8192), (152, 9_999_999_999_999_999), (152, 10_000_000_000_000_000),
    ] as [(Int, UInt64)])
    func theLastNumbersAreNotPassed(_ offset: Int, _ value: UInt64) throws {
        var edits = [StoreImage.Edit(block: .meta, offset: offset, width: 8, value: value)]
        let image = HostileStore.closed.image
        // The catalogue contains the same numbers.
        if offset == 80 || offset == 88, let catalogue = image.catalogue {
            edits.append(StoreImage.Edit(block: .payload(catalogue), offset: offset - 80, width: 8, value: value))
        }
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(HostileStore.path)
        for (name, bytes) in image.files(edits) {
            try bytes.withUnsafeBytes { try fileSystem.open("\(HostileStore.path)/\(name)", .create).write($0, at: 0) }
        }
        var isFull = false
        for _ in 0..<3 {
            do throws(EngineError) {
                let engine = try Engine.open(HostileStore.path, fileSystem: fileSystem, options: HostileStore.options)
                for _ in 0..<4 {
                    do throws(EngineError) {
                        let transaction = try engine.begin()
                        _ = try transaction.reserve(1)
                        try transaction.setValue("a", [UInt8](repeating: 1, count: 8000))
                        _ = try transaction.commit()
                    } catch {
                        #expect(error.code == .full)
                        isFull = true
                    }
                }
                try engine.close()
            } catch {
                #expect(error.code == .full)
                isFull = true
            }
        }
        #expect(isFull)
    }

    @Test func problemsAreSentencesWithOneEnd() throws {
        let image = HostileStore.closed.image
        let leaf = try #require(image.records.indices.first { image.records[$0].kind == 2 })
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(HostileStore.path)
        for (name, bytes) in image.files([StoreImage.Edit(block: .header(leaf), offset: 2, width: 1, value: 99)]) {
            try bytes.withUnsafeBytes { try fileSystem.open("\(HostileStore.path)/\(name)", .create).write($0, at: 0) }
        }
        let engine = try Engine.open(HostileStore.path, fileSystem: fileSystem, options: HostileStore.options)
        let problems = try engine.check().problems
        #expect(problems.count == 1)
        #expect(problems.allSatisfy { $0.hasSuffix(".") && !$0.hasSuffix("..") }, "\(problems)")
        try engine.close()
    }

    private static func refusal(_ files: [String: [UInt8]]) -> String? {
        let fileSystem = MemoryFileSystem()
        do {
            try fileSystem.createDirectory(HostileStore.path)
            for (name, bytes) in files {
                try bytes.withUnsafeBytes { try fileSystem.open("\(HostileStore.path)/\(name)", .create).write($0, at: 0) }
            }
            _ = try Engine.open(HostileStore.path, fileSystem: fileSystem, options: HostileStore.options)
            return nil
        } catch { return "\(error)" }
    }
}
