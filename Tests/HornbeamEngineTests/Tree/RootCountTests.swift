import Testing

@testable import HornbeamEngine

/// Trees whose root has another number of entries than the catalogue says.
@Suite struct RootCountTests {
    private func root(_ root: TreeRoot, counting count: UInt64) -> TreeRoot {
        let reference = PageReference(address: root.reference.address, stamp: root.reference.stamp, count: count)
        return TreeRoot(pool: root.pool, reference: reference, hint: root.hint, leafKind: root.leafKind, version: nil)
    }

    @Test("an entry beyond the last one of a tree whose count is too large is damage", arguments: [3, 400])
    func entriesBeyondTheEnd(entries: Int) throws {
        let store = try TestStore(pageSize: 512)
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in 0 ..< entries { try transaction.put([UInt8(number / 256), UInt8(number % 256)], [], in: tree) }
            return tree
        }
        let view = try store.engine.snapshot().index(tree)
        for count in [UInt64(entries) + 1, 1 << 40] {
            let wrong = IndexView(root: root(view.root, counting: count), owner: view.owner)
            #expect(try wrong.entry(at: entries - 1)?.key == view.entry(at: entries - 1)?.key)
            for place in [entries, Int(count) - 1] {
                let error = try #require(throws: EngineError.self) { try wrong.entry(at: place) }
                #expect(error.code == .damaged)
            }
        }
    }
}
