// Checks a page from disk before it is used: every offset in it must point to a permitted part of the page.
//
// After the check, readers use offsets without checking them. A malicious file may still contain wrong values, but a reader never reads
// outside the page. The columns of a table leaf depend on its layout. So `tableFault` checks them later, once, when the leaf is first read
// as part of its table.

import Synchronization

enum NodeCheck {
    /// The maximum number of entries of a tree: more than fit on a disk, and small enough that no sum of counts overflows.
    static let countMax: UInt64 = 1 << 40

    /// The maximum number of levels of a tree. It limits the depth of recursion.
    static let levelMax = 32

    /// A description of the first fault in a page of `bytes` bytes; nil if it has none. Clears the hints of links, which are valid only in
    /// memory.
    static func fault(in page: Page, bytes: Int) -> String? {
        guard bytes >= Page.headerSize, let kind = NodeKind(rawValue: page.kind) else { return "no such kind of node" }
        guard page.limit == bytes else { return "its length is \(bytes), its header says \(page.limit)" }
        guard page.count <= page.capacity, page.heapStart <= page.limit else { return "its counts exceed its size" }
        guard page.count > 0, page.heapGarbage == 0 else { return "it has no entries, or dead bytes" }
        switch kind {
        case .tableLeaf:
            let width = Int(page.load(28, as: UInt8.self))
            guard page.level == 0, [0, 2, 4, 8].contains(width) else { return "a bad key width" }
            return Page.headerSize + page.capacity * width <= page.heapStart ? nil : "its keys and its heap overlap"
        case .indexLeaf:
            return page.level == 0 ? slottedFault(page) : "a leaf above the bottom"
        case .inner:
            return page.level > 0 && page.level < levelMax ? slottedFault(page) : "an inner node at the bottom"
        }
    }

    private static func slottedFault(_ page: Page) -> String? {
        let isInner = page.kind == NodeKind.inner.rawValue
        let entry = 8 + SlottedNode.slotSize + (isInner ? SlottedNode.linkSize : 0)
        let arraysEnd = Page.headerSize + page.capacity * entry
        guard arraysEnd <= page.heapStart, page.prefixLength <= min(page.limit - page.heapStart, StoreLimits.keyLengthMax)
        else {
            return "its arrays and its heap overlap"
        }
        let node = SlottedNode(page)
        for i in 0..<page.count {
            if let fault = node.cellFault(i) { return fault }
            if isInner {
                let child = node.child(i)
                guard !child.isInMemory, !child.isEmpty, child.count > 0, child.count <= countMax else {
                    return "link \(i) names no page"
                }
                unsafe node.hintCell(i).pointee.store(0, ordering: .relaxed)
            } else if node.isBlob(i), node.valueLength(i) != BlobCell.size {
                return "entry \(i) has a blob reference of \(node.valueLength(i)) bytes"
            }
            if i > (isInner ? 1 : 0), !node.isAscending(i) { return "keys \(i - 1) and \(i) are out of order" }
        }
        return nil
    }

    /// A description of the first fault in a table leaf with its layout; nil if it has none.
    static func tableFault(_ page: Page, _ layout: ResolvedLayout) -> String? {
        if let fault = keysFault(page, layout) { return fault }
        let leaf = TableLeaf(page: page, layout: layout)
        var heap = page.heapGarbage
        for column in layout.variableColumns {
            for slot in 0..<page.count {
                if let fault = leaf.cellFault(column, slot) { return fault }
                heap += leaf.variableCell(column, slot).length
            }
        }
        return heap <= page.limit - page.heapStart ? nil : "its cells have more bytes than its heap"
    }

    /// The same for the sizes and the keys of the leaf. Reads no cells.
    static func keysFault(_ page: Page, _ layout: ResolvedLayout) -> String? {
        let width = Int(page.load(28, as: UInt8.self))
        guard layout.arrayBytes(capacity: page.capacity, keyWidth: width) <= page.heapStart else {
            return "its columns and its heap overlap"
        }
        let leaf = TableLeaf(page: page, layout: layout)
        for slot in 1..<max(page.count, 1) where leaf.key(slot - 1) >= leaf.key(slot) {
            return "rows \(slot - 1) and \(slot) are out of order"
        }
        return leaf.key(0) >= leaf.firstKey ? nil : "its first row is before its first key"
    }
}
