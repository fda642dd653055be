// Rows and leaves that a closure gets, with typed reads of cells directly from the page.
//
// A view is valid inside its closure only. Columns are numbered as in the table's current layout. For a column that an older leaf lacks,
// each row has the fill value.

import Synchronization

/// The rows of one leaf. Valid only inside the closure that gets it.
@safe @usableFromInline package struct LeafView {
    @usableFromInline let page: Page
    @usableFromInline let columns: UnsafeMutablePointer<PhysicalColumn>
    @usableFromInline let capacity: Int
    @usableFromInline let bitmapsStart: Int
    @usableFromInline let bitmapBytes: Int
    @usableFromInline let columnsStart: Int
    let layouts: Unmanaged<TableLayouts>
    let pool: Unmanaged<FramePool>
    let frame: UInt32
    let transaction: UInt64
    /// Bit i is set if bitmap i may have a set bit, for the first 16 bitmaps.
    @usableFromInline let bitmaps: UInt16

    /// The number of rows in the leaf.
    @usableFromInline package let count: Int

    @inline(__always)
    init?(_ pool: FramePool, _ frame: UInt32, _ layouts: TableLayouts, transaction: UInt64) {
        let page = pool.page(frame)
        guard let (columns, bitmapCount) = unsafe layouts.columns(of: page.load(24)) else { return nil }
        unsafe self.init(page, frame, unsafe columns, bitmapCount: bitmapCount, pool, layouts, transaction: transaction)
    }

    /// The view of a partial leaf, which is in no frame.
    init(_ leaf: PartialLeaf, _ pool: FramePool, _ layouts: TableLayouts, transaction: UInt64) {
        let columns = leaf.columns
        unsafe self.init(
            leaf.page, 0, columns.physical, bitmapCount: columns.layout.bitmapCount, pool, layouts, transaction: transaction)
    }

    @inline(__always)
    private init(
        _ page: Page, _ frame: UInt32, _ columns: UnsafeMutablePointer<PhysicalColumn>, bitmapCount: Int, _ pool: FramePool, _ layouts: TableLayouts,
        transaction: UInt64
    ) {
        self.page = page
        unsafe self.columns = unsafe columns
        capacity = page.capacity
        bitmapsStart = TableLeaf.arraysStart(capacity: capacity, keyWidth: Int(page.load(28, as: UInt8.self)))
        bitmapBytes = (capacity + 63) / 64 * 8
        columnsStart = bitmapsStart + bitmapBytes * bitmapCount
        unsafe self.layouts = .passUnretained(layouts)
        unsafe self.pool = .passUnretained(pool)
        self.frame = frame
        self.transaction = transaction
        bitmaps = CachedLeafHeader.allBitmaps
        count = page.count
    }

    /// Makes the view from a cached header, without reading the page.
    @inline(__always)
    init?(_ pool: FramePool, _ frame: UInt32, _ cachedHeader: CachedLeafHeader, _ layouts: TableLayouts, transaction: UInt64) {
        guard let (columns, bitmapCount) = unsafe layouts.columns(of: cachedHeader.version) else { return nil }
        page = pool.page(frame)
        unsafe self.columns = unsafe columns
        capacity = cachedHeader.capacity
        bitmapsStart = TableLeaf.arraysStart(capacity: capacity, keyWidth: cachedHeader.keyWidth)
        bitmapBytes = (capacity + 63) / 64 * 8
        columnsStart = bitmapsStart + bitmapBytes * bitmapCount
        unsafe self.layouts = .passUnretained(layouts)
        unsafe self.pool = .passUnretained(pool)
        self.frame = frame
        self.transaction = transaction
        bitmaps = cachedHeader.bitmaps
        count = cachedHeader.count
    }

    /// The key of a row.
    package func key(_ slot: Int) -> UInt64 { TableLeaf.key(page, slot) }

    /// A row.
    @inlinable package func row(_ slot: Int) -> RowView { RowView(leaf: self, slot: slot) }

    /// The row's location, as a hint for later reads; unknown in a partial leaf.
    package func location(_ slot: Int) -> RowLocation {
        guard frame != 0 else { return RowLocation() }
        let generation = unsafe pool._withUnsafeGuaranteedRef { $0.generation(frame) }
        return RowLocation(
            frame: frame, generation: generation, transaction: UInt32(truncatingIfNeeded: transaction), slot: UInt16(slot))
    }

    /// The cells of a fixed column, one after the other; nil if the leaf lacks the column.
    @inlinable package func fixedCells(_ column: Int) -> UnsafeRawBufferPointer? {
        let c = unsafe columns[column]
        guard !c.isAbsent, c.width > 0 else { return nil }
        precondition(c.isUnpacked, "The scan does not read column \(column).")
        let bytes = page.bytes(columnsStart + capacity * Int(c.fixedBefore), count * Int(c.width))
        return unsafe bytes.buffer
    }

    /// The null bitmap of a column, in whole 8-byte words: bit i is set if row i is null. Nil if the leaf lacks the column.
    @inlinable package func nullBits(_ column: Int) -> UnsafeRawBufferPointer? {
        let c = unsafe columns[column]
        guard !c.isAbsent else { return nil }
        return unsafe page.bytes(bitmapsStart + bitmapBytes * Int(c.nullBitmap), bitmapBytes).buffer
    }

    /// The values of a bit column, in the form of `nullBits`.
    @inlinable package func bitCells(_ column: Int) -> UnsafeRawBufferPointer? {
        let c = unsafe columns[column]
        guard !c.isAbsent, c.valueBitmap >= 0 else { return nil }
        return unsafe page.bytes(bitmapsStart + bitmapBytes * Int(c.valueBitmap), bitmapBytes).buffer
    }

    /// The bytes of a variable cell; empty for null. Nil if the value is a blob or the leaf lacks the column.
    @inlinable @inline(__always)
    package func bytesInLeaf(_ column: Int, _ slot: Int) -> UnsafeRawBufferPointer? {
        let c = unsafe columns[column]
        guard !c.isAbsent else { return nil }
        assert(c.isUnpacked, "The scan does not read column \(column).")
        let offset = columnsStart + capacity * Int(c.fixedBefore) + slot * 4
        let word: UInt16 = page.load(offset + 2)
        guard word & 0x8000 == 0 else { return nil }
        return unsafe page.bytes(Int(page.load(offset, as: UInt16.self)), Int(word)).buffer
    }

    /// The largest number of bytes that a row of the leaf has in variable columns, besides some columns.
    package func variableBytesMax(besides columns: [Int]) -> Int {
        let layout = unsafe layouts._withUnsafeGuaranteedRef { $0.current }
        let others = layout.variableColumns.filter { !columns.contains($0) }
        if others.isEmpty { return 0 }
        let fills = others.reduce(0) { unsafe $0 + (self.columns[$1].isAbsent ? fill($1)?.count ?? 0 : 0) }
        let stored = others.map { unsafe self.columns[$0] }.filter { !$0.isAbsent }
        var most = 0
        for slot in 0..<count {
            var sum = fills
            for column in stored {
                let offset = columnsStart + capacity * Int(column.fixedBefore) + slot * 4
                sum += Int(page.load(offset + 2, as: UInt16.self) & ~BlobCell.flag)
            }
            most = max(most, sum)
        }
        return most
    }

    /// The fill value of a column that the leaf lacks.
    @usableFromInline func fill(_ column: Int) -> [UInt8]? {
        unsafe layouts._withUnsafeGuaranteedRef { $0.fills[column] }
    }

    @usableFromInline @inline(never)
    func blob(_ reference: PageReference) throws(EngineError) -> [UInt8] {
        let files = unsafe pool._withUnsafeGuaranteedRef { $0.files }
        return try files.readBlob(reference)
    }
}

/// One row. Valid only inside the closure that gets it.
@usableFromInline package struct RowView {
    @usableFromInline package let leaf: LeafView
    @usableFromInline package let slot: Int

    @inlinable init(leaf: LeafView, slot: Int) {
        self.leaf = leaf
        self.slot = slot
    }

    /// The row's key.
    package var key: UInt64 { leaf.key(slot) }

    @inlinable @inline(__always) package func isNull(_ column: Int) -> Bool {
        let c = unsafe leaf.columns[column]
        if c.isAbsent { return leaf.fill(column) == nil }
        return bit(bitmap: c.nullBitmap)
    }

    @usableFromInline @inline(__always)
    func bit(bitmap: Int32) -> Bool {
        if bitmap < 16, leaf.bitmaps >> UInt16(truncatingIfNeeded: bitmap) & 1 == 0 { return false }
        let byte = leaf.page.load(
            leaf.bitmapsStart + leaf.bitmapBytes * Int(bitmap) + slot >> 3, as: UInt8.self)
        return byte >> UInt8(slot & 7) & 1 == 1
    }

    /// A fixed cell, little-endian; zero when null.
    @inlinable package func load<T: BitwiseCopyable>(_ column: Int, as type: T.Type) -> T {
        let c = unsafe leaf.columns[column]
        if c.isAbsent { return fixedFill(column) }
        precondition(MemoryLayout<T>.size == Int(c.width), "The type's width is not that of column \(column).")
        assert(c.isUnpacked, "The scan does not read column \(column).")
        return leaf.page.load(
            leaf.columnsStart + leaf.capacity * Int(c.fixedBefore) + slot * Int(c.width), as: T.self)
    }

    @usableFromInline @inline(never)
    func fixedFill<T: BitwiseCopyable>(_ column: Int) -> T {
        var bytes = leaf.fill(column) ?? []
        bytes += [UInt8](repeating: 0, count: max(MemoryLayout<T>.size - bytes.count, 0))
        return bytes.withBorrowedBytes { $0.load(0, as: T.self) }
    }

    /// A bit cell; false when null.
    @inlinable package func bit(_ column: Int) -> Bool {
        let c = unsafe leaf.columns[column]
        if c.isAbsent { return leaf.fill(column)?.first == 1 }
        return bit(bitmap: c.valueBitmap)
    }

    /// Calls `body` with the bytes of a variable cell, or without bytes for null. Reads blobs too.
    @inlinable package func withBytes<R>(
        _ column: Int, _ body: (UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let c = unsafe leaf.columns[column]
        if c.isAbsent { return unsafe try withArray(leaf.fill(column) ?? [], body) }
        assert(c.isUnpacked, "The scan does not read column \(column).")
        let offset = leaf.columnsStart + leaf.capacity * Int(c.fixedBefore) + slot * 4
        let start = Int(leaf.page.load(offset, as: UInt16.self))
        let word: UInt16 = leaf.page.load(offset + 2)
        if word & 0x8000 != 0 {
            return unsafe try withArray(try leaf.blob(leaf.page.load(start, as: PageReference.self)), body)
        }
        return unsafe try body(unsafe leaf.page.bytes(start, Int(word)).buffer)
    }

    @usableFromInline
    func withArray<R>(
        _ array: [UInt8], _ body: (UnsafeRawBufferPointer) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        try array.withBorrowedBytes { bytes throws(EngineError) in unsafe try body(unsafe bytes.buffer) }
    }

    /// A variable cell as text. Invalid UTF-8 is repaired.
    package func string(_ column: Int) throws(EngineError) -> String {
        unsafe try withBytes(column) { bytes throws(EngineError) in unsafe String(decoding: bytes, as: UTF8.self) }
    }

    package func bytes(_ column: Int) throws(EngineError) -> [UInt8] {
        unsafe try withBytes(column) { bytes throws(EngineError) in unsafe Array(bytes) }
    }
}

/// The last known location of a row: a hint, which is checked before use. `RowLocation()` is an unknown location. Only fourteen bytes, because
/// every object has one.
@usableFromInline package struct RowLocation: Sendable, Hashable {
    /// The frame (low half) and its generation (high half).
    @usableFromInline let place: UInt64
    /// The low half of the version's number.
    @usableFromInline let transaction: UInt32
    /// The row's slot in its leaf. The top bit is set if neighbouring rows were found together with it.
    @usableFromInline let row: UInt16
    @usableFromInline static let neighboursFlag: UInt16 = 0x8000

    var frame: UInt32 { UInt32(truncatingIfNeeded: place) }
    var generation: UInt32 { UInt32(truncatingIfNeeded: place >> 32) }
    var slot: Int { Int(row & ~RowLocation.neighboursFlag) }
    /// True for a row that a scan has found: the next rows will probably be read soon.
    var hasNeighbours: Bool { row & RowLocation.neighboursFlag != 0 }

    package init() { self.init(frame: 0, generation: 0, transaction: 0, slot: 0) }

    /// The location of another row of the same leaf that was found together with this row.
    @inlinable @inline(__always)
    package func neighbour(_ slot: Int) -> RowLocation {
        RowLocation(place: place, transaction: transaction, row: UInt16(truncatingIfNeeded: slot) | RowLocation.neighboursFlag)
    }

    @inline(__always)
    init(frame: UInt32, generation: UInt32, transaction: UInt32, slot: UInt16) {
        self.init(place: UInt64(frame) | UInt64(generation) << 32, transaction: transaction, row: slot)
    }

    @inlinable @inline(__always)
    init(place: UInt64, transaction: UInt32, row: UInt16) {
        self.place = place
        self.transaction = transaction
        self.row = row
    }
}

extension RowLocation {
    /// True if the location is of the version with this number.
    @inline(__always)
    func isOf(_ transaction: UInt64) -> Bool {
        frame != 0 && transaction != TableView.noTransaction && self.transaction == UInt32(truncatingIfNeeded: transaction)
    }
}
