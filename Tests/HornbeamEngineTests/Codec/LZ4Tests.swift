import Testing
@testable import HornbeamEngine

@Suite struct LZ4Tests {
    func compress(_ bytes: [UInt8], capacity: Int) -> [UInt8]? {
        var target = [UInt8](repeating: 0, count: capacity)
        let used = bytes.withBytes { source in target.withMutableBytes { LZ4.compress(source, into: $0) } }
        return used.map { Array(target[..<$0]) }
    }

    func decompress(_ bytes: [UInt8], count: Int) -> [UInt8]? {
        var target = [UInt8](repeating: 0, count: count)
        let isGood = bytes.withBytes { source in target.withMutableBytes { LZ4.decompress(source, into: $0) } }
        return isGood ? target : nil
    }

    @Test(arguments: [1, 2, 12, 13, 100, 4096, 70_000])
    func decompressionNeedsTheExactSize(count: Int) throws {
        let bytes = PageBench.payload(3, count: count, compressible: true)
        let packed = try #require(compress(bytes, capacity: count + 1000))
        #expect(decompress(packed, count: count) == bytes)
        #expect(decompress(packed, count: count + 1) == nil)
        if count > 1 { #expect(decompress(packed, count: count - 1) == nil) }
        #expect(compress(bytes, capacity: packed.count - 1) == nil)
    }

    @Test func nothingIsNotCompressed() {
        #expect(compress([], capacity: 100) == nil)
        #expect(compress([1, 2, 3], capacity: 0) == nil)
        #expect(decompress([], count: 10) == nil)
    }

    @Test func hostileBytesNeverTrap() throws {
        let packed = try #require(compress(PageBench.payload(3, count: 3000, compressible: true), capacity: 3000))
        var random = SplitMix(seed: 8)
        for _ in 0..<2000 {
            var bytes = packed
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random) / 4)
            let made = decompress(bytes, count: 3000)
            #expect(made == nil || made?.count == 3000)
        }
    }
}
