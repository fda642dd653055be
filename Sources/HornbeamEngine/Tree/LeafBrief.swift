// What of a table's leaf must be known before a cell of it can be found, kept beside the frame: whoever looks a row up
// goes straight to its cells instead of waiting for the leaf's header first.
//
// What holds: a brief says what the page of its frame says. It is taken from a leaf that a version shows, which never changes,
// inside an epoch; it is forgotten when the frame is taken for another page, which no reader has found by then.

internal import CSystem
import Synchronization

/// The shape of a leaf, its first key, and which of its bitmaps are not all zero.
struct LeafBrief {
    let firstKey: UInt64
    /// Capacity (16 bits), count (16), key width (8), layout version (24); 0 stands for "not known".
    let shape: UInt64
    /// Bit i set = bitmap i has a bit set, for the first 16 bitmaps.
    let bitmaps: UInt16

    static let allBitmaps = UInt16.max
    private static let versionMax: UInt32 = 1 << 24 - 1

    var capacity: Int { Int(shape & 0xFFFF) }
    var count: Int { Int(shape >> 16 & 0xFFFF) }
    var keyWidth: Int { Int(shape >> 32 & 0xFF) }
    var version: UInt32 { UInt32(truncatingIfNeeded: shape >> 40) }

    @inline(__always)
    init(firstKey: UInt64, shape: UInt64, bitmaps: UInt16) {
        self.firstKey = firstKey
        self.shape = shape
        self.bitmaps = bitmaps
    }

    /// Nil for a leaf whose shape takes more bits than there are.
    init?(_ leaf: LeafView) {
        let page = leaf.page
        let version: UInt32 = page.load(24)
        guard version <= LeafBrief.versionMax, page.capacity > 0 else { return nil }
        let bitmapCount = (leaf.columnsStart - leaf.bitmapsStart) / leaf.bitmapBytes
        firstKey = page.load(16)
        shape = UInt64(page.capacity) | UInt64(page.count) << 16 | UInt64(page.load(28, as: UInt8.self)) << 32 | UInt64(version) << 40
        var bitmaps: UInt16 = 0
        for bitmap in 0..<min(bitmapCount, 16) {
            let start = leaf.bitmapsStart + leaf.bitmapBytes * bitmap
            for word in 0..<leaf.bitmapBytes / 8 where page.load(start + word * 8, as: UInt64.self) != 0 {
                bitmaps |= 1 << UInt16(bitmap)
            }
        }
        self.bitmaps = bitmaps
    }

    /// The slot of a key where keys are consecutive; nil where the leaf has to be searched.
    @inline(__always)
    func slot(_ key: UInt64) -> Int? {
        guard keyWidth == 0, key &- firstKey < UInt64(count) else { return nil }
        return Int(truncatingIfNeeded: key &- firstKey)
    }
}

extension FramePool {
    /// What is known of the leaf in a frame. Inside an epoch in which the frame was found.
    @inline(__always)
    func brief(_ frame: UInt32) -> LeafBrief? {
        let info = unsafe infos + Int(frame)
        let shape = unsafe info.pointee.shape.load(ordering: .acquiring)
        guard shape != 0 else { return nil }
        return unsafe LeafBrief(
            firstKey: info.pointee.firstKey.load(ordering: .relaxed), shape: shape,
            bitmaps: info.pointee.bitmaps.load(ordering: .relaxed))
    }

    fileprivate func keep(_ brief: LeafBrief, of frame: UInt32) {
        let info = unsafe infos + Int(frame)
        unsafe info.pointee.firstKey.store(brief.firstKey, ordering: .relaxed)
        unsafe info.pointee.bitmaps.store(brief.bitmaps, ordering: .relaxed)
        unsafe info.pointee.shape.store(brief.shape, ordering: .releasing)
    }
}

extension LeafView {
    /// Keeps what the leaf says of itself. For a leaf of a version, not of a writer, inside the epoch in which it was found.
    @inline(never)
    func keepBrief() {
        guard let brief = LeafBrief(self) else { return }
        unsafe pool._withUnsafeGuaranteedRef { $0.keep(brief, of: frame) }
    }

    /// True when a row may be null in a column; false is certain.
    @inline(__always)
    package func hasNulls(_ column: Int) -> Bool {
        let c = unsafe columns[column]
        return c.nullBitmap < 0 || c.nullBitmap >= 16 || bitmaps >> UInt16(truncatingIfNeeded: c.nullBitmap) & 1 != 0
    }

    /// Has whole columns fetched into the cache.
    func fetch(_ wanted: UInt64) {
        let columnCount = unsafe layouts._withUnsafeGuaranteedRef { $0.columnCount }
        var rest = wanted
        while rest != 0, rest.trailingZeroBitCount < columnCount {
            let column = rest.trailingZeroBitCount
            let c = unsafe columns[column]
            rest &= rest &- 1
            guard !c.isAbsent else { continue }
            if hasNulls(column) { fetch(bitmapsStart + bitmapBytes * Int(c.nullBitmap), bitmapBytes) }
            if c.valueBitmap >= 0 {
                fetch(bitmapsStart + bitmapBytes * Int(c.valueBitmap), bitmapBytes)
            } else {
                fetch(columnsStart + capacity * Int(c.fixedBefore), count * Int(c.width))
            }
        }
    }

    private func fetch(_ start: Int, _ length: Int) {
        var offset = start & ~63
        while offset < start + length {
            unsafe fetch_line(page.base + offset)
            offset += 64
        }
    }
}
