import Testing
@testable import HornbeamStore

@Suite struct MigrationCostTests {
    @Test(arguments: [
        (rows: 10, total: 100, live: 1_000, bytes: 200),
        (rows: 0, total: 0, live: 1_000, bytes: 0),
        (rows: 1_000_000_000, total: 1_000_000_000, live: 1 << 40, bytes: 1 << 41),
    ])
    func theShareOfRewrittenRowsIsComputedForStoresOfAnySize(rows: Int, total: Int, live: Int, bytes: Int) {
        #expect(MigrationCost.bytes(ofRows: rows, among: total, live: live) == bytes)
    }
}
