// The bulk leaf rewrite: replaces many leaves of a tree by new pages that are built from them, on several processors.
//
// The editor's thread copies the inner nodes and allocates frames for the new leaves. Threads read the old leaves and build the new ones in parallel.
// No thread changes the old leaves. Then the editor's thread sets the links to the new leaves. Afterwards it processes some leaves one by one: empty
// leaves, nearly empty leaves, and leaves whose result does not fit in a page.

import HornbeamThreads

/// The outcome of a leaf's rewrite.
enum RewrittenLeaf {
    /// The leaf does not change.
    case unchanged
    /// A new page with this number of entries replaces the leaf.
    case replaced(entries: Int)
    /// The result has no entries. The old leaf is still linked.
    case empty
    /// The result does not fit in one page, or needs conversion to the current layout. The old leaf is still linked.
    case unfit
}

/// One leaf of a rewrite.
private struct RewriteStep {
    /// The inner nodes above the leaf, each with the index of its link.
    let path: [(frame: UInt32, index: Int)]
    let link: PageReference
    let target: UInt32
    /// The frame of the old leaf.
    var source: UInt32 = 0
    /// The blobs of removed entries.
    var blobs: [PageReference] = []
    /// True if the new leaf may be merged with a neighbour.
    var isSparse = false
    var outcome = RewrittenLeaf.unchanged
    var error: EngineError?

    /// True if the source is the cached copy of a page that the new leaf replaces.
    var hasReplacedPage: Bool {
        guard case .replaced = outcome else { return false }
        return !link.isInMemory
    }
}

/// A leaf to process after the rewrite: its position among the visited leaves, and a key that belongs in it.
struct RewriteRemainder {
    let position: Int
    let key: [UInt8]
    let outcome: RewrittenLeaf

    var isEmpty: Bool { if case .empty = outcome { true } else { false } }
    var isUnfit: Bool { if case .unfit = outcome { true } else { false } }
}

extension TreeEditor {
    /// The number of leaves in one step. Their old and new pages fit in the processor's cache.
    private static var leavesTogether: Int { 128 }
    /// The smallest number of leaves for which other threads are used.
    private static var leavesForThreads: Int { 32 }

    /// Rewrites leaves. `next` descends to the parent of the leaf of a position, and returns nil at the end. `build` makes the new page of a leaf, on any
    /// thread, and lists the blobs of removed entries. Returns the leaves to process afterwards. Empty leaves come first: they still have their
    /// old content, and no neighbour must be merged with it.
    func rewriteLeaves(
        _ next: (Int) throws(EngineError) -> PageReference?,
        build: (Int, Page, Page, inout [PageReference]) throws(EngineError) -> RewrittenLeaf
    ) throws(EngineError) -> [RewriteRemainder] {
        let team = ThreadTeam(workers: min(Cores.count, 4) - 1)
        var position = 0
        var rest: [RewriteRemainder] = []
        var isDone = false
        while !isDone {
            let slot = pool.epochs.enter()
            defer { pool.epochs.leave(slot) }
            var steps: [RewriteStep] = []
            while steps.count < TreeEditor.leavesTogether, !isDone {
                guard let link = try next(position + steps.count) else {
                    isDone = true
                    break
                }
                steps.append(RewriteStep(path: path, link: link, target: try ledger.allocate()))
            }
            run(&steps, from: position, team, build)
            try exchange(steps, from: position, &rest)
            position += steps.count
            // The frames of these pages are reused for the next leaves.
            if !isDone { pool.evict(steps.filter(\.hasReplacedPage).map(\.source)) }
        }
        forgetPath()
        return rest.filter(\.isEmpty) + rest.filter { !$0.isEmpty }
    }

    private func run(
        _ steps: inout [RewriteStep], from position: Int, _ team: ThreadTeam,
        _ build: (Int, Page, Page, inout [PageReference]) throws(EngineError) -> RewrittenLeaf
    ) {
        unsafe steps.withUnsafeMutableBufferPointer { steps in
            func make(_ n: Int) {
                do throws(EngineError) {
                    let source = try unsafe leafFrame(below: steps[n].path.last)
                    try verifyLeaf(source)
                    unsafe steps[n].source = source
                    unsafe steps[n].outcome = try build(position + n, pool.page(source), pool.page(steps[n].target), &steps[n].blobs)
                    // Tested here, where the new page is in the processor's cache.
                    if case .replaced = unsafe steps[n].outcome { unsafe steps[n].isSparse = isSparse(steps[n].target) }
                } catch {
                    unsafe steps[n].error = error
                }
            }
            // Each step is made by one thread.
            if steps.count < TreeEditor.leavesForThreads { steps.indices.forEach(make) } else { team.forEach(steps.count, make) }
        }
    }

    /// Sets the links to the new leaves, and collects the leaves to process afterwards.
    private func exchange(_ steps: [RewriteStep], from position: Int, _ rest: inout [RewriteRemainder]) throws(EngineError) {
        for (n, step) in steps.enumerated() {
            if let error = step.error { throw error }
            var isUsed = false
            if case .replaced(let entries) = step.outcome {
                assert(entries > 0 && entries == pool.page(step.target).count, "A new leaf has the entries that were counted.")
                link(PageReference(frame: step.target, count: UInt64(entries)), inPlaceOf: step)
                ledger.retire(step.link)
                isUsed = true
            }
            if !isUsed { ledger.retireOwn(step.target) }
            ledger.deadBlobs.append(contentsOf: step.blobs)
            if needsProcessing(step) {
                rest.append(RewriteRemainder(position: position + n, key: firstKey(step.source), outcome: step.outcome))
            }
        }
    }

    private func link(_ leaf: PageReference, inPlaceOf step: RewriteStep) {
        guard let parent = step.path.last else { return setRoot(leaf) }
        assert(step.path.allSatisfy { ledger.isOwn($0.frame) }, "The nodes above new leaves belong to the transaction.")
        node(parent.frame).setChild(parent.index, PageReference(frame: leaf.frame, count: step.link.count))
        addToCounts(Int(leaf.count) - Int(step.link.count), along: step.path)
    }

    private func needsProcessing(_ step: RewriteStep) -> Bool {
        switch step.outcome {
        case .unchanged: false
        case .empty, .unfit: true
        case .replaced: step.isSparse
        }
    }

    /// The key of a leaf's first entry, as bytes that inner nodes can compare.
    private func firstKey(_ leaf: UInt32) -> [UInt8] {
        guard isTable else { return node(leaf).key(0) }
        let key: UInt64 = pool.page(leaf).load(16)
        return unsafe withUnsafeBytes(of: key.bigEndian) { unsafe Array($0) }
    }

    /// Removes an empty leaf, or merges a sparse one with a neighbour.
    func finish(_ rest: RewriteRemainder, join: (_ left: UInt32, _ right: UInt32) -> Bool) throws(EngineError) {
        guard try rest.key.withBorrowedBytes({ key throws(EngineError) in try descend { $0.childIndex(for: key) } }) else { return }
        if rest.isEmpty {
            addToCounts(-leafPage.count)
            removeEmptyLeaf()
            try lowerRoot()
        } else if !path.isEmpty, isSparse(leaf) {
            try mergeUpwards(join: join)
        }
    }
}
