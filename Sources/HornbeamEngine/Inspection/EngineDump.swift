// Prints trees as text, for inspection and for bug reports.

extension Engine {
    /// Passes lines of text about every tree, or one tree, to `line`: one line for each inner node and, with `leaves`, for each leaf with its first
    /// and its last key. Reads every inner page.
    package func dump(tree name: String? = nil, leaves: Bool = false, to line: (String) -> Void) throws(EngineError) {
        let snapshot = try snapshot(isPinned: true)
        line("transaction \(snapshot.transaction), next object key \(snapshot.version.nextObjectKey)")
        for record in snapshot.version.trees where name == nil || record.name == name {
            let kind = record.layouts == nil ? "index" : "table"
            line("\(record.id) \(kind) \(record.name.isEmpty ? "(named values)" : record.name): \(record.root.count) entries")
            for layout in record.layouts?.all ?? [] {
                let columns = layout.columns.map { "\($0.id) \($0.kind)" }.joined(separator: ", ")
                line("  layout \(layout.version): \(columns)")
            }
            guard !record.root.isEmpty else { continue }
            let slot = snapshot.pool.epochs.enter()
            defer { snapshot.pool.epochs.leave(slot) }
            try dump(record.root, in: snapshot.pool, depth: 1, leaves: leaves, isTable: record.layouts != nil, line)
        }
    }

    private func dump(
        _ reference: PageReference, in pool: FramePool, level: Int? = nil, depth: Int, leaves: Bool, isTable: Bool,
        _ line: (String) -> Void
    ) throws(EngineError) {
        let page = pool.page(try pool.rootFrame(reference))
        // Levels decrease, so a malicious file cannot form a cycle.
        guard level == nil || page.level == level else {
            throw EngineError(.damaged, "The page at \(PageReference.describe(reference.address)) is of the wrong level.")
        }
        let indent = String(repeating: "  ", count: depth)
        let place = PageReference.describe(reference.address)
        let used = page.limit - Page.headerSize
        if page.level == 0 {
            if leaves { line("\(indent)leaf at \(place): \(page.count) entries, \(used) bytes, \(edges(page, isTable))") }
            return
        }
        line("\(indent)level \(page.level) at \(place): \(page.count) links, \(reference.count) entries below")
        guard leaves || page.level > 1 else { return }
        let node = SlottedNode(page)
        for i in 0..<node.count {
            try dump(node.child(i), in: pool, level: page.level - 1, depth: depth + 1, leaves: leaves, isTable: isTable, line)
        }
    }

    /// The first and the last key of a leaf.
    private func edges(_ page: Page, _ isTable: Bool) -> String {
        if isTable { return "keys \(TableLeaf.key(page, 0)) … \(TableLeaf.key(page, page.count - 1))" }
        let leaf = SlottedNode(page)
        return "keys \(hexadecimal(leaf.key(0))) … \(hexadecimal(leaf.key(leaf.count - 1)))"
    }

    private func hexadecimal(_ key: [UInt8]) -> String {
        key.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + (key.count > 16 ? "…" : "")
    }
}
