// A leaf of which a scan has unpacked some columns, in memory of its own.
//
// A scan of a table that is larger than the pool would evict each page before it reads it again. So it unpacks only the columns that it reads, and the
// pool keeps its pages. Pages in the pool are read there.

/// The memory for the leaves of one scan, one after the other. Safe: only the scan's thread uses it, and the memory exists as long as the object.
@safe final class PartialLeaf {
    let columns: ScannedColumns
    let page: Page
    private let memory: UnsafeMutableRawBufferPointer
    private let pool: FramePool
    private let layouts: TableLayouts
    /// The reference of the leaf in memory; empty if there is none.
    private var reference = PageReference.empty
    /// The bytes of segments that sufficed for the leaves until now.
    private var prefix = 0

    /// - Parameter columns: A bit for each column, of the first 64.
    init(_ columns: UInt64, _ pool: FramePool, _ layouts: TableLayouts) {
        self.columns = ScannedColumns(columns, of: layouts.current)
        self.pool = pool
        self.layouts = layouts
        unsafe memory = .allocate(byteCount: Page.sizeMax, alignment: 64)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe page = Page(memory.baseAddress!)
    }

    deinit { unsafe memory.deallocate() }

    /// Reads a leaf. False if it must be read whole: it has another layout, or a fault, which is then found again and described.
    func read(_ link: PageReference) throws(EngineError) -> Bool {
        if reference == link { return true }
        reference = .empty
        let target = unsafe memory.part(0..<pool.pageSize)
        guard let bytes = unsafe try pool.files.readParts(of: link, prefix: &prefix, into: target, wanted: { ranges(firstBytes: $0.count) }),
            page.limit == bytes, UInt64(page.count) == link.count, NodeCheck.keysFault(page, columns.layout) == nil
        else { return false }
        reference = link
        return true
    }

    /// The ranges of the page that the scan reads: header, keys, bitmaps and columns. Nil unless its first bytes begin a leaf with the current layout.
    private func ranges(firstBytes: Int) -> [Range<Int>]? {
        guard firstBytes >= Page.headerSize, page.kind == NodeKind.tableLeaf.rawValue, page.load(24, as: UInt32.self) == columns.layout.version,
            NodeCheck.fault(in: page, bytes: page.limit) == nil
        else { return nil }
        let leaf = TableLeaf(page: page, layout: columns.layout)
        let start = leaf.columnsStart
        return [0..<start] + columns.bytesOfRow.map { start + leaf.capacity * $0.lowerBound..<start + leaf.capacity * $0.upperBound }
    }

    func view(transaction: UInt64) -> LeafView { LeafView(self, pool, layouts, transaction: transaction) }
}
