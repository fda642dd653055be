import Testing

@testable import CrashHarness

/// Chains of random versions, compared with the naive migration.
@Suite struct MigrationHistoryTests {
    @Test("MIG-2: random chains of versions keep what the naive migration keeps", arguments: 1 ... 16 as ClosedRange<UInt64>)
    func chainsOfVersionsKeepObjects(seed: UInt64) throws {
        let history = try MigrationHistory(seed: seed)
        for _ in 0 ..< 5 { try history.step() }
        #expect(history.migrations == 5)
    }
}
