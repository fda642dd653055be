import Testing
@testable import HornbeamEngine

@Suite struct XXH64Tests {
    /// The sanity buffer of the reference implementation: bytes of a multiplicative generator.
    static let sanity: [UInt8] = {
        var generator: UInt64 = 2_654_435_761
        return (0..<2367).map { _ in
            let byte = UInt8(truncatingIfNeeded: generator >> 56)
            generator = generator &* 11_400_714_785_074_694_797
            return byte
        }
    }()

    @Test(arguments: [
        ("", 0, 0xEF46_DB37_51D8_E999), ("a", 0, 0xD24E_C4F1_A98C_6E5B), ("abc", 0, 0x44BC_2CF5_AD77_0999),
        ("Nobody inspects the spammish repetition", 0, 0xFBCE_A83C_8A37_8BF1),
    ] as [(String, UInt64, UInt64)])
    func publicVectorsOfStrings(text: String, seed: UInt64, expected: UInt64) {
        #expect(Array(text.utf8).withBytes { XXH64.hash($0, seed: seed) } == expected)
    }

    @Test(arguments: [
        (0, 0, 0xEF46_DB37_51D8_E999), (0, 2_654_435_761, 0xAC75_FDA2_929B_17EF),
        (1, 0, 0xE934_A84A_DB05_2768), (1, 2_654_435_761, 0x5014_6076_43A9_B4C3),
        (14, 0, 0x8282_DCC4_994E_35C8), (14, 2_654_435_761, 0xC3BD_6BF6_3DEB_6DF0),
        (222, 0, 0xB641_AE8C_B691_C174), (222, 2_654_435_761, 0x20CB_8AB7_AE10_C14A),
    ] as [(Int, UInt64, UInt64)])
    func publicVectorsOfTheReferenceImplementation(count: Int, seed: UInt64, expected: UInt64) {
        #expect(Array(Self.sanity[..<count]).withBytes { XXH64.hash($0, seed: seed) } == expected)
    }

    /// Every split of every short length: the two-part hash is the hash of the whole.
    @Test func twoPartsHashAsOne() {
        for count in Array(0...200) + [1000, 2367] {
            let bytes = Array(Self.sanity[..<count])
            let whole = bytes.withBytes { XXH64.hash($0, seed: 77) }
            for head in 0...min(64, count) {
                let parts = bytes.withBytes { buffer in
                    XXH64.hash(
                        UnsafeRawBufferPointer(rebasing: buffer[..<head]),
                        UnsafeRawBufferPointer(rebasing: buffer[head...]), seed: 77)
                }
                #expect(parts == whole, "count \(count), head \(head)")
            }
        }
    }

    @Test func everyBitAndTheSeedCount() {
        for count in [1, 7, 8, 31, 32, 33, 100] {
            let bytes = Array(Self.sanity[..<count])
            let hash = bytes.withBytes { XXH64.hash($0) }
            #expect(bytes.withBytes { XXH64.hash($0, seed: 1) } != hash)
            for bit in 0..<count * 8 {
                var changed = bytes
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(changed.withBytes { XXH64.hash($0) } != hash)
            }
        }
    }
}
