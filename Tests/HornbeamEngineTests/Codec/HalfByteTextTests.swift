import Testing

@testable import HornbeamEngine

/// Texts as half bytes, against the format as `HalfByteText` describes it.
@Suite struct HalfByteTextTests {
    private static func write(_ text: [UInt8]) -> [UInt8]? {
        var target = [UInt8](repeating: 0xEE, count: text.count)
        let count = text.withUnsafeBytes { text in target.withUnsafeMutableBytes { unsafe HalfByteText.write(text, to: $0) } }
        return count.map { Array(target[..<$0]) }
    }

    private static func read(_ stored: [UInt8], count: Int) -> [UInt8]? {
        var target = [UInt8](repeating: 0xEE, count: count)
        let taken = stored.withUnsafeBytes { stored in target.withUnsafeMutableBytes { unsafe HalfByteText.read(stored, to: $0) } }
        return taken == stored.count ? target : nil
    }

    /// The stored form, byte by byte.
    private static func expected(_ text: [UInt8], alphabet: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var (distances, exceptions, last): ([UInt8], [UInt8], Int) = ([], [], -1)
        func code(_ place: Int) -> UInt8 { UInt8(alphabet.lastIndex(of: text[place]) ?? 0) }
        for start in stride(from: 0, to: text.count, by: 32) {
            let count = min(32, text.count - start)
            let half = (count + 1) / 2
            for n in 0..<half { bytes.append(code(start + n) | (half + n < count ? code(start + half + n) << 4 : 0)) }
        }
        for place in text.indices where !alphabet.contains(text[place]) {
            while place - last > 255 {
                last += 255
                distances.append(255)
                exceptions.append(text[last])
            }
            distances.append(UInt8(place - last))
            exceptions.append(text[place])
            last = place
        }
        return [UInt8(exceptions.count & 255), UInt8(exceptions.count >> 8)] + alphabet + bytes + distances + exceptions
    }

    /// An alphabet of some ranges of bytes, anywhere.
    private static func alphabet(ranges: Int, count: Int, _ random: inout SplitMix) -> [UInt8] {
        let others = Array(0...255 as ClosedRange<UInt8>).shuffled(using: &random)
        if ranges == count { return others.prefix(count).sorted() }
        var bytes: Set<UInt8> = []
        for n in 0..<ranges {
            let start = UInt8(n * 256 / ranges) + UInt8.random(in: 0..<UInt8(256 / ranges - count / ranges - 2), using: &random)
            for step in 0..<UInt8(count / ranges) { bytes.insert(start + step) }
        }
        for byte in others where bytes.count < count { bytes.insert(byte) }
        return bytes.sorted()
    }

    @Test("the stored form is the described one", arguments: [1, 2, 3, 4, 5, 6, 8, 16], [16, 3])
    func storedForm(ranges: Int, count: Int) throws {
        var random = SplitMix(seed: UInt64(ranges * 100 + count))
        for round in 0..<60 {
            let alphabet = Self.alphabet(ranges: min(ranges, count), count: count, &random)
            let length = Int.random(in: 80...3000, using: &random)
            let exceptionsOf1000 = [0, 3, 60][round % 3]
            var text = (0..<length).map { _ in
                Int.random(in: 0..<1000, using: &random) < exceptionsOf1000 ? UInt8.random(in: 0...255, using: &random) : alphabet.randomElement(using: &random)!
            }
            if round % 5 == 0 { text[length - 1] = alphabet[0] &- 1 }
            guard let stored = Self.write(text) else {
                #expect(exceptionsOf1000 == 60, "few exceptions have room, seed \(ranges * 100 + count), round \(round)")
                continue
            }
            #expect(stored == Self.expected(text, alphabet: Array(stored[2..<18])), "seed \(ranges * 100 + count), round \(round)")
            #expect(Self.read(stored, count: length) == text, "seed \(ranges * 100 + count), round \(round)")
        }
    }
}
