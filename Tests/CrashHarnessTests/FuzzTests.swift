import Testing

@testable import CrashHarness

/// Untrusted bytes for every decoder. Faults found by fuzzing have tests in the suites of the corrected code.
@Suite struct FuzzTests {
    @Test(arguments: FuzzTarget.allCases)
    func targetsTakeWhatTheyBeginWith(_ target: FuzzTarget) throws {
        #expect(!target.seeds.isEmpty)
        for (index, seed) in target.seeds.enumerated() {
            #expect(throws: Never.self, "seed \(index)") { try target.run(seed) }
        }
    }

    @Test(arguments: FuzzTarget.allCases)
    func targetsTakeShortAndMadInput(_ target: FuzzTarget) throws {
        for length in 0..<40 {
            for byte: UInt8 in [0, 1, 0x28, 0x7F, 0xFF] {
                #expect(throws: Never.self, "\(length) × \(byte)") { try target.run(Array(repeating: byte, count: length)) }
            }
        }
    }
}
