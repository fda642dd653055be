import Foundation
import HornbeamEngine
import HornbeamModel

/// The targets of the fuzzer. For any bytes, they must not trap, hang or return a wrong result.
enum FuzzTarget: String, CaseIterable {
    /// A segment of the log of a small store that was not closed.
    case log
    /// The page file of a small store.
    case page
    /// The meta file of a small store.
    case meta
    /// Input and output of liblz4.
    case lz4
    /// Segments of a page, and pages to write as segments.
    case segments
    /// Operations on the engine and on a model. Each choice uses a byte or two.
    case operations
    /// The format string of a predicate.
    case predicate
    /// A packed store.
    case packed
    /// The block of `meta`, the payload of a record, or the frames of a log segment. Their checksums are corrected.
    case metaBlock, fileTable, catalogue, inner, indexLeaf, tableLeaf, frames

    /// Throws a finding if the bytes lead to a wrong result.
    func run(_ bytes: [UInt8]) throws {
        switch self {
        case .log: try FuzzStore.unclosed.open(replacing: "wal-", by: bytes)
        case .page: try FuzzStore.closed.open(replacing: "pages-", by: bytes)
        case .meta: try FuzzStore.closed.open(replacing: "meta", by: bytes)
        case .metaBlock, .fileTable, .catalogue, .inner, .indexLeaf, .tableLeaf, .frames:
            try HostileStore.use(image.files(replacing: block, by: bytes), .writing)
        case .lz4: try Self.compression(bytes)
        case .segments: try SegmentsTarget.run(bytes)
        case .operations: try Self.operations(bytes)
        case .predicate: try Self.predicate(bytes)
        case .packed: try FuzzStore.unpack(bytes)
        }
    }

    /// The initial inputs.
    var seeds: [[UInt8]] {
        switch self {
        case .log: [FuzzStore.unclosed.content("wal-")]
        case .page: [FuzzStore.closed.content("pages-")]
        case .meta: [FuzzStore.closed.content("meta")]
        case .metaBlock: [image.metaBlock]
        case .fileTable, .catalogue, .inner, .indexLeaf, .tableLeaf:
            if case .payload(let record)? = block { [image.payload(of: record)] } else { [] }
        case .frames: [Self.withoutZeros(image.log?.bytes.dropFirst(LogChecksums.headerBytes) ?? [])]
        case .lz4: [Array("a a a a a a a a a a a a a a a a a a a a a a".utf8), Self.compressed(Array(repeating: 7, count: 300))]
        case .segments: SegmentsTarget.seeds
        case .operations: (1...4).map { seed in (0..<600).map { UInt8(truncatingIfNeeded: $0 &* 31 &* seed) } }
        case .predicate: Self.predicates.map { Array($0.utf8) }
        case .packed: [FuzzStore.packed]
        }
    }

    // MARK: Blocks of a store

    private var image: StoreImage { (self == .frames ? HostileStore.unclosed : HostileStore.closed).image }

    /// The block of the store that the input replaces.
    private var block: StoreImage.Edit.Block? {
        switch self {
        case .metaBlock: .meta
        case .frames: .log
        case .fileTable: image.fileTable.map { .payload($0) }
        case .catalogue: image.catalogue.map { .payload($0) }
        case .inner: last(3)
        case .tableLeaf: last(2)
        case .indexLeaf: last(1)
        default: nil
        }
    }

    /// The last record of a kind. The last inner node is a root.
    private func last(_ kind: UInt8) -> StoreImage.Edit.Block? {
        let image = image
        return image.records.indices.last { image.records[$0].kind == kind }.map { .payload($0) }
    }

    private static func withoutZeros(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        Array(bytes.prefix((bytes.lastIndex { $0 != 0 }.map { $0 + 1 - bytes.startIndex }) ?? 0))
    }

    private static let predicates = [
        "a == 1 AND b != 'x' OR NOT (c.d BETWEEN {1, 2.5})", "ANY a.b.c LIKE[cd] \"x*y?\"",
        "a IN {1, 2, nil} && $b >= CAST('1', 'NSDate')", "SUBQUERY(a, $x, $x.b > 3 AND $x.c == nil).@count > 0",
        "%K BEGINSWITH[c] %@ && a.@max.b <= -%d", "a[FIRST] == FUNCTION(b, 'c:', 1)",
        "TERNARY(a, b, c) MATCHES '(a|b)*'", "lowercase(a) CONTAINS[n] 'é' && #date# < now()",
    ]

    // MARK: Targets without a store

    private static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var target = [UInt8](repeating: 0, count: bytes.count * 2 + 64)
        let used = unsafe bytes.withUnsafeBytes { source in unsafe target.withUnsafeMutableBytes { unsafe LZ4.compress(source, into: $0) } }
        return Array(target.prefix(used ?? 0))
    }

    /// Decompresses the bytes after the first two, which contain the size of the result. Then compresses and decompresses all bytes.
    private static func compression(_ bytes: [UInt8]) throws {
        guard bytes.count > 2 else { return }
        let size = Int(bytes[0]) | Int(bytes[1]) << 8
        var target = [UInt8](repeating: 0xA5, count: size + 16)
        unsafe bytes.withUnsafeBytes { source in
            unsafe target.withUnsafeMutableBytes { target in
                let made = unsafe UnsafeMutableRawBufferPointer(rebasing: target[..<size])
                _ = unsafe LZ4.decompress(UnsafeRawBufferPointer(rebasing: source[2...]), into: made)
            }
        }
        guard target[size...].allSatisfy({ $0 == 0xA5 }) else { throw Finding("decompression writes beyond its end") }
        let small = compressed(bytes)
        var again = [UInt8](repeating: 0, count: bytes.count)
        let isWhole = unsafe small.withUnsafeBytes { source in unsafe again.withUnsafeMutableBytes { unsafe LZ4.decompress(source, into: $0) } }
        guard isWhole, again == bytes else { throw Finding("compressed bytes do not decompress to the original") }
    }

    private static func operations(_ bytes: [UInt8]) throws {
        var history = try EngineHistory(choices: ChoiceGenerator(bytes: bytes), keyCounts: [30, 300])
        while !history.random.isExhausted, history.operations < 20_000 { try history.step() }
        try history.check()
    }

    /// The object on which the fuzzer's predicates are evaluated.
    private static let object: [String: PropertyValue] = [
        "a": 1, "b": "text", "c": .dictionary(["d": 2.5, "e": .null]), "x": .array([1, 2.0, "3"]), "d": .decimal(7),
        "date": .date(Date(timeIntervalSinceReferenceDate: 0)),
    ]

    /// If the predicate can be parsed, it is printed, parsed again and evaluated. Both versions must return the same result, or both throw.
    private static func predicate(_ bytes: [UInt8]) throws {
        let arguments: [(any PredicateArgument)?] = [1, "text", nil, 2.5]
        let format = String(decoding: bytes, as: UTF8.self)
        for count in 0...arguments.count {
            let parsed: FetchPredicate
            do { parsed = try FetchPredicate(format: format, arguments: Array(arguments.prefix(count))) } catch {
                guard error is HornbeamError else { throw Finding("a predicate fails with \(error)") }
                continue
            }
            let text = parsed.predicateFormat
            guard let again = try? FetchPredicate(format: text, arguments: []) else { throw Finding("'\(text)' cannot be read again") }
            guard again.predicateFormat == text else { throw Finding("'\(text)' is read as '\(again.predicateFormat)'") }
            // Excluded: random and time functions have different results, and dates are printed to the microsecond only.
            let answers = (try? parsed.evaluate(with: object), try? again.evaluate(with: object))
            guard answers.0 == answers.1 || ["random", "now(", "NSDate"].contains(where: text.contains) else {
                throw Finding("'\(text)' and its parsed form give different results")
            }
        }
    }
}
