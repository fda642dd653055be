import Testing

@testable import HornbeamEngine

/// Trees with two leaves in each other's place, as a forger could write them: walks end with an error.
@Suite struct DisorderedLeavesTests {
    private static let entries: UInt64 = 20_000
    private static let layout = ColumnLayout(columns: (1...4).map { Column(id: ColumnID($0), kind: .fixed16) })

    private func store() throws -> TestStore {
        try TestStore(pageSize: Page.sizeMax) { $0.poolBytes = 16 << 20 }
    }

    /// A table in a store that was opened again.
    private func table(in store: TestStore) throws -> TableView {
        let tree = try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: Self.layout)
            let row = RowBuffer(layout: Self.layout)
            for key in 1...Self.entries { try transaction.put(row, key: key, in: tree) }
            return tree
        }
        try store.reopen()
        return try store.engine.snapshot().table(tree)
    }

    /// Exchanges two children of the root, counted from the end if `reversed`.
    private func exchange(_ a: Int, _ b: Int, reversed: Bool, in root: TreeRoot) throws {
        let page = root.pool.page(try root.frame())
        let node = SlottedNode(page)
        try #require(page.level == 1 && node.count > 2 * TreeWalk.leavesPerEpoch)
        let places = [a, b].map { reversed ? node.count - 1 - $0 : $0 }
        let children = places.map(node.child)
        node.setChild(places[0], children[1])
        node.setChild(places[1], children[0])
    }

    @Test(arguments: [false, true]) func walksOverATableEnd(reversed: Bool) throws {
        let store = try store()
        let table = try table(in: store)
        // A walk continues with the first key of this leaf.
        try exchange(0, TreeWalk.leavesPerEpoch, reversed: reversed, in: table.root)
        var seen = 0
        let error = try #require(throws: EngineError.self) {
            try table.forEachLeaf(reversed: reversed) { leaf throws(EngineError) in
                seen += leaf.count
                return seen < 10 * Int(Self.entries)
            }
        }
        #expect(error.code == .damaged)
    }

    @Test func selectedRowsInAnotherPlaceAreNotFound() throws {
        let store = try store()
        let table = try table(in: store)
        try exchange(0, TreeWalk.leavesPerEpoch, reversed: false, in: table.root)
        var rows = RowSelection()
        try table.forEachLeaf { leaf throws(EngineError) in
            rows.append(leaf, [1])
            return false
        }
        #expect(rows.leafCount == 1)
        let error = try #require(throws: EngineError.self) {
            try table.forEachLeaf(of: rows, 0..<1, prefetching: 0) { _ throws(EngineError) in true }
        }
        #expect(error.code == .damaged)
    }

    @Test(arguments: [false, true]) func walksOverAnIndexEnd(reversed: Bool) throws {
        let store = try store()
        let value = [UInt8](repeating: 7, count: 60)
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in 1...Self.entries { try transaction.put(withUnsafeBytes(of: number.bigEndian) { Array($0) }, value, in: tree) }
            return tree
        }
        try store.reopen()
        let index = try store.engine.snapshot().index(tree)
        // A walk continues after this leaf.
        try exchange(0, TreeWalk.leavesPerEpoch - 1, reversed: reversed, in: index.root)
        var seen = 0
        let error = try #require(throws: EngineError.self) {
            try index.forEach(in: KeyRange(), reversed: reversed) { _, _ throws(EngineError) in
                seen += 1
                return seen < 10 * Int(Self.entries)
            }
        }
        #expect(error.code == .damaged)
    }
}
