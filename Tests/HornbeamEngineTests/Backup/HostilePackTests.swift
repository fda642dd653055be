import Testing

@testable import CrashHarness
@testable import HornbeamEngine

/// Packed stores that are damaged or made to do harm: each gives an error, and no file appears.
@Suite struct HostilePackTests {
    /// A packed store under construction, with valid checks.
    private struct Builder {
        var bytes: [UInt8] = []
        private var check: UInt64 = 0

        mutating func add(_ record: [UInt8]) {
            check = record.withBytes { XXH64.hash($0, seed: check) }
            bytes += record
            bytes.appendInteger(check)
        }

        mutating func header(version: UInt32 = 1, files: UInt32, total: UInt64) {
            var record = PackedStore.magic
            record.appendInteger(version)
            record.appendInteger(files)
            record.appendInteger(total)
            add(record)
        }

        mutating func entry(_ name: String, _ length: UInt64) {
            var record: [UInt8] = []
            record.appendText(name)
            record.appendInteger(length)
            add(record)
        }

        mutating func block(stored: UInt32? = nil, _ content: [UInt8]) {
            var record: [UInt8] = []
            record.appendInteger(stored ?? UInt32(content.count))
            add(record + content)
        }

        mutating func file(_ name: String, _ content: [UInt8]) {
            entry(name, UInt64(content.count))
            if !content.isEmpty { block(content) }
        }
    }

    private static let folder = "inner/deep"

    /// A disk with the bytes as a packed store in a folder.
    private static func disk(_ bytes: [UInt8]) throws -> MemoryFileSystem {
        let disk = MemoryFileSystem()
        for folder in ["inner", folder] { try disk.createDirectory(folder) }
        try bytes.withUnsafeBytes { try disk.open("\(folder)/a.hornbeamz", .create).write($0, at: 0) }
        return disk
    }

    /// The error of unpacking the bytes, which must leave nothing behind.
    private static func error(_ bytes: [UInt8], _ what: String) throws -> EngineError? {
        let disk = try disk(bytes)
        var options = EngineOracle.smallest
        options.poolBytes = 1 << 20
        let result = Result {
            try Engine.unpack("\(folder)/a.hornbeamz", to: "\(folder)/s.hornbeam", fileSystem: disk, options: options)
        }
        guard case .failure(let error) = result else {
            Issue.record("\(what) is unpacked")
            return nil
        }
        let names = [try disk.list(""), try disk.list("inner"), try disk.list(folder)]
        #expect(names == [["inner"], ["deep"], ["a.hornbeamz"]], "\(what)")
        return error as? EngineError
    }

    /// A small packed store.
    private static let packed: [UInt8] = {
        let disk = MemoryFileSystem()
        let engine = try! Engine.open("s", fileSystem: disk, options: EngineOracle.smallest)
        let transaction = try! engine.begin()
        try! transaction.setValue("name", Array("value".utf8))
        _ = try! transaction.commit()
        _ = try! engine.pack(to: "s.hornbeamz")
        let file = try! disk.open("s.hornbeamz", .read)
        var bytes = [UInt8](repeating: 0, count: Int(try! file.size()))
        _ = try! bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return bytes
    }()

    @Test func everyFlippedByteIsAnError() throws {
        for place in Self.packed.indices {
            for mask: UInt8 in [1 << UInt8(place % 8), 0xFF] {
                var bytes = Self.packed
                bytes[place] ^= mask
                let code = try Self.error(bytes, "byte \(place)")?.code
                #expect(code == (place < PackedStore.magic.count ? .notAStore : .damaged), "byte \(place)")
            }
        }
    }

    @Test func everyTruncationAndEveryTrailingByteIsAnError() throws {
        for count in Self.packed.indices {
            let code = try Self.error(Array(Self.packed[..<count]), "\(count) bytes")?.code
            #expect(code == (count < PackedStore.magic.count ? .notAStore : .damaged))
        }
        let error = try Self.error(Self.packed + [0], "a trailing byte")
        #expect(
            error?.description
                == "damaged: The packed store is damaged. 1 bytes follow its end. Nothing was unpacked. Get the file again. [inner/deep/a.hornbeamz]")
        #expect(try Self.error(Self.packed + Self.packed, "two packed stores")?.code == .damaged)
    }

    @Test("names that leave the folder, and names that no store has, are errors", arguments: [
        "../x", "/etc/x", "..", ".", "", "a/b", "meta/x", "pages-1", "pages-0000000000000001/../../x", "lock", "spare", "meta ", "metaé",
        String(repeating: "m", count: 65),
    ])
    func wrongNames(name: String) throws {
        var builder = Builder()
        builder.header(files: 1, total: 4)
        builder.file(name, [1, 2, 3, 4])
        #expect(try Self.error(builder.bytes, name)?.code == .damaged)
    }

    @Test("sizes and numbers that are not true are errors, although the checks are right")
    func wrongSizes() throws {
        let four: [UInt8] = [1, 2, 3, 4]
        let cases: [(String, (inout Builder) -> Void)] = [
            ("a total that is too large", { $0.header(files: 1, total: 5); $0.file("meta", four) }),
            ("a total that is too small", { $0.header(files: 1, total: 3); $0.file("meta", four) }),
            ("a total without end", { $0.header(files: 1, total: .max); $0.file("meta", four) }),
            ("a missing file", { $0.header(files: 2, total: 4); $0.file("meta", four) }),
            ("files without end", { $0.header(files: .max, total: 4); $0.file("meta", four) }),
            ("a file too many", { $0.header(files: 1, total: 4); $0.file("meta", four); $0.file("wal-0000000000000001", four) }),
            ("two files of one name", { $0.header(files: 2, total: 8); $0.file("meta", four); $0.file("meta", four) }),
            ("names in descending order", { $0.header(files: 2, total: 8); $0.file("wal-0000000000000001", four); $0.file("meta", four) }),
            ("a file without end", { $0.header(files: 1, total: 1 << 60); $0.entry("meta", 1 << 60); $0.block(four) }),
            ("a length without end", { $0.header(files: 1, total: 4); $0.entry("meta", .max); $0.block(four) }),
            ("an empty block", { $0.header(files: 1, total: 4); $0.entry("meta", 4); $0.block([]) }),
            ("a block that is too long", { $0.header(files: 1, total: 4); $0.entry("meta", 4); $0.block(four + [5]) }),
            ("a block without end", { $0.header(files: 1, total: 4); $0.entry("meta", 4); $0.block(stored: .max, four) }),
            ("a block that is not compressed", { $0.header(files: 1, total: 400); $0.entry("meta", 400); $0.block([0xFF, 0xFF, 0xFF]) }),
            ("a file that is not a store", { $0.header(files: 1, total: 4); $0.file("meta", four) }),
            ("no file", { $0.header(files: 0, total: 0) }),
            ("version 0", { $0.header(version: 0, files: 0, total: 0) }),
        ]
        for (what, build) in cases {
            var builder = Builder()
            build(&builder)
            let error = try Self.error(builder.bytes, what)
            #expect(error.map { [.damaged, .notAStore].contains($0.code) && !$0.message.isEmpty } == true, "\(what): \(String(describing: error))")
        }
    }

    @Test func aNewerVersionIsRefused() throws {
        var builder = Builder()
        builder.header(version: 2, files: 0, total: 0)
        #expect(
            try Self.error(builder.bytes, "version 2")?.description == """
                newerFormat: The packed store has format version 2, and this library reads up to version 1. Unpack it with a newer version of \
                the library. [inner/deep/a.hornbeamz]
                """)
    }
}
