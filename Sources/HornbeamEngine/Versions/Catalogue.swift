// Encodes and decodes a version as bytes. A checkpoint writes them so that the store can be opened again.
//
// Little-endian: u64 transaction | u64 next object key | u32 next tree | u32 number of trees. For each tree: u32 id |
// u16 name length, name | 24-byte root | u16 number of layouts. For each layout: u32 version | u16 number of columns.
// For each column: u32 id | u8 kind | u8 has fill value | u32 fill length, fill.

enum Catalogue {
    static func encode(_ version: StoreVersion, roots: [PageReference]) -> [UInt8] {
        assert(roots.count == version.trees.count, "Every tree has a root.")
        assert(roots.allSatisfy { !$0.isInMemory }, "A catalogue names pages on disk.")
        var bytes: [UInt8] = []
        bytes.appendInteger(version.number.rawValue)
        bytes.appendInteger(version.nextObjectKey)
        bytes.appendInteger(version.nextTree)
        bytes.appendInteger(UInt32(version.trees.count))
        for (tree, root) in zip(version.trees, roots) {
            bytes.appendInteger(tree.id.rawValue)
            bytes.appendText(tree.name)
            bytes.appendReference(root)
            let layouts = tree.layouts?.all ?? []
            bytes.appendInteger(UInt16(layouts.count))
            for layout in layouts { append(layout, to: &bytes) }
        }
        return bytes
    }

    static func append(_ layout: ColumnLayout, to bytes: inout [UInt8]) {
        bytes.appendInteger(layout.version)
        bytes.appendInteger(UInt16(layout.columns.count))
        for column in layout.columns {
            bytes.appendInteger(column.id.rawValue)
            bytes.append(column.kind.rawValue)
            bytes.append(column.fill == nil ? 0 : 1)
            bytes.appendInteger(UInt32(column.fill?.count ?? 0))
            bytes.append(contentsOf: column.fill ?? [])
        }
    }

    static func decode(_ bytes: [UInt8], pageSize: Int) throws(EngineError) -> StoreVersion {
        try bytes.withBorrowedBytes { raw throws(EngineError) in
            var reader = ByteReader(raw)
            let number = try reader.integer(UInt64.self)
            let nextObjectKey = try reader.integer(UInt64.self)
            let nextTree = try reader.integer(UInt32.self)
            guard number < StoreLimits.numberMax, nextObjectKey > 0, nextObjectKey < StoreLimits.numberMax, nextTree <= TreeID.max.rawValue else {
                throw EngineError(.damaged, "The catalogue's number of transactions, objects or trees is out of range.")
            }
            var trees: [TreeRecord] = []
            var names: [String: TreeID] = [:]
            for _ in 0..<(try reader.integer(UInt32.self)) {
                let tree = try decodeTree(&reader, pageSize: pageSize)
                guard trees.last.map({ $0.id < tree.id }) ?? true else {
                    throw EngineError(.damaged, "The catalogue lists tree \(tree.id) out of order.")
                }
                trees.append(tree)
                if tree.id != StoreVersion.valuesTree { names[tree.name] = tree.id }
            }
            linkInsertBuffers(&trees, names)
            guard reader.isAtEnd, trees.first?.id == StoreVersion.valuesTree else {
                throw EngineError(.damaged, "The catalogue has bytes after its trees, or lacks the tree of named values.")
            }
            guard trees.allSatisfy({ $0.id.rawValue < nextTree }) else {
                throw EngineError(.damaged, "The catalogue's next number of a tree, \(nextTree), is in use already.")
            }
            return StoreVersion(
                number: TransactionNumber(number), trees: trees, names: names, nextTree: nextTree,
                nextObjectKey: nextObjectKey)
        }
    }

    /// Links each index to its insert buffer, which is found by its name.
    private static func linkInsertBuffers(_ trees: inout [TreeRecord], _ names: [String: TreeID]) {
        for buffer in trees where buffer.layouts == nil && buffer.id != StoreVersion.valuesTree {
            guard let name = InsertBuffer.index(of: buffer.name), let id = names[name],
                let position = trees.firstIndex(where: { $0.id == id }), trees[position].layouts == nil
            else { continue }
            let index = trees[position]
            trees[position] = TreeRecord(id: id, name: index.name, root: index.root, layouts: nil, insertBuffer: buffer.id)
        }
    }

    private static func decodeTree(_ reader: inout ByteReader, pageSize: Int) throws(EngineError) -> TreeRecord {
        let id = TreeID(try reader.integer(UInt32.self))
        let name = try reader.text()
        let root = try reader.reference()
        guard !root.isInMemory, root.count <= NodeCheck.countMax, id <= TreeID.max else {
            throw EngineError(.damaged, "The root of tree \(id) names no page.")
        }
        var layouts: [ColumnLayout] = []
        for _ in 0..<(try reader.integer(UInt16.self)) {
            let layout = try decodeLayout(&reader, pageSize: pageSize)
            guard layouts.last.map({ $0.version < layout.version }) ?? true else {
                throw EngineError(.damaged, "The layouts of tree \(id) are out of order.")
            }
            layouts.append(layout)
        }
        return TreeRecord(id: id, name: name, root: root, layouts: layouts.isEmpty ? nil : TableLayouts(layouts))
    }

    static func decodeLayout(_ reader: inout ByteReader, pageSize: Int) throws(EngineError) -> ColumnLayout {
        let version = try reader.integer(UInt32.self)
        var columns: [Column] = []
        for _ in 0..<(try reader.integer(UInt16.self)) {
            let id = ColumnID(try reader.integer(UInt32.self))
            let rawKind = try reader.integer(UInt8.self)
            guard let kind = ColumnKind(rawValue: rawKind) else {
                throw EngineError(.damaged, "A layout names the column kind \(rawKind), which does not exist.")
            }
            let hasFill = try reader.integer(UInt8.self) == 1
            let fill = try reader.readBytes(Int(try reader.integer(UInt32.self))).array
            columns.append(Column(id: id, kind: kind, fill: hasFill ? fill : nil))
        }
        let layout = ColumnLayout(version: version, columns: columns)
        if let fault = TableLayouts.fault(in: layout, pageSize: pageSize) {
            throw EngineError(.damaged, "A layout is impossible: \(fault).")
        }
        return layout
    }
}
