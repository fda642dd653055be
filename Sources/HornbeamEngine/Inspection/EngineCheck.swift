// Reads all pages of a version and reports errors of structure, order, counts and checksums.

/// The result of a check.
package struct CheckReport: Sendable, Equatable {
    package var trees = 0
    package var pages = 0
    package var entries = 0
    package var blobs = 0
    /// A sentence for each problem. Empty if the store is undamaged.
    package var problems: [String] = []

    package init() {}
}

extension Engine {
    /// Checks every page, tree and blob of the newest version.
    ///
    /// Reads the whole store. `progress` receives the number of checked entries and of all entries. Problems are collected, not thrown. Throws only
    /// if the store is closed or the work is cancelled.
    package func check(progress: ProgressReport? = nil) throws(EngineError) -> CheckReport {
        let snapshot = try snapshot(isPinned: true)
        let check = VersionCheck(snapshot, progress: progress)
        try check.run()
        return check.report
    }
}

/// One walk over all trees of a version.
private final class VersionCheck {
    let pool: FramePool
    let version: StoreVersion
    let progress: ProgressReport?
    var report = CheckReport()
    private let total: Int

    init(_ snapshot: Snapshot, progress: ProgressReport?) {
        pool = snapshot.pool
        version = snapshot.version
        self.progress = progress
        total = version.trees.reduce(0) { $0 + Int($1.root.count) }
    }

    func run() throws(EngineError) {
        for tree in version.trees {
            report.trees += 1
            guard !tree.root.isEmpty else {
                if tree.root.count != 0 { problem(tree, "is empty but counts \(tree.root.count) entries") }
                continue
            }
            try check(tree.root, tree, level: nil, bounds: Bounds())
        }
        for tree in version.trees { try tree.insertBuffer.map { (buffer) throws(EngineError) in try compare(tree, try version.record(buffer)) } }
    }

    /// The number of keys after which progress is reported.
    private static let keysPerReport = 1 << 12

    /// Reports a key that an index and its insert buffer both have. Unreadable pages have been reported before.
    private func compare(_ index: TreeRecord, _ buffer: TreeRecord) throws(EngineError) {
        var done = 0
        func view(_ tree: TreeRecord) -> IndexView {
            IndexView(root: TreeRoot(pool: pool, reference: tree.root, hint: tree.hint, leafKind: .indexLeaf, version: version), owner: version)
        }
        do throws(EngineError) {
            try unsafe view(buffer).forEach(in: KeyRange()) { (key, _) throws(EngineError) -> Bool in
                let isInBoth = try unsafe view(index).withValue(key) { (_) throws(EngineError) in true } == true
                if isInBoth { problem(index, "has a key that its insert buffer has too") }
                if done % VersionCheck.keysPerReport == 0 {
                    try progress?(WorkProgress(part: "insert buffer", done: done, total: Int(buffer.root.count)))
                }
                done += 1
                return !isInBoth
            }
        } catch {
            guard error.isUnreadable else { throw error }
        }
    }

    private func problem(_ tree: TreeRecord, _ text: String) {
        // A text that ends with the message of an error has a full stop already.
        report.problems.append("Tree \(tree.name.isEmpty ? "of named values" : tree.name) \(text)" + (text.hasSuffix(".") ? "" : "."))
    }

    /// The permitted keys below a link: at least `lower` and below `upper`.
    private struct Bounds {
        var lower: [UInt8] = []
        var upper: [UInt8]?

        func contain(_ key: [UInt8]) -> Bool {
            !key.lexicographicallyPrecedes(lower) && (upper.map { key.lexicographicallyPrecedes($0) } ?? true)
        }
    }

    /// A link and the permitted keys below it.
    private struct Link {
        var child: PageReference
        var bounds: Bounds
    }

    /// Checks a page and the pages below it. Enters a new epoch for each page, so that a check of a large store does not fill the pool.
    private func check(_ reference: PageReference, _ tree: TreeRecord, level: Int?, bounds: Bounds) throws(EngineError) {
        report.pages += 1
        let slot = pool.epochs.enter()
        let links = checkPage(reference, tree, level: level, bounds)
        pool.epochs.leave(slot)
        try progress?(WorkProgress(part: "pages", done: report.entries, total: total))
        for link in links.below { try check(link.child, tree, level: links.level, bounds: link.bounds) }
    }

    /// Checks one page. Returns its links and the level that the pages below it must have.
    private func checkPage(
        _ reference: PageReference, _ tree: TreeRecord, level: Int?, _ bounds: Bounds
    ) -> (below: [Link], level: Int) {
        let frame: UInt32
        do throws(EngineError) { frame = try pool.rootFrame(reference) } catch {
            let place = PageReference.describe(reference.address)
            problem(tree, "has an unreadable page at \(place): \(error.message)")
            return ([], 0)
        }
        let page = pool.page(frame)
        if let level, page.level != level {
            problem(tree, "has a page of level \(page.level) where \(level) is expected")
            return ([], 0)
        }
        if page.level > 0 { return (checkInner(SlottedNode(page), reference, tree, bounds), page.level - 1) }
        if page.kind == NodeKind.tableLeaf.rawValue {
            checkTableLeaf(page, reference, tree, bounds)
        } else {
            checkIndexLeaf(SlottedNode(page), reference, tree, bounds)
        }
        return ([], 0)
    }

    private func checkInner(
        _ node: SlottedNode, _ reference: PageReference, _ tree: TreeRecord, _ bounds: Bounds
    ) -> [Link] {
        var sum: UInt64 = 0
        var links: [Link] = []
        for i in 0..<node.count {
            let child = node.child(i)
            sum &+= child.count
            let lower = i == 0 ? bounds.lower : node.key(i)
            let upper = i + 1 < node.count ? node.key(i + 1) : bounds.upper
            if !bounds.contain(lower) { problem(tree, "has a separator outside its parent's bounds") }
            links.append(Link(child: child, bounds: Bounds(lower: lower, upper: upper)))
        }
        if sum != reference.count { problem(tree, "counts \(reference.count) entries where links add up to \(sum)") }
        return links
    }

    private func checkIndexLeaf(_ leaf: SlottedNode, _ reference: PageReference, _ tree: TreeRecord, _ bounds: Bounds) {
        if tree.layouts != nil { return problem(tree, "is a table with an index leaf") }
        if leaf.count != Int(reference.count) { problem(tree, "counts \(reference.count) entries in a leaf of \(leaf.count)") }
        var last: [UInt8]?
        for i in 0..<leaf.count {
            let key = leaf.key(i)
            if let last, !last.lexicographicallyPrecedes(key) { problem(tree, "has keys out of order") }
            if !bounds.contain(key) { problem(tree, "has a key outside its leaf's bounds") }
            if leaf.isBlob(i) { checkBlob(leaf.value(i).load(0), tree) }
            last = key
        }
        report.entries += leaf.count
    }

    private func checkTableLeaf(_ page: Page, _ reference: PageReference, _ tree: TreeRecord, _ bounds: Bounds) {
        guard let layout = unsafe tree.layouts?.resolve(page.load(24))?.own else {
            return problem(tree, "has a leaf of a layout that it does not know")
        }
        if let fault = NodeCheck.tableFault(page, layout) { return problem(tree, "has a leaf in which \(fault)") }
        let leaf = TableLeaf(page: page, layout: layout)
        if leaf.count != Int(reference.count) { problem(tree, "counts \(reference.count) rows in a leaf of \(leaf.count)") }
        for slot in 0..<leaf.count {
            let key = unsafe withUnsafeBytes(of: leaf.key(slot).bigEndian) { unsafe Array($0) }
            if !bounds.contain(key) { problem(tree, "has a row outside its leaf's bounds") }
            for blob in leaf.blobs(slot) { checkBlob(blob, tree) }
        }
        report.entries += leaf.count
    }

    private func checkBlob(_ blob: PageReference, _ tree: TreeRecord) {
        report.blobs += 1
        do throws(EngineError) {
            let bytes = try pool.files.readBlob(blob)
            if bytes.count != Int(blob.count) { problem(tree, "has a value of \(bytes.count) bytes instead of \(blob.count)") }
        } catch { problem(tree, "has an unreadable value: \(error.message)") }
    }
}
