import Testing

@testable import HornbeamEngine

/// The examples of tree pages in the file-format document, made and decoded.
@Suite struct TreePageExampleTests {
    @Test func theIndexLeafOfTheDocumentDecodes() throws {
        let leaf = try documentExample("index-leaf", count: 68)
        try withPage(leaf) { page in
            #expect(NodeCheck.fault(in: page, bytes: leaf.count) == nil)
            let node = SlottedNode(page)
            #expect((0..<node.count).map { String(decoding: node.key($0), as: UTF8.self) } == ["hornbeam", "hornbeam tree"])
            #expect((0..<node.count).map { node.value($0).array } == [[1], [2, 2]])
        }
        #expect(FormatExample.dump(try pack(indexLeaf())) == FormatExample.dump(leaf))
    }

    @Test func theTableLeafOfTheDocumentDecodes() throws {
        let leaf = try documentExample("table-leaf", count: 93)
        let layout = ResolvedLayout(Self.layout)
        try withPage(leaf) { page in
            #expect(NodeCheck.fault(in: page, bytes: leaf.count) == nil)
            #expect(NodeCheck.tableFault(page, layout) == nil)
            let rows = TableLeaf(page: page, layout: layout)
            #expect((0..<rows.count).map(rows.key) == [7, 9])
            #expect(rows.isNull(1, 0) == false && rows.isNull(1, 1) == true)
        }
        #expect(FormatExample.dump(try pack(tableLeaf())) == FormatExample.dump(leaf))
    }

    /// Sixteen rows of a table with a price and a code in hexadecimal digits.
    @Test func thePackedLeafOfTheDocumentDecodes() throws {
        let store = try TestStore(pageSize: 512)
        try store.write { transaction in
            let layout = ColumnLayout(columns: [Column(id: ColumnID(1), kind: .fixed8), Column(id: ColumnID(2), kind: .bytes)])
            let tree = try transaction.createTable(named: "t", layout: layout)
            let row = RowBuffer(layout: layout)
            for key in 1...16 as ClosedRange<UInt64> {
                row.reset()
                row.set(0, 9.75 + Double(key))
                row.setString(1, String(0x89AB_CDEF * key, radix: 16))
                try transaction.put(row, key: key, in: tree)
            }
        }
        let leaf = try pack((store, store.engine.snapshot().version.record(TreeID(2))))
        let layout = try #require(try store.engine.snapshot().version.record(TreeID(2)).layouts?.current)
        let parts = try withPage(leaf) { TableLeaf(page: $0, layout: layout).parts }
        var target = [UInt8](repeating: 0, count: leaf.count)
        let used = leaf.withBytes { source in target.withMutableBytes { PageSegments.encode(source, parts, into: $0) } }
        let packed = Array(target[..<(try #require(used))])
        let block = try FormatExample.documentBlocks()["packed-leaf"]
        #expect(block.map(String.init) == FormatExample.dump(packed), "\(packed.count) bytes of \(leaf.count)")
        let read = try documentExample("packed-leaf", count: packed.count)
        var page = [UInt8](repeating: 0, count: leaf.count)
        #expect(read.withBytes { source in page.withMutableBytes { PageSegments.decode(source, into: $0) } })
        #expect(page == leaf)
    }

    static let layout = ColumnLayout(columns: [
        Column(id: ColumnID(1), kind: .fixed4), Column(id: ColumnID(2), kind: .bytes), Column(id: ColumnID(3), kind: .bit),
    ])

    private func indexLeaf() throws -> (TestStore, TreeRecord) {
        let store = try TestStore(pageSize: 512)
        try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            try transaction.put(Array("hornbeam".utf8), [1], in: tree)
            try transaction.put(Array("hornbeam tree".utf8), [2, 2], in: tree)
        }
        return (store, try store.engine.snapshot().version.record(TreeID(2)))
    }

    private func tableLeaf() throws -> (TestStore, TreeRecord) {
        let store = try TestStore(pageSize: 512)
        try store.write { transaction in
            let tree = try transaction.createTable(named: "t", layout: Self.layout)
            let row = RowBuffer(layout: Self.layout)
            row.set(0, UInt32(0x11))
            row.setString(1, "seven")
            row.setBit(2, true)
            try transaction.put(row, key: 7, in: tree)
            row.reset()
            row.set(0, UInt32(0x22))
            try transaction.put(row, key: 9, in: tree)
        }
        return (store, try store.engine.snapshot().version.record(TreeID(2)))
    }

    /// The payload of the page that a checkpoint writes for a tree of one leaf.
    private func pack(_ tree: (store: TestStore, record: TreeRecord)) throws -> [UInt8] {
        let pool = tree.store.engine.core.pool
        let page = pool.page(tree.record.root.frame)
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 512, alignment: 16)
        defer { bytes.deallocate() }
        bytes.initializeMemory(as: UInt8.self, repeating: 0, count: 512)
        let target = Page(bytes)
        if let layouts = tree.record.layouts {
            TableLeaf(page: page, layout: layouts.current).pack(into: target)
        } else {
            SlottedNode(page).pack(into: target, children: [])
        }
        return target.bytes(0, target.limit).array
    }

    private func withPage<R>(_ payload: [UInt8], _ body: (Page) throws -> R) throws -> R {
        var bytes = payload + [UInt8](repeating: 0, count: 512)
        return try bytes.withUnsafeMutableBytes { try body(Page($0.baseAddress!)) }
    }

    /// The bytes of a block of the document.
    private func documentExample(_ name: String, count: Int) throws -> [UInt8] {
        let block = try #require(try FormatExample.documentBlocks()[name])
        return try #require(FormatExample.parse(block, count: count))
    }
}
