import Testing

@testable import HornbeamEngine

/// The calls that a transaction refuses, and the texts of the errors.
@Suite struct MisuseTests {
    private let store: TestStore
    private let words: TreeID
    private let rows: TreeID

    init() throws {
        store = try TestStore()
        (words, rows) = try store.write { transaction in
            (try transaction.createIndex(named: "words"), try transaction.createTable(named: "rows", layout: ReplayTests.narrow))
        }
    }

    private func refusal(_ body: (WriteTransaction) throws -> Void) throws -> String? {
        let transaction = try store.engine.begin()
        defer { transaction.abort() }
        return #expect(throws: EngineError.self) { try body(transaction) }?.message
    }

    @Test func treesOfTheOtherKindAreRefused() throws {
        let row = RowBuffer(layout: ReplayTests.narrow)
        #expect(try refusal { _ = try $0.put([1], [1], in: rows) } == "Tree t3 is a table, not an index.")
        #expect(try refusal { try $0.put(row, key: 1, in: words) } == "Tree t2 is an index, not a table.")
        let snapshot = try store.engine.snapshot()
        #expect(#expect(throws: EngineError.self) { try snapshot.index(rows) }?.message == "Tree t3 is a table, not an index.")
        #expect(#expect(throws: EngineError.self) { try snapshot.table(words) }?.message == "Tree t2 is an index, not a table.")
    }

    @Test func namesLayoutsAndKeysOutOfRangeAreRefused() throws {
        #expect(try refusal { _ = try $0.createIndex(named: "words") } == "There is a tree named words already.")
        let long = String(repeating: "n", count: 1025)
        #expect(
            try refusal { _ = try $0.createIndex(named: long) }
                == "Tree t4 cannot be created: its number or its name is out of range.")
        #expect(try refusal { try $0.setLayout(ReplayTests.narrow, of: rows) } == "A new layout of table t3 needs a higher version.")
        let twice = ColumnLayout(version: 2, columns: [Column(id: ColumnID(1), kind: .bit), Column(id: ColumnID(1), kind: .bit)])
        #expect(
            try refusal { try $0.setLayout(twice, of: rows) }
                == "Table t3 cannot have this layout: two columns have the same identifier.")
        #expect(
            try refusal { _ = try $0.createTable(named: "more", layout: twice) }
                == "Table more cannot have this layout: two columns have the same identifier.")
        let key = [UInt8](repeating: 1, count: 129)
        #expect(
            try refusal { _ = try $0.put(key, [1], in: words) }
                == "A key of 129 bytes is too long for an index; the limit is 128.")
    }

    @Test func rowsAndPatchesOfAnotherShapeAreRefused() throws {
        let wide = RowBuffer(layout: ReplayTests.wide)
        #expect(
            try refusal { try $0.put(wide, key: 1, in: rows) }
                == "The row was made for another layout than the current one of table t3.")
        let patch = { (transaction: WriteTransaction) in
            try [UInt8(1)].withUnsafeBytes { try transaction.patch(0, of: [1], values: $0, in: rows) }
        }
        #expect(try refusal(patch) == "A patch of column c1 of table t3 does not fit its width.")
    }

    @Test func aTransactionThatIsOverIsRefused() throws {
        let transaction = try store.engine.begin()
        try transaction.drop(words)
        #expect(
            #expect(throws: EngineError.self) { try transaction.put([1], [1], in: words) }?.message
                == "Tree t2 was dropped in this transaction.")
        _ = try transaction.commit()
        let over = "The transaction has been committed or aborted."
        #expect(#expect(throws: EngineError.self) { try transaction.reserve(1) }?.message == over)
        #expect(#expect(throws: EngineError.self) { try transaction.commit() }?.message == over)
    }

    @Test func aTransactionThatFailedCanOnlyBeAborted() throws {
        let small = try TestStore(pageSize: 512) { $0.frameCeiling = 32 }
        let transaction = try small.engine.begin()
        let tree = try transaction.createIndex(named: "t")
        let error = #expect(throws: EngineError.self) {
            for n in 0..<10_000 { _ = try transaction.put(Array("key \(n)".utf8), [UInt8](repeating: 7, count: 60), in: tree) }
        }
        #expect(error?.code == .full)
        let failed = "The transaction failed in an earlier change and can only be aborted."
        #expect(#expect(throws: EngineError.self) { try transaction.put([1], [1], in: tree) }?.message == failed)
        #expect(#expect(throws: EngineError.self) { try transaction.commit() }?.message == failed)
        #expect(try small.write { try $0.createIndex(named: "u") } == tree)
    }
}
