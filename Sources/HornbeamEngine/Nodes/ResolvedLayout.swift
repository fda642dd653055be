// A column layout with precomputed offsets in its leaves.
//
// The arrays of a table leaf of capacity c and key width k. A bitmap has w = ⌈c / 64⌉ words:
//
//   header 32 | keys ⌈c·k / 8⌉·8 | bitmaps 8w each | columns, widest first, c cells each | … | heap
//
// Each column has a null bitmap (bit set = null). A bit column has a second bitmap for its values. A variable column has cells of u16
// offset, u16 length (bit 15: the heap contains a 24-byte blob reference). Because the widest columns come first, every cell is aligned, and
// the offset of a column is linear in the capacity.

internal import Synchronization

/// The position of a column in the leaves of its layout.
@usableFromInline
package struct PhysicalColumn: BitwiseCopyable, Sendable {
    @usableFromInline var width: Int32
    /// Bytes of a row in the columns before this one.
    @usableFromInline var fixedBefore: Int32
    @usableFromInline var nullBitmap: Int32
    /// The bitmap of a bit column's values, or -1.
    @usableFromInline var valueBitmap: Int32
    @usableFromInline var kind: UInt8
    /// True if leaves of this layout lack the column, so that every row has the fill value.
    @usableFromInline var isAbsent: Bool

    /// False in the partial leaves of a scan that does not read the column (`ScannedColumns`).
    @inlinable var isUnpacked: Bool { fixedBefore >= 0 }
}

/// One version of a table's layout, with the positions of its columns.
@safe final class ResolvedLayout: Sendable {
    let version: UInt32
    let columns: [Column]
    /// Bytes of a row in the arrays of a leaf, without bitmaps.
    let fixedPerRow: Int
    let bitmapCount: Int
    /// The columns of this version, in its own order.
    nonisolated(unsafe) let physical: UnsafeMutablePointer<PhysicalColumn>  // fixed at init
    let variableColumns: [Int]

    init(_ layout: ColumnLayout) {
        version = layout.version
        columns = layout.columns
        unsafe physical = .allocate(capacity: max(layout.columns.count, 1))
        var bitmaps: Int32 = 0
        for (i, column) in layout.columns.enumerated() {
            let isBit = column.kind == .bit
            unsafe physical[i] = PhysicalColumn(
                width: Int32(column.kind == .bytes ? 4 : column.kind.width), fixedBefore: 0, nullBitmap: bitmaps,
                valueBitmap: isBit ? bitmaps + 1 : -1, kind: column.kind.rawValue, isAbsent: false)
            bitmaps += isBit ? 2 : 1
        }
        bitmapCount = Int(bitmaps)
        var before: Int32 = 0
        for width in [16, 8, 4, 2, 1] as [Int32] {
            for i in layout.columns.indices where unsafe physical[i].width == width {
                unsafe physical[i].fixedBefore = before
                before += width
            }
        }
        fixedPerRow = Int(before)
        variableColumns = layout.columns.indices.filter { layout.columns[$0].kind == .bytes }
    }

    deinit { unsafe physical.deallocate() }

    /// The offset of the end of the arrays in a leaf of a capacity and key width.
    func arrayBytes(capacity: Int, keyWidth: Int) -> Int {
        TableLeaf.arraysStart(capacity: capacity, keyWidth: keyWidth)
            + (capacity + 63) / 64 * 8 * bitmapCount + capacity * fixedPerRow
    }
}

extension ResolvedLayout {
    /// The variable bytes of a row above which its largest cells become blobs: a row takes at most a quarter of a page.
    func variableBytesMax(pageSize: Int) -> Int { pageSize / 4 - fixedPerRow - bitmapCount / 8 }
}

/// All layouts that leaves of a table may still have, with their columns in the order of the current layout.
@safe final class TableLayouts: Sendable {
    /// Oldest first; the last is current.
    let all: [ColumnLayout]
    let current: ResolvedLayout
    let fills: [[UInt8]?]
    /// The number of columns of the current layout.
    let columnCount: Int
    /// A number that is unique among all objects of this type in the process. A frame records the layouts with which its leaf was verified.
    let serial: UInt64
    private static let serials = Atomic<UInt64>(1)
    private let older: [UInt32: OlderLayout]
    private let currentVersion: UInt32
    private let currentBitmapCount: Int
    nonisolated(unsafe) private let currentColumns: UnsafeMutablePointer<PhysicalColumn>  // fixed; `current` owns it

    /// An older version of the layout: itself, and the positions of the current layout's columns in its leaves.
    @safe final class OlderLayout: Sendable {
        let own: ResolvedLayout
        nonisolated(unsafe) let physical: UnsafeMutablePointer<PhysicalColumn>  // fixed at init

        init(_ own: ResolvedLayout, seenAs columns: [Column]) {
            self.own = own
            unsafe physical = .allocate(capacity: max(columns.count, 1))
            for (i, column) in columns.enumerated() {
                if let there = own.columns.firstIndex(where: { $0.id == column.id && $0.kind == column.kind }) {
                    unsafe physical[i] = own.physical[there]
                } else {
                    unsafe physical[i] = PhysicalColumn(
                        width: 0, fixedBefore: 0, nullBitmap: -1, valueBitmap: -1, kind: column.kind.rawValue,
                        isAbsent: true)
                }
            }
        }

        deinit { unsafe physical.deallocate() }
    }

    init(_ all: [ColumnLayout]) {
        self.all = all
        let newest = all[all.count - 1]
        current = ResolvedLayout(newest)
        currentVersion = newest.version
        currentBitmapCount = current.bitmapCount
        unsafe currentColumns = unsafe current.physical
        fills = newest.columns.map(\.fill)
        columnCount = newest.columns.count
        serial = TableLayouts.serials.wrappingAdd(1, ordering: .relaxed).oldValue
        older = Dictionary(
            uniqueKeysWithValues: all.dropLast().map {
                ($0.version, OlderLayout(ResolvedLayout($0), seenAs: newest.columns))
            })
    }

    /// The largest number of bytes of the variable cells of a row in a leaf. Larger values become blobs.
    func variableBytesMax(pageSize: Int) -> Int { current.variableBytesMax(pageSize: pageSize) }

    /// Whether a row has the current layout. A positive result is cached in the row.
    func hasCurrentLayout(_ row: RowBuffer) -> Bool {
        if row.layoutsFoundEqual === self { return true }
        guard row.layout == all[all.count - 1] else { return false }
        row.layoutsFoundEqual = self
        return true
    }

    /// The positions of the current columns in leaves of a layout version, and the number of bitmaps of these leaves; nil for an unknown version.
    /// It changes no reference counts, which would slow readers down.
    @inline(__always)
    func columns(of version: UInt32) -> (columns: UnsafeMutablePointer<PhysicalColumn>, bitmapCount: Int)? {
        if version == currentVersion { return unsafe (currentColumns, currentBitmapCount) }
        return unsafe olderColumns(of: version)
    }

    @inline(never)
    private func olderColumns(of version: UInt32) -> (columns: UnsafeMutablePointer<PhysicalColumn>, bitmapCount: Int)? {
        unsafe older[version].map { unsafe ($0.physical, $0.own.bitmapCount) }
    }

    /// The layout of a version, and the positions of the current columns in its leaves; nil for an unknown version.
    func resolve(_ version: UInt32) -> (own: ResolvedLayout, columns: UnsafeMutablePointer<PhysicalColumn>)? {
        if version == current.version { return unsafe (current, current.physical) }
        guard let mapped = older[version] else { return nil }
        return unsafe (mapped.own, mapped.physical)
    }

    /// A description of the first fault of a new layout; nil if it has none.
    static func fault(in layout: ColumnLayout, pageSize: Int) -> String? {
        if Set(layout.columns.map(\.id)).count != layout.columns.count { return "two columns have the same identifier" }
        for column in layout.columns {
            guard let fill = column.fill else { continue }
            let width = column.kind == .bit ? 1 : column.kind.width
            if column.kind != .bytes, fill.count != width {
                return "the fill value of column \(column.id) has \(fill.count) bytes instead of \(width)"
            }
        }
        let resolved = ResolvedLayout(layout)
        let spilled = resolved.variableColumns.count * BlobCell.size
        let fills = layout.columns.reduce(0) { $0 + ($1.kind == .bytes ? $1.fill?.count ?? 0 : 0) }
        if resolved.arrayBytes(capacity: 1, keyWidth: 8) + fills + pageSize / 4 > pageSize / 2 {
            return "a row of it with its fill values may not fit a page"
        }
        if resolved.fixedPerRow + resolved.bitmapCount / 8 + 16 + spilled > pageSize / 4 {
            return "its fixed part takes \(resolved.fixedPerRow) bytes a row; the limit is a quarter of a page"
        }
        return nil
    }
}

/// The columns that a scan unpacks. In the positions of the other columns, the cells are outside the page, so that debug builds stop at a read of them.
/// Bitmaps are always unpacked.
@safe final class ScannedColumns: Sendable {
    let layout: ResolvedLayout
    /// The places of the unpacked columns in the fixed bytes of a row, in ascending order.
    let bytesOfRow: [Range<Int>]
    /// All columns of the layout.
    nonisolated(unsafe) let physical: UnsafeMutablePointer<PhysicalColumn>  // fixed at init

    /// - Parameter columns: A bit for each column, of the first 64. Texts of variable columns are not unpacked.
    init(_ columns: UInt64, of layout: ResolvedLayout) {
        self.layout = layout
        var bytesOfRow: [Range<Int>] = []
        unsafe physical = .allocate(capacity: max(layout.columns.count, 1))
        for i in layout.columns.indices {
            unsafe physical[i] = unsafe layout.physical[i]
            let isWanted = i < 64 && columns >> UInt64(i) & 1 == 1 && layout.columns[i].kind != .bytes
            guard unsafe physical[i].width > 0 else { continue }
            if isWanted {
                let (start, width) = unsafe (Int(physical[i].fixedBefore), Int(physical[i].width))
                bytesOfRow.append(start..<start + width)
            } else {
                unsafe physical[i].fixedBefore = .min
            }
        }
        self.bytesOfRow = bytesOfRow.sorted { $0.lowerBound < $1.lowerBound }
    }

    deinit { unsafe physical.deallocate() }
}

/// The cell of a value that is stored as a blob: it contains the blob's reference.
enum BlobCell {
    static let size = 24
    static let flag: UInt16 = 0x8000
}
