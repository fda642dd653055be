import Testing
@testable import HornbeamEngine

/// Parts of a page that are read alone have the bytes of the whole page. Other bytes are refused, or change nothing outside the page.
@Suite struct PartsOfSegmentsTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func partsAreThoseOfTheWholePage(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var read = 0
        for _ in 0..<60 {
            let page = RandomPage(&random, bytesMax: [200, 2000, 16384].randomElement(using: &random)!)
            guard let bytes = Bool.random(using: &random) ? page.encoded : page.segments else { continue }
            // As in a scan, the bytes that sufficed for one set of ranges are tried for others, where they may be too few or too many.
            var prefix = Int.random(in: 0...bytes.count, using: &random)
            for _ in 0..<6 {
                let ranges = Self.ranges(of: page.bytes.count, &random)
                guard let found = decode(bytes, size: page.bytes.count, &prefix, ranges) else {
                    try #require(page.parts.contains { if case .entries = $0 { true } else { false } }, "seed \(seed)")
                    continue
                }
                for range in ranges { try #require(found[range] == page.bytes[range], "seed \(seed), \(range)") }
                read += 1
            }
        }
        #expect(read > 20, "seed \(seed)")
    }

    /// `decode` fails the test if memory around the page changes.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func hostileBytesAreRefusedOrStayInThePage(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<40 {
            let page = RandomPage(&random, bytesMax: [200, 2000, 16384].randomElement(using: &random)!)
            guard let good = Bool.random(using: &random) ? page.encoded : page.segments else { continue }
            for _ in 0..<20 {
                let bytes = RandomPage.changed(good, &random)
                let size = max(page.bytes.count + Int.random(in: -9...9, using: &random), 1)
                var prefix = Int.random(in: 0...20_000, using: &random)
                _ = decode(bytes, size: size, &prefix, Self.ranges(of: size + 20, &random))
            }
        }
    }

    @Test func aRangeBeyondThePageIsRefused() throws {
        let page = RandomPage(bytes: (0..<800).map { UInt8($0 / 8 % 256) }, parts: [.numbers(count: 100, width: 8)])
        let bytes = try #require(page.encoded)
        var prefix = 0
        #expect(decode(bytes, size: 800, &prefix, [790..<801]) == nil)
        #expect(decode(bytes, size: 800, &prefix, [790..<800])?[790...] == page.bytes[790...])
        #expect(decode(bytes, size: 800, &prefix, nil) == nil)
    }

    /// Ascending ranges, which may touch each other.
    private static func ranges(of size: Int, _ random: inout SplitMix) -> [Range<Int>] {
        let ends = (0..<2 * Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: 0...size, using: &random) }.sorted()
        return stride(from: 0, to: ends.count, by: 2).map { ends[$0]..<ends[$0 + 1] }
    }

    /// Reads ranges of a page of a size; nil if the bytes are refused. Bytes that are in no range may have any value.
    private func decode(
        _ bytes: [UInt8], size: Int, _ prefix: inout Int, _ ranges: [Range<Int>]?, sourceLocation: SourceLocation = #_sourceLocation
    ) -> [UInt8]? {
        let margin = 64
        var memory = [UInt8](repeating: 0xA5, count: size + 2 * margin)
        let isRead = bytes.withBytes { source in
            memory.withMutableBytes { PageSegments.decodeParts(source, prefix: &prefix, into: $0.part(margin..<margin + size)) { _ in ranges } }
        }
        #expect(memory[..<margin].allSatisfy { $0 == 0xA5 } && memory[(margin + size)...].allSatisfy { $0 == 0xA5 }, sourceLocation: sourceLocation)
        return isRead ? Array(memory[margin..<margin + size]) : nil
    }
}
