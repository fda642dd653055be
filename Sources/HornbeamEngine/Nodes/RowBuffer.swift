// A row to be written to a table: its cells, and their compact image for the log.
//
// Image: null bitmap ⌈n / 8⌉ B | cells of fixed columns in column order (bits as one byte) | for each variable
// column u32 length (bit 31: a 24-byte blob reference follows instead of the value), bytes.

import Glibc

/// A reusable row to be written to a table. Not thread-safe.
@safe @usableFromInline package final class RowBuffer {
    let layout: ColumnLayout
    @usableFromInline let columnCount: Int
    /// One slot for each column. Not an array: each access to an array in a class checks exclusivity and changes reference counts, which is too
    /// slow for bulk inserts.
    @usableFromInline let slots: UnsafeMutablePointer<Slot>
    /// The fixed cells, sixteen bytes for each column.
    @usableFromInline let fixed: UnsafeMutableRawPointer
    private var heap: UnsafeMutableRawPointer
    private var heapCapacity = 1024
    private var heapCount = 0
    /// The memory for the image.
    private var image: UnsafeMutableRawPointer
    private var imageCapacity = 1024

    /// The table's layouts whose current layout was last found equal to this row's layout.
    var layoutsFoundEqual: TableLayouts?

    @usableFromInline struct Slot {
        @usableFromInline let kind: ColumnKind
        @usableFromInline var isNull = true
        var cell = Cell()
    }

    /// A variable cell: the range of its bytes in the heap.
    struct Cell {
        var start = 0
        var length = 0
        var isBlob = false
    }

    package init(layout: ColumnLayout) {
        self.layout = layout
        columnCount = layout.columns.count
        unsafe slots = .allocate(capacity: max(columnCount, 1))
        for (i, column) in layout.columns.enumerated() { unsafe (slots + i).initialize(to: Slot(kind: column.kind)) }
        unsafe fixed = .allocate(byteCount: max(16 * columnCount, 16), alignment: 16)
        unsafe fixed.initializeMemory(as: UInt8.self, repeating: 0, count: max(16 * columnCount, 16))
        unsafe heap = .allocate(byteCount: heapCapacity, alignment: 8)
        unsafe image = .allocate(byteCount: imageCapacity, alignment: 8)
    }

    deinit {
        unsafe slots.deallocate()
        unsafe fixed.deallocate()
        unsafe heap.deallocate()
        unsafe image.deallocate()
    }

    /// Makes every cell null.
    package func reset() {
        for i in 0..<columnCount { unsafe slots[i].isNull = true }
        heapCount = 0
    }

    package func setNull(_ column: Int) { unsafe slot(column).pointee.isNull = true }

    @inlinable @inline(__always)
    func slot(_ column: Int) -> UnsafeMutablePointer<Slot> {
        precondition(column >= 0 && column < columnCount, "The row has no column \(column).")
        return unsafe slots + column
    }

    /// Sets a fixed cell. The size of `T` must be the column's width.
    @inlinable @inline(__always)
    package func set<T: BitwiseCopyable>(_ column: Int, _ value: T) {
        let slot = unsafe slot(column)
        precondition(
            unsafe MemoryLayout<T>.size == slot.pointee.kind.width, "The value's width is not that of column \(column).")
        unsafe fixed.storeBytes(of: value, toByteOffset: 16 * column, as: T.self)
        unsafe slot.pointee.isNull = false
    }

    package func setBit(_ column: Int, _ value: Bool) {
        let slot = unsafe slot(column)
        precondition(unsafe slot.pointee.kind == .bit, "Column \(column) is not a bit column.")
        unsafe fixed.storeBytes(of: value ? 1 : 0, toByteOffset: 16 * column, as: UInt8.self)
        unsafe slot.pointee.isNull = false
    }

    package func setBytes(_ column: Int, _ bytes: UnsafeRawBufferPointer) {
        unsafe setBytes(column, Bytes(bytes))
    }

    package func setString(_ column: Int, _ string: String) {
        var string = string
        string.withUTF8 { utf8 in unsafe setBytes(column, Bytes(UnsafeRawBufferPointer(utf8))) }
    }

    func setBytes(_ column: Int, _ bytes: Bytes, isBlob: Bool = false) {
        let slot = unsafe slot(column)
        precondition(unsafe slot.pointee.kind == .bytes, "Column \(column) does not hold variable bytes.")
        unsafe slot.pointee.cell = Cell(start: push(bytes), length: bytes.count, isBlob: isBlob)
        unsafe slot.pointee.isNull = false
    }

    private func push(_ bytes: Bytes) -> Int {
        if heapCount + bytes.count > heapCapacity {
            heapCapacity = max(heapCapacity * 2, heapCount + bytes.count)
            let larger = UnsafeMutableRawPointer.allocate(byteCount: heapCapacity, alignment: 8)
            unsafe memcpy(larger, heap, heapCount)
            unsafe heap.deallocate()
            unsafe heap = larger
        }
        if bytes.count > 0 { unsafe memcpy(heap + heapCount, bytes.base, bytes.count) }
        heapCount += bytes.count
        assert(heapCount <= heapCapacity, "The cells of a row lie in its heap.")
        return heapCount - bytes.count
    }

    // MARK: Reading cells

    @inlinable package func isNull(_ column: Int) -> Bool { unsafe slot(column).pointee.isNull }
    func kind(_ column: Int) -> ColumnKind { unsafe slot(column).pointee.kind }
    func cell(_ column: Int) -> Cell { unsafe slot(column).pointee.cell }
    /// Whether a column has variable bytes and its cell is not null.
    private func isVariable(_ column: Int) -> Bool { unsafe slots[column].kind == .bytes && !slots[column].isNull }
    func bytes(_ column: Int) -> Bytes { unsafe Bytes(heap + cell(column).start, cell(column).length) }
    func fixedBytes(_ column: Int) -> Bytes { unsafe Bytes(fixed + 16 * column, 16) }
    /// Calls `body` with the bytes of a cell that is not null; with one byte for a bit.
    package func withCell<R>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let kind = kind(column)
        assert(!isNull(column) && !cell(column).isBlob, "The cell has a value in memory.")
        return unsafe body(kind == .bytes ? bytes(column).buffer : UnsafeRawBufferPointer(start: fixed + 16 * column, count: max(kind.width, 1)))
    }

    func bit(_ column: Int) -> Bool { unsafe fixed.load(fromByteOffset: 16 * column, as: UInt8.self) != 0 }

    /// The length of all variable cells in a leaf's heap.
    var variableBytes: Int {
        var sum = 0
        for i in 0..<columnCount where isVariable(i) { sum += cell(i).length }
        return sum
    }

    /// Stores the largest cells as blobs until the variable cells have at most `limit` bytes. Returns the cells before the change, for `restore`;
    /// nil if there was no change.
    func spill(to limit: Int, _ store: (Bytes) throws(EngineError) -> PageReference) throws(EngineError) -> [Cell]? {
        guard variableBytes > limit else { return nil }
        let before = (0..<columnCount).map { cell($0) }
        while variableBytes > limit {
            let largest = (0..<columnCount).filter { isVariable($0) && !cell($0).isBlob }
                .max { cell($0).length < cell($1).length }
            guard let column = largest, cell(column).length > BlobCell.size else { break }
            var reference: PageReference
            do throws(EngineError) { reference = try store(bytes(column)) } catch {
                restore(before)
                throw error
            }
            unsafe withUnsafeBytes(of: &reference) { raw in
                unsafe slot(column).pointee.cell = Cell(start: push(unsafe Bytes(raw)), length: BlobCell.size, isBlob: true)
            }
        }
        return before
    }

    func restore(_ cells: [Cell]) {
        assert(cells.count == columnCount, "All cells of a row are restored.")
        for (i, cell) in cells.enumerated() { unsafe slot(i).pointee.cell = cell }
    }

    // MARK: Image

    func appendImage(to log: inout [UInt8]) {
        let bound = (columnCount + 7) / 8 + 20 * columnCount + variableBytes
        if bound > imageCapacity {
            unsafe image.deallocate()
            imageCapacity = 2 * bound
            unsafe image = .allocate(byteCount: imageCapacity, alignment: 8)
        }
        unsafe log.append(contentsOf: UnsafeRawBufferPointer(start: image, count: writeImage(to: image)))
    }

    /// Writes the image and returns its length.
    private func writeImage(to target: UnsafeMutableRawPointer) -> Int {
        let bits = (columnCount + 7) / 8
        unsafe memset(target, 0, bits)
        var end = bits
        for i in 0..<columnCount {
            if isNull(i) {
                let byte = unsafe target.load(fromByteOffset: i >> 3, as: UInt8.self)
                unsafe target.storeBytes(of: byte | 1 << UInt8(i & 7), toByteOffset: i >> 3, as: UInt8.self)
            } else if kind(i) != .bytes {
                let width = max(kind(i).width, 1)
                unsafe memcpy(target + end, fixed + 16 * i, width)
                end += width
            }
        }
        for i in 0..<columnCount where isVariable(i) {
            let cell = cell(i)
            let word = UInt32(cell.length) | (cell.isBlob ? 1 << 31 : 0)
            unsafe target.storeBytes(of: word.littleEndian, toByteOffset: end, as: UInt32.self)
            unsafe memcpy(target + end + 4, heap + cell.start, cell.length)
            end += 4 + cell.length
        }
        assert(end <= imageCapacity, "The image of a row fits its memory.")
        return end
    }

    /// Reads the cells from an image. Throws `damaged` when the image does not match the layout.
    func readImage(_ reader: inout ByteReader) throws(EngineError) {
        reset()
        let bits = try reader.readBytes((columnCount + 7) / 8)
        for i in 0..<columnCount { unsafe slots[i].isNull = bits.load(i >> 3, as: UInt8.self) >> UInt8(i & 7) & 1 == 1 }
        for i in 0..<columnCount where !isNull(i) && kind(i) != .bytes {
            let cell = try reader.readBytes(max(kind(i).width, 1))
            unsafe memcpy(fixed + 16 * i, cell.base, cell.count)
        }
        for i in 0..<columnCount where isVariable(i) {
            let word = try reader.integer(UInt32.self)
            setBytes(i, try reader.readBytes(Int(word & ~(1 << 31))), isBlob: word >> 31 == 1)
        }
    }
}
