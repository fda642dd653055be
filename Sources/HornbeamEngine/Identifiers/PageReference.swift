// The reference from one page to another: 24 bytes with the page's address, its check, and the number of entries below it. For a page
// that is not on disk yet, the first word names a frame of the pool instead.

/// The address and the check of a page, with the number of entries in it and below it.
@usableFromInline
package struct PageReference: Hashable, Sendable, BitwiseCopyable {
    /// On disk: file number (high 32 bits, below 2³¹) and offset / 8 (low 32). In memory: bit 63 and a frame number.
    @usableFromInline package var address: UInt64
    /// Record bytes / 8 (bits 0–15), flags (16–31), high half of the page's check (32–63).
    @usableFromInline package var stamp: UInt64
    /// The number of entries in the page and below it; for a blob, its length in bytes.
    @usableFromInline package var count: UInt64

    @usableFromInline package init(address: UInt64, stamp: UInt64, count: UInt64) {
        self.address = address
        self.stamp = stamp
        self.count = count
    }

    /// The root of an empty tree.
    @usableFromInline package static let empty = PageReference(address: 0, stamp: 0, count: 0)
}
