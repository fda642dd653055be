// Nodes with byte keys: the leaves of an index, and the inner nodes of both kinds of tree.
//
//   header | heads u64 × capacity | links 32 B × capacity (inner) | slots 6 B × capacity | … | heap | prefix
//
// A key is stored without the prefix that all keys of the node share. Its first eight bytes after the prefix are a
// big-endian number in `heads` (padded with zeros). Its other bytes, the tail, are in the heap; in a leaf the value
// follows them. A slot is u16 offset, u16 length of the key after the prefix, u16 length of the value (bit 15: a blob
// reference). A link is the 24-byte reference of a child, a u32 hint (the frame in which the child was last found;
// 0 on disk) and four zero bytes. The first key of an inner node is not used: all keys below the second key belong under the first link.
//
// Invariant: keys ascend strictly. A search compares tails only for keys with equal heads.

import Glibc
import Synchronization

/// A view of a slotted page. It copies nothing.
struct SlottedNode {
    let page: Page
    let isInner: Bool
    /// The offset of the slots. It changes only when the node is rebuilt.
    private let slotsStart: Int

    @inline(__always)
    init(_ page: Page) {
        self.page = page
        isInner = page.kind == NodeKind.inner.rawValue
        slotsStart = Page.headerSize + (isInner ? 8 + SlottedNode.linkSize : 8) * page.capacity
    }

    static let linkSize = 32
    static let hintOffset = 24
    static let slotSize = 6
    static let blobFlag: UInt16 = 0x8000

    var count: Int { page.count }
    private var linksStart: Int { Page.headerSize + 8 * page.capacity }
    var arraysEnd: Int { slotsStart + SlottedNode.slotSize * page.capacity }
    private static func entrySize(inner: Bool) -> Int { 8 + slotSize + (inner ? linkSize : 0) }

    /// Formats an empty node.
    static func create(
        in page: Page, inner: Bool, level: Int, capacity: Int, limit: Int, prefix: Bytes = .none
    ) -> SlottedNode {
        assert(inner == (level > 0) && level < NodeCheck.levelMax, "Leaves are at the bottom of a tree.")
        page.format(inner ? .inner : .indexLeaf, level: level, capacity: capacity, limit: limit)
        page.prefixLength = prefix.count
        let start = page.pushHeap(prefix.count)
        page.copy(prefix, to: start)
        assert(SlottedNode(page).gap >= 0, "The arrays of an empty node leave room for its prefix.")
        return SlottedNode(page)
    }

    // MARK: Entries

    var prefix: Bytes { page.bytes(page.limit - page.prefixLength, page.prefixLength) }
    func head(_ i: Int) -> UInt64 { page.load(Page.headerSize + 8 * i) }
    func slot(_ i: Int) -> Int { slotsStart + SlottedNode.slotSize * i }
    func cell(_ i: Int) -> Int { Int(page.load(slot(i), as: UInt16.self)) }
    /// The length of the key after the prefix.
    func restLength(_ i: Int) -> Int { Int(page.load(slot(i) + 2, as: UInt16.self)) }
    func tailLength(_ i: Int) -> Int { max(restLength(i) - 8, 0) }
    func tail(_ i: Int) -> Bytes { page.bytes(cell(i), tailLength(i)) }
    func valueWord(_ i: Int) -> UInt16 { page.load(slot(i) + 4) }
    func isBlob(_ i: Int) -> Bool { valueWord(i) & SlottedNode.blobFlag != 0 }
    func valueLength(_ i: Int) -> Int { Int(valueWord(i) & ~SlottedNode.blobFlag) }
    func value(_ i: Int) -> Bytes { page.bytes(cell(i) + tailLength(i), valueLength(i)) }
    func valueOffset(_ i: Int) -> Int { cell(i) + tailLength(i) }
    func keyLength(_ i: Int) -> Int { page.prefixLength + restLength(i) }

    /// Loads the whole node into the processor's cache, before its entries are read in order.
    func touchAll() {
        page.touch(0, slotsStart + SlottedNode.slotSize * count)
        page.touch(page.heapStart, page.limit)
    }

    /// Calls `body` with the key and the index of each entry in a range, in order or backwards, until it returns false. Returns false in that
    /// case.
    ///
    /// All keys use one buffer: the shared prefix is written to it once, the rest for each entry.
    func forEach(
        _ range: Range<Int>, reversed: Bool, _ body: (Bytes, Int) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        let prefixLength = page.prefixLength
        let capacity = StoreLimits.keyLengthMax + 8
        return try unsafe withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) {
            (buffer) throws(EngineError) -> Bool in
            let key = buffer.baseAddress!
            unsafe memcpy(key, prefix.base, prefixLength)
            for n in 0..<range.count {
                let i = reversed ? range.upperBound &- 1 &- n : range.lowerBound &+ n
                let rest = restLength(i)
                guard prefixLength &+ rest <= StoreLimits.keyLengthMax else { throw SlottedNode.overlong(page) }
                unsafe key.storeBytes(of: head(i).bigEndian, toByteOffset: prefixLength, as: UInt64.self)
                if rest == 16 {
                    unsafe key.storeBytes(of: page.load(cell(i)), toByteOffset: prefixLength &+ 8, as: UInt64.self)
                } else if rest > 8 {
                    unsafe memcpy(key + prefixLength + 8, tail(i).base, rest &- 8)
                }
                guard try body(unsafe Bytes(key, prefixLength &+ rest), i) else { return false }
            }
            return true
        }
    }

    @inline(never)
    private static func overlong(_ page: Page) -> EngineError {
        EngineError(.damaged, "A page of \(page.count) entries holds a key longer than keys can be.")
    }

    func key(_ i: Int) -> [UInt8] {
        var key = prefix.array
        let rest = restLength(i)
        unsafe withUnsafeBytes(of: head(i).bigEndian) { unsafe key.append(contentsOf: $0.prefix(rest)) }
        unsafe key.append(contentsOf: tail(i).buffer)
        return key
    }

    /// The key's last eight bytes as a big-endian number. The key must have at least eight bytes.
    @inline(__always)
    func keySuffix(_ i: Int) -> UInt64 {
        let rest = restLength(i)
        if rest >= 16 { return UInt64(bigEndian: page.load(cell(i) + rest - 16)) }
        if rest >= 8 {
            let start = cell(i)
            // Eight bytes are loaded at once, unless the page ends before them.
            guard rest > 8, start + 8 <= page.limit else { return joined(head(i), page.bytes(start, rest - 8)) }
            let tail = UInt64(bigEndian: page.load(start)) >> UInt64(128 - 8 * rest)
            return head(i) << UInt64(8 * rest - 64) | tail
        }
        let start = joined(0, page.bytes(page.limit - (8 - rest), 8 - rest))
        return start << UInt64(8 * rest) | head(i) >> UInt64(64 - 8 * rest)
    }

    /// Appends bytes to a big-endian number.
    @inline(__always)
    private func joined(_ number: UInt64, _ bytes: Bytes) -> UInt64 {
        var number = number
        for offset in 0..<bytes.count { number = number << 8 | UInt64(bytes.load(offset, as: UInt8.self)) }
        return number
    }

    /// True if key `i` is greater than the preceding key.
    func isAscending(_ i: Int) -> Bool {
        if head(i - 1) != head(i) { return head(i - 1) < head(i) }
        if restLength(i - 1) > 8, restLength(i) > 8 { return tail(i - 1).compare(tail(i)) < 0 }
        return restLength(i - 1) < restLength(i)
    }

    /// A description of the fault if an entry's bytes are outside the heap; otherwise nil.
    func cellFault(_ i: Int) -> String? {
        let start = cell(i)
        let length = tailLength(i) + valueLength(i)
        guard start + length <= page.limit, length == 0 || start >= page.heapStart else {
            return "entry \(i) lies outside the heap"
        }
        return nil
    }

    // MARK: Links (inner nodes)

    private func link(_ i: Int) -> Int { linksStart + SlottedNode.linkSize * i }
    func addressCell(_ i: Int) -> UnsafeMutablePointer<Atomic<UInt64>> { unsafe page.atomic64(link(i)) }
    func hintCell(_ i: Int) -> UnsafeMutablePointer<Atomic<UInt32>> { unsafe page.atomic32(link(i) + SlottedNode.hintOffset) }
    func childCount(_ i: Int) -> UInt64 { page.load(link(i) + 16) }

    func child(_ i: Int) -> PageReference {
        let address = unsafe addressCell(i).pointee.load(ordering: .acquiring)
        return PageReference(address: address, stamp: page.load(link(i) + 8), count: childCount(i))
    }

    /// Sets the child of entry `i`. Called only for nodes that the running transaction made.
    func setChild(_ i: Int, _ reference: PageReference, hint: UInt32 = 0) {
        assert(isInner && i >= 0 && i < count, "An inner node has a link for each entry.")
        page.store(reference.stamp, at: link(i) + 8)
        page.store(reference.count, at: link(i) + 16)
        unsafe addressCell(i).pointee.store(reference.address, ordering: .releasing)
        unsafe hintCell(i).pointee.store(hint, ordering: .relaxed)
    }

    /// Zeroes the unused bytes of links, so that equal nodes have equal bytes on disk.
    func clearPadding() {
        for i in 0..<count { page.store(UInt32(0), at: link(i) + 28) }
    }

    func addToChildCount(_ i: Int, _ delta: Int) {
        assert(isInner && i < count, "An inner node has a link for each entry.")
        page.store(childCount(i) &+ UInt64(bitPattern: Int64(delta)), at: link(i) + 16)
    }

    /// Changes the reference of a child that a checkpoint has written from its frame to its disk address. Readers may read the link meanwhile.
    func setWritten(_ i: Int, address: UInt64, stamp: UInt64) {
        assert(isInner && i < count, "An inner node has a link for each entry.")
        page.store(stamp, at: link(i) + 8)
        unsafe addressCell(i).pointee.store(address, ordering: .releasing)
    }

    // MARK: Free space

    /// Bytes between the arrays and the heap.
    var gap: Int { page.heapStart - arraysEnd }

    /// The size of the node after packing.
    var usedBytes: Int {
        Page.headerSize + count * SlottedNode.entrySize(inner: isInner) + page.limit - page.heapStart - page.heapGarbage
    }

    // MARK: Change

    /// Inserts an entry at `i`. False, without a change, if the arrays or the heap have no free space for it.
    func insert(at i: Int, key: Bytes, value: Bytes, isBlob: Bool = false) -> Bool {
        let rest = key.dropFirst(page.prefixLength)
        let tail = max(rest.count - 8, 0)
        guard count < page.capacity, gap >= tail + value.count else { return false }
        let n = count
        assert(i >= 0 && i <= n, "An entry is inserted between others, or at the end.")
        assert(isInner || sharesPrefix(key), "The keys of a leaf share its prefix.")
        page.move(from: Page.headerSize + 8 * i, to: Page.headerSize + 8 * (i + 1), count: 8 * (n - i))
        if isInner { page.move(from: link(i), to: link(i + 1), count: SlottedNode.linkSize * (n - i)) }
        page.move(from: slot(i), to: slot(i + 1), count: SlottedNode.slotSize * (n - i))
        page.count = n + 1
        let start = page.pushHeap(tail + value.count)
        page.store(rest.head, at: Page.headerSize + 8 * i)
        page.store(UInt16(start), at: slot(i))
        page.store(UInt16(rest.count), at: slot(i) + 2)
        page.store(UInt16(value.count) | (isBlob ? SlottedNode.blobFlag : 0), at: slot(i) + 4)
        if tail > 0 { page.copy(rest.dropFirst(8), to: start) }
        page.copy(value, to: start + tail)
        assertOrder(around: i)
        assert(gap >= 0, "The arrays and the heap of a node do not overlap.")
        return true
    }

    /// Only of leaves: the keys of an inner node repeat those of other pages, which may be damaged.
    private func assertOrder(around i: Int) {
        assert(isInner || i == 0 || isAscending(i), "A key is above the one before.")
        assert(isInner || i + 1 >= count || isAscending(i + 1), "A key is below the next one.")
    }

    /// Replaces a value in place. False, without a change, if the new value has another length.
    func replaceValue(at i: Int, _ value: Bytes, isBlob: Bool = false) -> Bool {
        assert(i >= 0 && i < count, "A node has the entry whose value is replaced.")
        guard valueLength(i) == value.count else { return false }
        page.store(UInt16(value.count) | (isBlob ? SlottedNode.blobFlag : 0), at: slot(i) + 4)
        page.copy(value, to: cell(i) + tailLength(i))
        return true
    }

    func remove(at i: Int) { remove(i..<i + 1) }

    func remove(_ range: Range<Int>) {
        let n = count
        assert(range.lowerBound >= 0 && range.upperBound <= n, "A node has the entries that are removed.")
        for i in range { page.heapGarbage += tailLength(i) + valueLength(i) }
        assert(page.heapGarbage <= page.limit - page.heapStart, "Dead bytes lie in the heap.")
        let (first, end) = (range.lowerBound, range.upperBound)
        page.move(from: Page.headerSize + 8 * end, to: Page.headerSize + 8 * first, count: 8 * (n - end))
        if isInner { page.move(from: link(end), to: link(first), count: SlottedNode.linkSize * (n - end)) }
        page.move(from: slot(end), to: slot(first), count: SlottedNode.slotSize * (n - end))
        page.count = n - range.count
    }
}
