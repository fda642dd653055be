// The bulk leaf rewrite: replaces many leaves of a tree by new pages that are built from them, on several processors.
//
// The editor's thread copies the inner nodes and allocates frames for the new leaves. Threads read the old leaves and build the new ones, and pack
// them if they are written at once. Meanwhile the editor's thread sets the links to the new leaves of the set before. Afterwards it processes some
// leaves one by one: empty leaves, nearly empty leaves, and leaves whose result does not fit in a page.
//
// If an old leaf is the cached copy of a page, and no reader can see it, its frame may become the new leaf: then only the bytes that change are written.
// Other old leaves are not changed.

import HornbeamThreads

/// The outcome of a leaf's rewrite.
enum RewrittenLeaf {
    /// The leaf does not change.
    case unchanged
    /// The page of the leaf was changed, and has this number of entries.
    case changed(entries: Int)
    /// A new page with this number of entries replaces the leaf.
    case replaced(entries: Int)
    /// Two new pages replace the leaf, the first one with this number of entries. The second one is not linked yet.
    case divided(entries: Int)
    /// The result has no entries. The old leaf is still linked.
    case empty
    /// The result does not fit, or needs conversion to the current layout. The old leaf is still linked.
    case unfit
}

/// A leaf to be rewritten.
struct LeafToRewrite {
    let link: PageReference
    /// The caller's numbers of the changes to this leaf.
    let changes: Range<Int>
    /// True if two leaves may replace the leaf.
    var mayDivide = false
}

/// The pages of one leaf's rewrite.
struct LeafPages {
    let old: Page
    /// True if the old page may be changed instead of a copy.
    let mayChange: Bool
    let first: Page
    /// Nil if the leaf must not be divided.
    let second: Page?
}

/// One leaf of a rewrite. One thread at a time uses it.
private final class RewriteStep {
    let changes: Range<Int>
    /// The inner nodes above the leaf, each with the index of its link.
    let path: [(frame: UInt32, index: Int)]
    let link: PageReference
    /// The frames of the new leaf, and of the second one if the leaf may be divided.
    let target: (first: UInt32, second: UInt32?)
    /// The frame of the leaf, if it was taken from the pool and has not been adopted.
    var taken: UInt32?
    /// True if no reader can see the taken frame.
    var mayChange = false
    /// The blobs of removed entries.
    var blobs: [PageReference] = []
    var outcome = RewrittenLeaf.unchanged
    /// A key in the leaf if it must be processed afterwards; otherwise nil.
    var remainingKey: [UInt8]?
    /// The new leaf as it will be written; nil if it stays in memory.
    var packed: PageAppender.EncodedPage?
    var error: EngineError?

    init(_ leaf: LeafToRewrite, path: [(frame: UInt32, index: Int)], target: (UInt32, UInt32?)) {
        changes = leaf.changes
        link = leaf.link
        self.path = path
        self.target = target
    }

    /// True if another page replaces the leaf, or its page was changed.
    var isReplaced: Bool {
        switch outcome {
        case .changed, .replaced, .divided: true
        case .unchanged, .empty, .unfit: false
        }
    }

    /// True if the source is the cached copy of a page that the new leaf replaces.
    var hasReplacedPage: Bool { isReplaced && !link.isInMemory && taken == nil }

    /// The taken frame that was not adopted, with the address of its page if that is still needed.
    var unused: (frame: UInt32, page: UInt64?)? { taken.map { ($0, isReplaced ? nil : link.address) } }
}

/// A leaf to process after the rewrite: what changes it, and a key that belongs in it.
struct RewriteRemainder {
    let changes: Range<Int>
    let key: [UInt8]
    let outcome: RewrittenLeaf
    /// The second new leaf of a divided one; otherwise nil.
    let second: UInt32?

    var isEmpty: Bool { if case .empty = outcome { true } else { false } }
    var isUnfit: Bool { if case .unfit = outcome { true } else { false } }
}

extension TreeEditor {
    /// The number of leaves in a set. Their old and new pages fit in the processor's cache.
    static var leavesTogether: Int { 64 }
    /// The smallest number of leaves for which other threads are used.
    private static var leavesForThreads: Int { 16 }

    /// Rewrites leaves. `next` descends to the parent of the next leaf; it returns nil at the end. Its argument is the number of leaves before. `build`
    /// makes the new page of a leaf, on any thread, while `next` is called for others, and lists the blobs of removed entries. Returns the leaves to
    /// process afterwards. Empty leaves come first: they still have their old content, and no neighbour must be merged with it.
    ///
    /// - Parameters:
    ///   - writer: Writes the new leaves. Without it they stay in memory.
    ///   - changesPages: True if `build` can change pages instead of copies.
    func rewriteLeaves(
        _ next: (Int) throws(EngineError) -> LeafToRewrite?, writer: LeafWriter? = nil, changesPages: Bool = false,
        build: (Range<Int>, LeafPages, inout [PageReference]) throws(EngineError) -> RewrittenLeaf
    ) throws(EngineError) -> [RewriteRemainder] {
        try withoutActuallyEscaping(build) { (build) throws(EngineError) in
            let team = ThreadTeam(workers: min(Cores.count, 4) - 1)
            var reader = pool.epochs.enter()
            var (steps, following): ([RewriteStep], [RewriteStep]) = ([], [])
            // Also after an error: the threads use the pages.
            defer {
                team.finish()
                pool.epochs.leave(reader)
                pool.returnTaken((steps + following).compactMap(\.unused))
            }
            func begin(_ steps: [RewriteStep], _ place: Int) {
                // Each step is made by one thread.
                let makeStep = { (n: Int) in self.make(steps[n], in: place + n, writer, build) }
                if steps.count < TreeEditor.leavesForThreads { steps.indices.forEach(makeStep) } else { team.begin(steps.count, makeStep) }
            }
            /// No thread reads old leaves meanwhile, so that their frames can be taken, and those of evicted ones become free.
            func takePages(_ steps: [RewriteStep]) {
                pool.epochs.leave(reader)
                if changesPages, steps.count >= TreeEditor.leavesForThreads { self.takePages(steps) }
                reader = pool.epochs.enter()
            }
            var rest: [RewriteRemainder] = []
            var count = 0
            steps = try self.steps(count, next)
            takePages(steps)
            begin(steps, 0)
            while !steps.isEmpty {
                count += steps.count
                following = try self.steps(count, next)
                team.finish()
                takePages(following)
                begin(following, count / TreeEditor.leavesTogether % 2 * TreeEditor.leavesTogether)
                for step in steps { try exchange(step, writer, &rest) }
                // The frames of these pages are reused for the next leaves.
                pool.returnTaken(steps.compactMap(\.unused))
                if !following.isEmpty { pool.evict(pages: steps.filter(\.hasReplacedPage).map(\.link.address)) }
                (steps, following) = (following, [])
            }
            forgetPath()
            return rest.filter(\.isEmpty) + rest.filter { !$0.isEmpty }
        }
    }

    /// The steps of the next set of leaves; empty at the end.
    private func steps(_ before: Int, _ next: (Int) throws(EngineError) -> LeafToRewrite?) throws(EngineError) -> [RewriteStep] {
        var steps: [RewriteStep] = []
        while steps.count < TreeEditor.leavesTogether, let leaf = try next(before + steps.count) {
            steps.append(RewriteStep(leaf, path: path, target: (try ledger.allocate(), leaf.mayDivide ? try ledger.allocate() : nil)))
        }
        return steps
    }

    /// Takes the frames of the leaves that are cached pages.
    private func takePages(_ steps: [RewriteStep]) {
        let pages = steps.filter { !$0.link.isInMemory && !$0.path.isEmpty }
        let (frames, areUnseen) = pool.take(pages: pages.map(\.link.address))
        for (step, frame) in zip(pages, frames) { (step.taken, step.mayChange) = (frame, frame != nil && areUnseen) }
    }

    /// Reads an old leaf and builds the new one. Any thread.
    private func make(
        _ step: RewriteStep, in place: Int, _ writer: LeafWriter?,
        _ build: (Range<Int>, LeafPages, inout [PageReference]) throws(EngineError) -> RewrittenLeaf
    ) {
        do throws(EngineError) {
            let source = if let taken = step.taken { taken } else { try leafFrame(below: step.path.last) }
            try verifyLeaf(source)
            let pages = LeafPages(
                old: pool.page(source), mayChange: step.mayChange, first: pool.page(step.target.first), second: step.target.second.map { pool.page($0) })
            step.outcome = try build(step.changes, pages, &step.blobs)
            // Tested and packed here, while the pages are in the processor's cache.
            switch step.outcome {
            case .unchanged: break
            case .changed: if isSparse(source) { step.remainingKey = firstKey(source) }
            case .replaced where !isSparse(step.target.first):
                if let writer, !step.path.isEmpty { step.packed = try writer.pack(pages.first, id, layouts, in: place) }
            case .divided: step.remainingKey = firstKey(step.target.first)
            case .replaced, .empty, .unfit: step.remainingKey = firstKey(source)
            }
        } catch {
            step.error = error
        }
    }

    /// Sets the link to a new leaf, and collects the leaves to process afterwards.
    private func exchange(_ step: RewriteStep, _ writer: LeafWriter?, _ rest: inout [RewriteRemainder]) throws(EngineError) {
        if let error = step.error { throw error }
        var isDivided = false
        switch step.outcome {
        case .changed(let entries):
            guard let frame = step.taken else { preconditionFailure("Only a page in a taken frame is changed.") }
            ledger.adopt(frame)
            step.taken = nil
            link(PageReference(frame: frame, count: UInt64(entries)), in: step)
            ledger.retire(step.link)
            ledger.retireOwn(step.target.first)
        case .replaced(let entries):
            assert(entries > 0 && entries == pool.page(step.target.first).count, "A new leaf has the entries that were counted.")
            var link = PageReference(frame: step.target.first, count: UInt64(entries))
            if let packed = step.packed, let writer {
                link = try writer.append(packed, count: entries)
                writer.setWritten(link, in: step.target.first, pool)
            }
            self.link(link, in: step)
            ledger.retire(step.link)
        case .divided(let entries):
            link(PageReference(frame: step.target.first, count: UInt64(entries)), in: step)
            ledger.retire(step.link)
            isDivided = true
        case .unchanged, .empty, .unfit: ledger.retireOwn(step.target.first)
        }
        if !isDivided, let second = step.target.second { ledger.retireOwn(second) }
        ledger.deadBlobs.append(contentsOf: step.blobs)
        guard let key = step.remainingKey else { return }
        rest.append(RewriteRemainder(changes: step.changes, key: key, outcome: step.outcome, second: isDivided ? step.target.second : nil))
    }

    private func link(_ leaf: PageReference, in step: RewriteStep) {
        guard let parent = step.path.last else { return setRoot(leaf) }
        assert(step.path.allSatisfy { ledger.isOwn($0.frame) }, "The nodes above new leaves belong to the transaction.")
        var link = leaf
        link.count = step.link.count
        node(parent.frame).setChild(parent.index, link, hint: leaf.isInMemory ? 0 : step.target.first)
        addToCounts(Int(leaf.count) - Int(step.link.count), along: step.path)
    }

    /// The key of a leaf's first entry, as bytes that inner nodes can compare.
    func firstKey(_ leaf: UInt32) -> [UInt8] {
        guard isTable else { return node(leaf).key(0) }
        let key: UInt64 = pool.page(leaf).load(16)
        return unsafe withUnsafeBytes(of: key.bigEndian) { unsafe Array($0) }
    }

    /// The separator of two adjacent leaves of an index.
    private func separator(_ left: UInt32, _ right: UInt32) -> [UInt8] {
        let (left, right) = (node(left), node(right))
        return TreeEditor.separator(left.key(left.count - 1), right.key(0))
    }

    /// Links the second part of a divided leaf, removes an empty one, or merges a sparse one with a neighbour.
    func finish(_ rest: RewriteRemainder, join: (_ left: UInt32, _ right: UInt32) -> Bool) throws(EngineError) {
        guard try rest.key.withBorrowedBytes({ key throws(EngineError) in try descend { $0.childIndex(for: key) } }) else { return }
        if let second = rest.second {
            addToCounts(pool.page(second).count)
            try addSibling(second, separator: isTable ? separator(of: second) : separator(leaf, second), at: path.count)
        } else if rest.isEmpty {
            addToCounts(-leafPage.count)
            removeEmptyLeaf()
            try lowerRoot()
        } else if !path.isEmpty, isSparse(leaf) {
            try mergeUpwards(join: join)
        }
    }
}
