// The header values of a table leaf that are needed to locate a cell, in the pool's record of its frame. So a lookup reads the row's cells
// directly and does not wait for the leaf's header.
//
// Invariant: a cached header equals the header of its frame's page. It is read inside an epoch, from a leaf that belongs to a version, and
// such a leaf never changes. It is cleared when the frame gets a new page or node, before a reader can find it.

internal import CSystem
import Synchronization

/// The first key and the shape of a leaf, and the set of its bitmaps that are not all zero.
struct CachedLeafHeader {
    let firstKey: UInt64
    /// Capacity (16 bits), count (16), key width (8), layout version (24); 0 if the header is not cached.
    let shape: UInt64
    /// Bit i is set if bitmap i is not all zero, for the first 16 bitmaps.
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

    /// Nil for a leaf whose layout version does not fit in 24 bits.
    init?(_ leaf: LeafView) {
        let page = leaf.page
        let version: UInt32 = page.load(24)
        guard version <= CachedLeafHeader.versionMax, page.capacity > 0 else { return nil }
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

    /// The slot of a key in a leaf of consecutive keys. Nil if the keys are not consecutive or the leaf lacks the key.
    @inline(__always)
    func slot(_ key: UInt64) -> Int? {
        guard keyWidth == 0, key &- firstKey < UInt64(count) else { return nil }
        return Int(truncatingIfNeeded: key &- firstKey)
    }
}

extension FramePool {
    /// The cached header of the leaf in a frame; nil if there is none. Must be called inside the epoch in which the frame was found.
    @inline(__always)
    func cachedHeader(_ frame: UInt32) -> CachedLeafHeader? {
        let info = unsafe infos + Int(frame)
        let shape = unsafe info.pointee.shape.load(ordering: .acquiring)
        guard shape != 0 else { return nil }
        return unsafe CachedLeafHeader(
            firstKey: info.pointee.firstKey.load(ordering: .relaxed), shape: shape,
            bitmaps: info.pointee.bitmaps.load(ordering: .relaxed))
    }

    fileprivate func keep(_ cachedHeader: CachedLeafHeader, of frame: UInt32) {
        let info = unsafe infos + Int(frame)
        unsafe info.pointee.firstKey.store(cachedHeader.firstKey, ordering: .relaxed)
        unsafe info.pointee.bitmaps.store(cachedHeader.bitmaps, ordering: .relaxed)
        unsafe info.pointee.shape.store(cachedHeader.shape, ordering: .releasing)
    }
}

extension LeafView {
    /// Caches the header of a leaf. The leaf must belong to a version, not to a running transaction, and must be found in the current epoch.
    @inline(never)
    func cacheHeader() {
        guard let cachedHeader = CachedLeafHeader(self) else { return }
        unsafe pool._withUnsafeGuaranteedRef { $0.keep(cachedHeader, of: frame) }
    }

    /// False if no row of the leaf is null in a column; true if some may be.
    @inline(__always)
    package func hasNulls(_ column: Int) -> Bool {
        let c = unsafe columns[column]
        return c.nullBitmap < 0 || c.nullBitmap >= 16 || bitmaps >> UInt16(truncatingIfNeeded: c.nullBitmap) & 1 != 0
    }

    /// Prefetches whole columns. `wanted` has a bit for each of the first 64 columns.
    func prefetch(_ wanted: UInt64) {
        let columnCount = unsafe layouts._withUnsafeGuaranteedRef { $0.columnCount }
        var rest = wanted
        while rest != 0, rest.trailingZeroBitCount < columnCount {
            let column = rest.trailingZeroBitCount
            let c = unsafe columns[column]
            rest &= rest &- 1
            guard !c.isAbsent else { continue }
            if hasNulls(column) { prefetch(bitmapsStart + bitmapBytes * Int(c.nullBitmap), bitmapBytes) }
            if c.valueBitmap >= 0 {
                prefetch(bitmapsStart + bitmapBytes * Int(c.valueBitmap), bitmapBytes)
            } else {
                prefetch(columnsStart + capacity * Int(c.fixedBefore), count * Int(c.width))
            }
        }
    }

    private func prefetch(_ start: Int, _ length: Int) {
        var offset = start & ~63
        while offset < start + length {
            unsafe prefetch_line(page.base + offset)
            offset += 64
        }
    }
}
