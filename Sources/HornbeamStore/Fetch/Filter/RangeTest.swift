internal import HornbeamEngine

/// Tests `low <= cell <= high` on a column of numbers, or its negation. Every comparison of a number with a constant has this form.
struct RangeTest: Sendable {
    enum Bounds: Sendable {
        case int(Int64, Int64)
        case double(Double, Double)
    }

    let column: Int
    let type: CellType
    /// Within the range of the column's type.
    let bounds: Bounds
    /// True for `!=`: cells outside the range match, NaN too.
    let isNegated: Bool
    /// The result for a null cell.
    let nullResult: Bool

    // MARK: One row

    func holds(_ row: RowView) -> Bool {
        if row.isNull(column) { return nullResult }
        switch bounds {
        case .int(let low, let high):
            let cell = integer(row)
            return (cell >= low && cell <= high) != isNegated
        case .double(let low, let high):
            let cell = type == .float ? Double(row.load(column, as: Float.self)) : row.load(column, as: Double.self)
            return (cell >= low && cell <= high) != isNegated
        }
    }

    private func integer(_ row: RowView) -> Int64 {
        switch type {
        case .int16: Int64(row.load(column, as: Int16.self))
        case .int32: Int64(row.load(column, as: Int32.self))
        default: row.load(column, as: Int64.self)
        }
    }

    // MARK: A whole leaf

    /// Narrows the selection to the matching rows.
    func narrow(_ selection: inout Selection, _ leaf: LeafView) {
        guard let cells = unsafe leaf.fixedCells(column) else { return narrowRows(&selection, leaf) }
        let nulls = unsafe leaf.hasNulls(column) ? leaf.nullBits(column) : nil
        switch (type, bounds) {
        case (.int16, .int(let low, let high)): unsafe narrow(&selection, cells, nulls, Int16(low), Int16(high))
        case (.int32, .int(let low, let high)): unsafe narrow(&selection, cells, nulls, Int32(low), Int32(high))
        case (.int64, .int(let low, let high)): unsafe narrow(&selection, cells, nulls, low, high)
        case (.float, .double(let low, let high)):
            unsafe narrow(&selection, cells, nulls, Float(roundedUp: low), Float(roundedDown: high))
        case (_, .double(let low, let high)): unsafe narrow(&selection, cells, nulls, low, high)
        default: narrowRows(&selection, leaf)
        }
    }

    /// For leaves of an older layout that lacks the column. Their rows return the column's fill value.
    private func narrowRows(_ selection: inout Selection, _ leaf: LeafView) {
        selection.filter { holds(leaf.row($0)) }
    }

    @inline(__always)
    private func narrow<T: Comparable & BitwiseCopyable>(
        _ selection: inout Selection, _ cells: UnsafeRawBufferPointer, _ nulls: UnsafeRawBufferPointer?, _ low: T,
        _ high: T
    ) {
        let flip: UInt64 = isNegated ? .max : 0
        let rows = cells.count / MemoryLayout<T>.size
        unsafe selection.words.withUnsafeMutableBufferPointer { words in
            for index in words.indices where unsafe words[index] != 0 {
                let start = index * 64
                let bits = unsafe Self.test(cells.baseAddress!, from: start, count: min(64, rows - start), low, high) ^ flip
                let nullWord = unsafe nulls.map { unsafe Selection.word($0, index) } ?? 0
                unsafe words[index] &= bits & ~nullWord | (nullResult ? nullWord : 0)
            }
        }
    }

    /// One bit per row, eight rows per step without a branch. The compiler vectorises this form, but not the SIMD types of the standard
    /// library.
    @inline(__always)
    private static func test<T: Comparable & BitwiseCopyable>(
        _ cells: UnsafeRawPointer, from start: Int, count: Int, _ low: T, _ high: T
    ) -> UInt64 {
        let width = MemoryLayout<T>.size
        let base = unsafe cells + start * width
        @inline(__always)
        func bit(_ row: Int) -> UInt64 {
            let cell = unsafe base.loadUnaligned(fromByteOffset: row * width, as: T.self)
            return (cell >= low ? 1 : 0) & (cell <= high ? 1 : 0)
        }
        var bits: UInt64 = 0
        var row = 0
        while row + 8 <= count {
            let first = bit(row) | bit(row + 1) << 1 | bit(row + 2) << 2 | bit(row + 3) << 3
            let second = bit(row + 4) | bit(row + 5) << 1 | bit(row + 6) << 2 | bit(row + 7) << 3
            bits |= (first | second << 4) << UInt64(row)
            row += 8
        }
        while row < count {
            bits |= bit(row) << UInt64(row)
            row += 1
        }
        return bits
    }
}

extension Selection {
    /// The 64 bits of a word of a bit column; bytes after its end read as 0.
    @inline(__always)
    static func word(_ bits: UnsafeRawBufferPointer, _ index: Int) -> UInt64 {
        let offset = index * 8
        if offset + 8 <= bits.count { return unsafe bits.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        var word: UInt64 = 0
        for byte in offset ..< max(offset, bits.count) {
            unsafe word |= UInt64(bits[byte]) << UInt64((byte - offset) * 8)
        }
        return word
    }
}

extension Float {
    /// The smallest float that is not below the number.
    init(roundedUp number: Double) {
        let nearest = Float(number)
        self = Double(nearest) < number ? nearest.nextUp : nearest
    }

    /// The largest float that is not above the number.
    init(roundedDown number: Double) {
        let nearest = Float(number)
        self = Double(nearest) > number ? nearest.nextDown : nearest
    }
}
