// A row on its way into a table: its cells, and the compact image of them that the log carries.
//
// Image: null bitmap ⌈n / 8⌉ B | cells of fixed columns in column order (bits as one byte) | for each variable
// column u32 length (bit 31: a 24-byte blob reference follows instead of the value), bytes.

import Glibc

/// A reusable row to be written to a table. Not thread-safe.
@safe package final class RowBuffer {
    let layout: ColumnLayout
    let kinds: [ColumnKind]
    private(set) var isNull: [Bool]
    /// Sixteen bytes a column.
    private let fixed: UnsafeMutableRawPointer
    private(set) var cells: [Cell]
    private var heap: UnsafeMutableRawPointer
    private var heapCapacity = 1024
    private var heapCount = 0
    /// Where the image is put together.
    private var image: UnsafeMutableRawPointer
    private var imageCapacity = 1024

    /// The table's layouts with which this row's layout was compared last and found current.
    var approval: TableLayouts?

    /// A variable cell: where its bytes lie in the heap.
    struct Cell {
        var start = 0
        var length = 0
        var isBlob = false
    }

    package init(layout: ColumnLayout) {
        self.layout = layout
        kinds = layout.columns.map(\.kind)
        isNull = Array(repeating: true, count: kinds.count)
        cells = Array(repeating: Cell(), count: kinds.count)
        unsafe fixed = .allocate(byteCount: max(16 * kinds.count, 16), alignment: 16)
        unsafe fixed.initializeMemory(as: UInt8.self, repeating: 0, count: max(16 * kinds.count, 16))
        unsafe heap = .allocate(byteCount: heapCapacity, alignment: 8)
        unsafe image = .allocate(byteCount: imageCapacity, alignment: 8)
    }

    deinit {
        unsafe fixed.deallocate()
        unsafe heap.deallocate()
        unsafe image.deallocate()
    }

    /// Makes every cell null.
    package func reset() {
        for i in isNull.indices { isNull[i] = true }
        heapCount = 0
    }

    package func setNull(_ column: Int) { isNull[column] = true }

    /// Sets a fixed cell; `T` has the column's width.
    @inline(__always)
    package func set<T: BitwiseCopyable>(_ column: Int, _ value: T) {
        precondition(
            MemoryLayout<T>.size == kinds[column].width, "The value's width is not that of column \(column).")
        unsafe fixed.storeBytes(of: value, toByteOffset: 16 * column, as: T.self)
        isNull[column] = false
    }

    package func setBit(_ column: Int, _ value: Bool) {
        precondition(kinds[column] == .bit, "Column \(column) is not a bit column.")
        unsafe fixed.storeBytes(of: value ? 1 : 0, toByteOffset: 16 * column, as: UInt8.self)
        isNull[column] = false
    }

    package func setBytes(_ column: Int, _ bytes: UnsafeRawBufferPointer) {
        unsafe setBytes(column, Bytes(bytes))
    }

    package func setString(_ column: Int, _ string: String) {
        var string = string
        string.withUTF8 { utf8 in unsafe setBytes(column, Bytes(UnsafeRawBufferPointer(utf8))) }
    }

    func setBytes(_ column: Int, _ bytes: Bytes, isBlob: Bool = false) {
        precondition(kinds[column] == .bytes, "Column \(column) does not hold variable bytes.")
        cells[column] = Cell(start: push(bytes), length: bytes.count, isBlob: isBlob)
        isNull[column] = false
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
        return heapCount - bytes.count
    }

    // MARK: What the trees read

    func bytes(_ column: Int) -> Bytes { unsafe Bytes(heap + cells[column].start, cells[column].length) }
    func fixedBytes(_ column: Int) -> Bytes { unsafe Bytes(fixed + 16 * column, 16) }
    func bit(_ column: Int) -> Bool { unsafe fixed.load(fromByteOffset: 16 * column, as: UInt8.self) != 0 }

    /// Bytes that the variable cells take in a leaf's heap.
    var variableBytes: Int {
        var sum = 0
        for i in kinds.indices where kinds[i] == .bytes && !isNull[i] { sum += cells[i].length }
        return sum
    }

    /// Moves the largest cells out until the variable part fits `limit`; gives back what `restore` needs, if it does.
    func spill(to limit: Int, _ store: (Bytes) throws(EngineError) -> PageReference) throws(EngineError) -> [Cell]? {
        guard variableBytes > limit else { return nil }
        let before = cells
        while variableBytes > limit {
            let largest = kinds.indices.filter { kinds[$0] == .bytes && !isNull[$0] && !cells[$0].isBlob }
                .max { cells[$0].length < cells[$1].length }
            guard let column = largest, cells[column].length > BlobCell.size else { break }
            var reference: PageReference
            do throws(EngineError) { reference = try store(bytes(column)) } catch {
                cells = before
                throw error
            }
            unsafe withUnsafeBytes(of: &reference) { raw in
                cells[column] = Cell(start: push(unsafe Bytes(raw)), length: BlobCell.size, isBlob: true)
            }
        }
        return before
    }

    func restore(_ cells: [Cell]) { self.cells = cells }

    // MARK: Image

    func appendImage(to log: inout [UInt8]) {
        let bound = (kinds.count + 7) / 8 + 20 * kinds.count + variableBytes
        if bound > imageCapacity {
            unsafe image.deallocate()
            imageCapacity = 2 * bound
            unsafe image = .allocate(byteCount: imageCapacity, alignment: 8)
        }
        unsafe log.append(contentsOf: UnsafeRawBufferPointer(start: image, count: writeImage(to: image)))
    }

    /// Writes the image and gives back its length.
    private func writeImage(to target: UnsafeMutableRawPointer) -> Int {
        let bits = (kinds.count + 7) / 8
        unsafe memset(target, 0, bits)
        var end = bits
        for i in kinds.indices {
            if isNull[i] {
                let byte = unsafe target.load(fromByteOffset: i >> 3, as: UInt8.self)
                unsafe target.storeBytes(of: byte | 1 << UInt8(i & 7), toByteOffset: i >> 3, as: UInt8.self)
            } else if kinds[i] != .bytes {
                let width = max(kinds[i].width, 1)
                unsafe memcpy(target + end, fixed + 16 * i, width)
                end += width
            }
        }
        for i in kinds.indices where !isNull[i] && kinds[i] == .bytes {
            let word = UInt32(cells[i].length) | (cells[i].isBlob ? 1 << 31 : 0)
            unsafe target.storeBytes(of: word.littleEndian, toByteOffset: end, as: UInt32.self)
            unsafe memcpy(target + end + 4, heap + cells[i].start, cells[i].length)
            end += 4 + cells[i].length
        }
        return end
    }

    /// Reads an image back; throws `damaged` when it does not fit the layout.
    func readImage(_ reader: inout ByteReader) throws(EngineError) {
        reset()
        let bits = try reader.take((kinds.count + 7) / 8)
        for i in kinds.indices { isNull[i] = bits.load(i >> 3, as: UInt8.self) >> UInt8(i & 7) & 1 == 1 }
        for i in kinds.indices where !isNull[i] && kinds[i] != .bytes {
            let cell = try reader.take(max(kinds[i].width, 1))
            unsafe memcpy(fixed + 16 * i, cell.base, cell.count)
        }
        for i in kinds.indices where !isNull[i] && kinds[i] == .bytes {
            let word = try reader.integer(UInt32.self)
            setBytes(i, try reader.take(Int(word & ~(1 << 31))), isBlob: word >> 31 == 1)
        }
    }
}

/// Reads bytes that may be damaged: every step is checked.
struct ByteReader {
    private(set) var rest: Bytes

    init(_ bytes: Bytes) { rest = bytes }

    var isAtEnd: Bool { rest.count == 0 }

    mutating func take(_ count: Int) throws(EngineError) -> Bytes {
        guard count >= 0, count <= rest.count else {
            throw EngineError(.damaged, "A record ends after \(rest.count) bytes where \(count) were expected.")
        }
        let taken = rest.prefix(count)
        rest = rest.dropFirst(count)
        return taken
    }

    mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(EngineError) -> T {
        T(littleEndian: try take(MemoryLayout<T>.size).load(0))
    }
}
