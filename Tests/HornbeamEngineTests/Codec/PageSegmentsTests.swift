import Testing
@testable import HornbeamEngine

/// The segments of a page yield the same page. Other bytes are refused, or yield a page of the same size.
@Suite struct PageSegmentsTests {
    /// Random pages of random parts, most of which a method shortens.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func randomPagesRoundTrip(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var encoded = 0
        for _ in 0..<60 {
            let page = RandomPage(&random, bytesMax: [200, 2000, 16384].randomElement(using: &random)!)
            guard let bytes = page.encoded else { continue }
            encoded += 1
            try #require(decode(bytes, size: page.bytes.count) == page.bytes, "seed \(seed)")
        }
        #expect(encoded > 20, "seed \(seed)")
    }

    /// Mutated, shortened and lengthened pages, and other sizes. `decode` fails the test if memory around the page changes.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func hostileBytesAreRefusedOrFillThePage(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<40 {
            let page = RandomPage(&random, bytesMax: [200, 2000, 16384].randomElement(using: &random)!)
            guard let good = Bool.random(using: &random) ? page.encoded : page.segments else { continue }
            for _ in 0..<20 {
                let bytes = RandomPage.changed(good, &random)
                _ = decode(bytes, size: page.bytes.count)
                _ = decode(bytes, size: max(page.bytes.count + Int.random(in: -9...9, using: &random), 1))
            }
            #expect(decode(good, size: page.bytes.count + 1) == nil, "seed \(seed)")
            #expect(decode(good, size: page.bytes.count - 1) == nil, "seed \(seed)")
        }
    }

    /// Segments that LZ4 does not hide, with each byte of them replaced.
    @Test func eachByteOfSegmentsMayBeWrong() throws {
        var random = SplitMix(seed: 5)
        for part in RandomPage.Part.allCases {
            let page = RandomPage([part], &random, bytesMax: 400)
            guard let good = page.segments else { continue }
            #expect(decode(good, size: page.bytes.count) == page.bytes)
            for place in 4..<good.count {
                for byte in [0, 1, 2, 3, 6, 0x7F, 0x80, 0xFF, good[place] ^ 1, good[place] &+ 1] as [UInt8] {
                    var bytes = good
                    bytes[place] = byte
                    _ = decode(bytes, size: page.bytes.count)
                }
            }
            for count in 0..<good.count { #expect(decode(Array(good[..<count]), size: page.bytes.count) == nil) }
        }
    }

    @Test(arguments: [
        [0.0, 1, 2.5, -90, 37.01, 180, 1e15], [0.1, 0.2, 0.3], [1e-9, 5e-9], [60, 120, 180], [-0.0, 0], [.infinity, 1], [.nan, 1],
        [Double(bitPattern: 0x7FF8_0000_0000_1234), 2], [.leastNonzeroMagnitude, 0], [1e300, 2], [0x1p52, 1], [0x1p53, 1], [0x1p51, 1], [-0x1p51, 1],
        [0x1p51 - 0.5, 1], [0.5 - 0x1p51, 1], [0x1p51 - 1, -0x1p51 + 1], [0.5, 1.5, 2.5, -0.5, -1.5], [0.05, 0.15, 0.25], [.pi, 1], [1e22, 3],
    ])
    func doublesKeepTheirBits(_ values: [Double]) throws {
        let bytes = (0..<40).flatMap { withUnsafeBytes(of: values[$0 % values.count].bitPattern.littleEndian) { Array($0) } }
        let page = RandomPage(bytes: bytes, parts: [.numbers(count: 40, width: 8)])
        if let encoded = page.encoded { #expect(decode(encoded, size: bytes.count) == bytes) }
    }

    /// The differences are not the doubles that are nearest to a decimal fraction.
    @Test(arguments: [0.0, 90]) func decimalsAndTheirDifferencesAreShort(subtracted: Double) throws {
        let values = (0..<200).map { Double(($0 * 7919) % 18000) / 100 - subtracted }
        let page = RandomPage(bytes: values.flatMap { withUnsafeBytes(of: $0.bitPattern.littleEndian) { Array($0) } }, parts: [.numbers(count: 200, width: 8)])
        let encoded = try #require(page.encoded)
        #expect(encoded.count < 200 * (subtracted == 0 ? 2 : 4) + 60)
        #expect(decode(encoded, size: page.bytes.count) == page.bytes)
    }

    @Test(arguments: [80, 81, 95, 96, 97, 111, 112, 300, 5000, 16384])
    func textsOfHexadecimalDigitsTakeHalf(count: Int) throws {
        var random = SplitMix(seed: UInt64(count))
        let text = (0..<count).map { $0 % 37 == 36 ? UInt8(ascii: "-") : Array("0123456789abcdef".utf8).randomElement(using: &random)! }
        let page = RandomPage(bytes: text, parts: [.text(count)])
        let encoded = try #require(page.encoded)
        #expect(encoded.count < count * 6 / 10 + 40)
        #expect(decode(encoded, size: count) == text)
    }

    /// Distances of more than 255 bytes between exceptions need others between them.
    @Test(arguments: [1, 200, 255, 256, 257, 510, 511, 900])
    func exceptionsMayLieFarApart(distance: Int) throws {
        var random = SplitMix(seed: UInt64(distance))
        var text = (0..<4000).map { _ in UInt8.random(in: 0x30...0x3F, using: &random) }
        for place in [1000, 1000 + distance, 3999] { text[place] = 0xEE }
        let page = RandomPage(bytes: text, parts: [.text(4000)])
        #expect(decode(try #require(page.encoded), size: 4000) == text)
    }

    @Test func aPageWithoutPartsHasNoSegments() {
        #expect(RandomPage(bytes: [UInt8](repeating: 0, count: 1000), parts: []).encoded == nil)
    }

    /// Reads a page of a size; nil if the bytes are refused.
    private func decode(_ bytes: [UInt8], size: Int, sourceLocation: SourceLocation = #_sourceLocation) -> [UInt8]? {
        let margin = 64
        var memory = [UInt8](repeating: 0xA5, count: size + 2 * margin)
        // The bytes have an allocation of their own, in which a sanitizer finds a read beyond their end.
        let isWhole = bytes.withBytes { source in memory.withMutableBytes { PageSegments.decode(source, into: $0.part(margin..<margin + size)) } }
        #expect(memory[..<margin].allSatisfy { $0 == 0xA5 } && memory[(margin + size)...].allSatisfy { $0 == 0xA5 }, sourceLocation: sourceLocation)
        return isWhole ? Array(memory[margin..<margin + size]) : nil
    }
}
