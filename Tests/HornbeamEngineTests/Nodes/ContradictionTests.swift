import Testing

@testable import HornbeamEngine

/// Pages with valid checksums and contradictory contents, as a bug or a forger could write them. The tests show that
/// each check finds its contradiction.
@Suite struct ContradictionTests {
    /// A contradiction in a page, and the message that describes it.
    struct Case: Sendable, CustomTestStringConvertible {
        var page: TreeSample.Place
        var name: String
        var fault: String
        var change: @Sendable (Page) -> Void
        var testDescription: String { "\(page): \(name)" }

        init(_ page: TreeSample.Place, _ name: String, _ fault: String, _ change: @escaping @Sendable (Page) -> Void) {
            (self.page, self.name, self.fault, self.change) = (page, name, fault, change)
        }
    }

    // MARK: What is seen when a page is read

    static let nodes: [Case] = [
        Case(.indexLeaf, "kind", "no such kind of node") { $0.kind = 9 },
        Case(.indexLeaf, "capacity", "its counts exceed its size") { $0.capacity = $0.count - 1 },
        Case(.indexLeaf, "heap start", "its counts exceed its size") { $0.heapStart = $0.limit + 1 },
        Case(.indexLeaf, "no entries", "it has no entries, or dead bytes") { $0.count = 0 },
        Case(.indexLeaf, "garbage", "it has no entries, or dead bytes") { $0.heapGarbage = 1 },
        Case(.indexLeaf, "level", "a leaf above the bottom") { $0.level = 1 },
        Case(.indexLeaf, "overlap", "its arrays and its heap overlap") { $0.heapStart = Page.headerSize },
        Case(.indexLeaf, "prefix", "its arrays and its heap overlap") { $0.prefixLength = 0xFFFF },
        Case(.indexLeaf, "cell", "entry 1 lies outside the heap") { $0.store(UInt16(0), at: slot($0, 1)) },
        Case(.indexLeaf, "blob", "entry 2 has a blob reference of 3 bytes") { $0.store(UInt16(0x8003), at: slot($0, 2) + 4) },
        Case(.indexLeaf, "order", "keys 0 and 1 are out of order") { swap(UInt64.self, $0, 32, 40) },
        Case(.inner, "level 0", "an inner node at the bottom") { $0.level = 0 },
        Case(.inner, "level 32", "an inner node at the bottom") { $0.level = 32 },
        Case(.inner, "link", "link 1 names no page") { $0.store(UInt64(0), at: link($0, 1) + 16) },
        Case(.inner, "link in memory", "link 0 names no page") { $0.store(UInt64(1) << 63, at: link($0, 0)) },
        Case(.inner, "order", "keys 1 and 2 are out of order") { swap(UInt64.self, $0, 40, 48) },
        Case(.tableLeaf, "level", "a bad key width") { $0.level = 1 },
        Case(.tableLeaf, "key width", "a bad key width") { $0.store(UInt8(3), at: 28) },
        Case(.tableLeaf, "overlap", "its keys and its heap overlap") { $0.heapStart = Page.headerSize },
    ]

    @Test(arguments: nodes) func aNodeThatContradictsItselfIsRefused(_ wrong: Case) throws {
        let sample = try TreeSample()
        try sample.withCopy(of: wrong.page) { page, bytes in
            #expect(NodeCheck.fault(in: page, bytes: bytes) == nil)
            wrong.change(page)
            #expect(NodeCheck.fault(in: page, bytes: bytes) == wrong.fault)
        }
    }

    @Test func aNodeOfAnotherLengthThanItSaysIsRefused() throws {
        try TreeSample().withCopy(of: .indexLeaf) { page, bytes in
            #expect(NodeCheck.fault(in: page, bytes: bytes - 1) == "its length is \(bytes - 1), its header says \(bytes)")
            #expect(NodeCheck.fault(in: page, bytes: 31) == "no such kind of node")
        }
    }

    static let tables: [Case] = [
        Case(.tableLeaf, "columns", "its columns and its heap overlap") { $0.heapStart = Page.headerSize + 2 * $0.count },
        Case(.tableLeaf, "order", "rows 0 and 1 are out of order") { swap(UInt16.self, $0, 32, 34) },
        Case(.tableLeaf, "first key", "its first row is before its first key") { page in
            page.count = 1
            page.store(UInt16(5), at: 32)
            page.store(UInt64.max, at: 16)
        },
        Case(.tableLeaf, "cell", "row 3 has a cell outside the heap") { $0.store(UInt16(0), at: textCell($0, 3)) },
        // An empty value beyond the page.
        Case(.tableLeaf, "empty cell", "row 3 has a cell outside the heap") { $0.store(UInt32(0xFFFF), at: textCell($0, 3)) },
        Case(.tableLeaf, "shared cells", "its cells have more bytes than its heap") { page in
            page.store(UInt16(page.heapStart), at: textCell(page, 3))
            page.store(UInt16(page.limit - page.heapStart), at: textCell(page, 3) + 2)
        },
        Case(.tableLeaf, "garbage", "its cells have more bytes than its heap") { $0.heapGarbage = 0xFFFF },
        Case(.tableLeaf, "blob", "row 3 has a broken blob reference") { $0.store(UInt16(0x8001), at: textCell($0, 3) + 2) },
    ]

    @Test(arguments: tables) func aTableLeafThatContradictsItselfIsRefused(_ wrong: Case) throws {
        try TreeSample().withCopy(of: wrong.page) { page, _ in
            #expect(NodeCheck.tableFault(page, TreeSample.resolved) == nil)
            wrong.change(page)
            #expect(NodeCheck.tableFault(page, TreeSample.resolved) == wrong.fault)
        }
    }

    // MARK: What only the check of the whole store sees

    static let trees: [Case] = [
        Case(.indexLeaf, "level", "Tree words has a page of level 2 where 0 is expected.") { $0.level = 2 },
        Case(.indexLeaf, "order", "Tree words has keys out of order.") { swap(UInt64.self, $0, 32, 40) },
        Case(.secondIndexLeaf, "bounds", "Tree words has a key outside its leaf's bounds.") { $0.store(UInt64(0), at: 32) },
        Case(.secondInner, "separator", "Tree words has a separator outside its parent's bounds.") { $0.store(UInt64(0), at: 40) },
        Case(.tableLeaf, "kind", "Tree rows is a table with an index leaf.") { $0.kind = NodeKind.indexLeaf.rawValue },
        Case(.tableLeaf, "layout", "Tree rows has a leaf of a layout that it does not know.") { $0.store(UInt32(99), at: 24) },
        Case(.tableLeaf, "rows", "Tree rows has a leaf in which rows 0 and 1 are out of order.") { swap(UInt16.self, $0, 32, 34) },
        Case(.tableLeaf, "bounds", "Tree rows has a row outside its leaf's bounds.") { $0.store(UInt64(1) << 40, at: 16) },
    ]

    @Test(arguments: trees) func theCheckFindsATreeThatContradictsItself(_ wrong: Case) throws {
        let sample = try TreeSample()
        #expect(try sample.store.engine.check().problems == [])
        try sample.change(wrong.page, wrong.change)
        #expect(try sample.store.engine.check().problems.contains(wrong.fault))
    }

    @Test func theCheckFindsCountsThatDoNotAddUp() throws {
        let sample = try TreeSample()
        var expected: [String] = []
        for (place, words) in [(TreeSample.Place.indexLeaf, "words counts # entries"), (.tableLeaf, "rows counts # rows")] {
            try sample.change(place) { page in
                expected.append("Tree \(words.replacing("#", with: "\(page.count)")) in a leaf of \(page.count - 1).")
                page.count -= 1
            }
        }
        try sample.change(.secondInner) { page in
            let sum = (0..<page.count).reduce(0) { $0 + page.load(Self.link(page, $1) + 16, as: UInt64.self) }
            expected.append("Tree words counts \(sum) entries where links add up to \(sum + 1).")
            let first: UInt64 = page.load(Self.link(page, 0) + 16)
            page.store(first + 1, at: Self.link(page, 0) + 16)
        }
        #expect(try Set(sample.store.engine.check().problems).isSuperset(of: expected), "\(expected)")
    }

    // MARK: Where things are in a page

    static func slot(_ page: Page, _ i: Int) -> Int { Page.headerSize + 8 * page.capacity + SlottedNode.slotSize * i }
    static func link(_ page: Page, _ i: Int) -> Int { Page.headerSize + 8 * page.capacity + SlottedNode.linkSize * i }

    static func textCell(_ page: Page, _ row: Int) -> Int {
        let layout = TreeSample.resolved
        let bitmaps = TableLeaf.arraysStart(capacity: page.capacity, keyWidth: 2)
        let columns = bitmaps + (page.capacity + 63) / 64 * 8 * layout.bitmapCount
        return columns + page.capacity * Int(layout.physical[1].fixedBefore) + row * Int(layout.physical[1].width)
    }

    static func swap<T: BitwiseCopyable>(_ type: T.Type, _ page: Page, _ a: Int, _ b: Int) {
        let (first, second): (T, T) = (page.load(a), page.load(b))
        page.store(second, at: a)
        page.store(first, at: b)
    }
}

/// An index of three levels and a table of two, read back from their files.
struct TreeSample {
    /// A page of it.
    enum Place { case inner, secondInner, indexLeaf, secondIndexLeaf, tableLeaf }

    static let layout = ColumnLayout(columns: [
        Column(id: ColumnID(1), kind: .fixed4), Column(id: ColumnID(2), kind: .bytes),
    ])
    static let resolved = ResolvedLayout(layout)

    let store: TestStore
    private let snapshot: Snapshot

    init() throws {
        store = try TestStore(pageSize: 512) { $0.poolBytes = 4000 * 512 }
        try store.write { transaction in
            let words = try transaction.createIndex(named: "words")
            for n in 0..<300 { try transaction.put(Array("word \(1000 + n) and a tail".utf8), [1, 2, 3], in: words) }
            let rows = try transaction.createTable(named: "rows", layout: Self.layout)
            let row = RowBuffer(layout: Self.layout)
            for n in 0..<60 {
                row.reset()
                row.set(0, UInt32(n))
                row.setString(1, "text \(n)")
                try transaction.put(row, key: UInt64(1000 + 3 * n), in: rows)
            }
        }
        try store.reopen()
        snapshot = try store.engine.snapshot()
    }

    /// The tree, the level and whether it is the first or the second of its parent.
    private func find(_ place: Place) -> (tree: TreeID, level: Int, link: Int) {
        switch place {
        case .inner: (TreeID(2), 1, 0)
        case .secondInner: (TreeID(2), 1, 1)
        case .indexLeaf: (TreeID(2), 0, 0)
        case .secondIndexLeaf: (TreeID(2), 0, 1)
        case .tableLeaf: (TreeID(3), 0, 0)
        }
    }

    /// Changes a page where the engine has it, in the pool.
    func change(_ place: Place, _ body: (Page) -> Void) throws { body(try page(place)) }

    /// Lends a copy of a page and how long it is.
    func withCopy(of place: Place, _ body: (Page, Int) throws -> Void) throws {
        let page = try page(place)
        var bytes = page.bytes(0, page.limit).array + [UInt8](repeating: 0, count: 512)
        try bytes.withUnsafeMutableBytes { try body(Page($0.baseAddress!), page.limit) }
    }

    private func page(_ place: Place) throws -> Page {
        let (tree, level, link) = find(place)
        let pool = store.engine.core.pool
        var page = pool.page(try pool.rootFrame(try snapshot.version.record(tree).root))
        while page.level > level {
            page = pool.page(try pool.rootFrame(SlottedNode(page).child(page.level == level + 1 ? link : 0)))
        }
        return page
    }
}
