// The parts of packed leaves, for the writer of segments. Inner nodes are few, and have no parts.

extension SlottedNode {
    /// The parts of a packed leaf, in the order of their bytes; none for an inner node.
    var parts: [PagePart] {
        guard !isInner else { return [] }
        let prefix = page.prefixLength
        let end = page.limit - prefix
        return [
            .bytes(Page.headerSize), .numbers(count: count, width: 8), .slots(count: count, end: end),
            .entries(end - page.heapStart, count: count, slots: slot(0)), .bytes(prefix),
        ]
    }
}

extension TableLeaf {
    /// The parts of a packed leaf, in the order of their bytes. The heap has the texts of the last variable column first.
    var parts: [PagePart] {
        var parts: [PagePart] = [.bytes(Page.headerSize)]
        if keyWidth > 0 { parts.append(.numbers(count: count, width: keyWidth)) }
        parts.append(.bytes(bitmapsStart - Page.headerSize - keyWidth * count + bitmapBytes * layout.bitmapCount))
        var texts: [Int] = []
        var end = page.limit
        var ends = [Int](repeating: 0, count: layout.columns.count)
        for i in layout.variableColumns {
            ends[i] = end
            texts.append((0..<count).reduce(0) { $0 + variableCell(i, $1).length })
            end -= texts[texts.count - 1]
        }
        assert(end == page.heapStart, "The texts of a packed leaf fill its heap.")
        for width in [16, 8, 4, 2, 1] {
            for i in layout.columns.indices where column(i).valueBitmap < 0 && Int(column(i).width) == width {
                switch (layout.columns[i].kind, width) {
                case (.bytes, _): parts.append(.cells(count: count, end: ends[i]))
                case (_, 16): parts.append(.bytes(16 * count))
                default: parts.append(.numbers(count: count, width: width))
                }
            }
        }
        return parts + texts.reversed().map { .text($0) }
    }
}
