// Nodes in their stored form: packed without free space, as segments, and compressed.

/// Packs nodes into memory of its own. Different threads may use different places at the same time. Safe: it owns its memory.
@safe final class NodePacker {
    private let pageSize: Int
    /// Two pages for each place: the packed node, and its stored form.
    private let memory: WriteBuffer

    /// - Parameter places: The number of nodes that are kept.
    init(pageSize: Int, places: Int) {
        self.pageSize = pageSize
        memory = WriteBuffer(bytes: 2 * pageSize * places)
    }

    /// Packs a node of a tree. The result is valid until the next call with the same place.
    ///
    /// - Parameters:
    ///   - children: The references of the children of an inner node.
    ///   - version: The number for the heading of the page.
    func pack(
        _ page: Page, tree: TreeID, _ layouts: TableLayouts?, children: [PageReference] = [], version: TransactionNumber, in place: Int
    ) throws(EngineError) -> PageAppender.EncodedPage {
        let start = 2 * place * pageSize
        let packed = unsafe Page(memory[start..<start + pageSize].baseAddress!)
        let parts = try pack(page, tree, layouts, children, into: packed)
        let heading = PageHeading(kind: PageKind(rawValue: page.kind)!, tree: tree, level: page.level, version: version)
        return unsafe PageAppender.encode(
            heading, UnsafeRawBufferPointer(start: packed.base, count: packed.limit), parts, into: memory[start + pageSize..<start + 2 * pageSize])
    }

    private func pack(
        _ page: Page, _ tree: TreeID, _ layouts: TableLayouts?, _ children: [PageReference], into target: Page
    ) throws(EngineError) -> [PagePart] {
        if page.kind == NodeKind.tableLeaf.rawValue {
            guard let own = unsafe layouts?.resolve(page.load(24))?.own else {
                throw EngineError(.damaged, "A leaf of table \(tree) names a layout that the table does not have.")
            }
            return TableLeaf(page: page, layout: own).pack(into: target).parts
        }
        return SlottedNode(page).pack(into: target, children: children).parts
    }
}

extension SlottedNode {
    /// Copies the node to a page without free space. In an inner node, sets the links to `children` and clears the hints.
    @discardableResult
    func pack(into page: Page, children: [PageReference]) -> SlottedNode {
        let target = SlottedNode.create(
            in: page, inner: isInner, level: self.page.level, capacity: count,
            limit: SlottedNode.measure(self, 0..<count, prefix: self.page.prefixLength), prefix: prefix)
        target.append(0..<count, of: self)
        guard isInner else { return target }
        for i in 0..<count { target.setChild(i, children[i]) }
        target.clearPadding()
        return target
    }
}

extension TableLeaf {
    /// Copies the leaf to a page without free space.
    @discardableResult
    func pack(into page: Page) -> TableLeaf {
        let limit = layout.arrayBytes(capacity: count, keyWidth: keyWidth) + heapBytes(0..<count)
        let target = TableLeaf.create(
            in: page, layout, capacity: count, keyWidth: keyWidth, firstKey: firstKey, limit: limit)
        target.append(0..<count, of: self, fills: [])
        return target
    }
}
