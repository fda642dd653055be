import Testing

@testable import CrashHarness
@testable import HornbeamEngine

/// Rows that are packed into leaves and appended, beside a dictionary of rows.
@Suite struct LeafBatchTests {
    @Test(arguments: [512, 1_024, 4_096, 16_384], [1, 2, 3] as [UInt64])
    func appendedBatchesHoldTheirRows(_ pageSize: Int, _ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try TestStore(pageSize: pageSize)
        var model: [UInt64: OracleRow] = [:]
        let tree = try store.write { try $0.createTable(named: "t", layout: OracleRow.layout) }
        var key: UInt64 = 0
        for round in 0..<6 {
            let transaction = try store.engine.begin()
            // Rows that were put before stay in front of the appended ones.
            if round % 2 == 1 {
                key += 1
                let buffer = RowBuffer(layout: OracleRow.layout)
                let row = OracleRow.random(pageSize: pageSize, &random)
                row.fill(buffer)
                try transaction.put(buffer, key: key, in: tree)
                model[key] = row
            }
            for _ in 0..<2 {
                let batches = try (0..<2).map { _ in try transaction.makeLeafBatch(for: tree) }
                for batch in batches {
                    for _ in 0..<Int.random(in: 0...150, using: &random) {
                        let gap = Int.random(in: 0..<20, using: &random)
                        key += gap == 0 ? UInt64.random(in: 1...70_000, using: &random) : gap == 1 ? 1 << 33 : 1
                        let row = OracleRow.random(pageSize: pageSize, &random)
                        row.fill(batch.nextRow())
                        try batch.add(key: key)
                        model[key] = row
                    }
                }
                for batch in batches { _ = try transaction.append(batch, to: tree) }
            }
            try TableModelTests.expectEqual(try transaction.table(tree), model)
            _ = try transaction.commit(round % 2 == 0 ? .full : .lazy(maxDelay: .seconds(1)))
            let report = try store.engine.check()
            #expect(report.problems == [])
        }
        try store.reopen()
        try TableModelTests.expectEqual(try store.engine.snapshot().table(tree), model)
        #expect(try store.engine.check().problems == [])
    }

    @Test func abortedBatchesLeaveNothing() throws {
        let store = try TestStore(pageSize: 512)
        let tree = try store.write { try $0.createTable(named: "t", layout: OracleRow.layout) }
        var random = SplitMix(seed: 7)
        let transaction = try store.engine.begin()
        let batch = try transaction.makeLeafBatch(for: tree)
        for key in 1...200 as ClosedRange<UInt64> {
            OracleRow.random(pageSize: 512, &random).fill(batch.nextRow())
            try batch.add(key: key)
        }
        #expect(try transaction.append(batch, to: tree) > 512 * 4)
        transaction.abort()
        #expect(try store.engine.snapshot().table(tree).count == 0)
        #expect(try store.engine.check().problems == [])
    }
}
