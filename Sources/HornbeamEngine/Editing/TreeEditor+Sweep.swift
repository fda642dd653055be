// Replacing many leaves of a tree: each by a page that is built from it, some leaves at a time, on all processors.
//
// The editor's thread walks the inner nodes, which become the transaction's own, and takes frames for the new leaves; the
// new leaves are built side by side, each by one thread, from leaves that nobody changes; then the links are exchanged. Leaves
// that a sweep leaves empty, nearly empty, or unchanged because the result does not fit a page, are looked after one
// by one when it is over. What holds while a sweep runs: the tree can be read; counts above the leaves' parents are old.

import HornbeamThreads

/// What became of a leaf in a sweep.
enum SweptLeaf {
    /// It stays as it is.
    case unchanged
    /// The new page has so many entries.
    case replaced(entries: Int)
    /// No entry is left; the leaf is still where it was.
    case empty
    /// It takes more than one new page; the leaf is still where it was.
    case unfit
}

/// One leaf in a sweep.
private struct SweepStep {
    let parent: UInt32
    let index: Int
    let source: UInt32
    let link: PageReference
    let target: UInt32
    /// Blobs of entries that are gone.
    var blobs: [PageReference] = []
    var outcome = SweptLeaf.unchanged
    var error: EngineError?

    /// True when the source holds a page that nobody needs who comes later.
    var hasReplacedPage: Bool {
        guard case .replaced = outcome else { return false }
        return !link.isInMemory
    }
}

/// A leaf that needs a second look, by the place it had among those of the sweep, and a key that leads to it.
struct SweepRest {
    let position: Int
    let key: [UInt8]
    let outcome: SweptLeaf

    var isEmpty: Bool { if case .empty = outcome { true } else { false } }
    var isUnfit: Bool { if case .unfit = outcome { true } else { false } }
}

extension TreeEditor {
    /// Leaves that are built together, so that what they are built from and into stays in the processor's cache.
    private static var leavesTogether: Int { 128 }
    /// Leaves below which other threads are not worth starting.
    private static var leavesForThreads: Int { 32 }

    /// Replaces leaves. `next` approaches the leaf of a position, nil at the end; `build` makes the new page of a leaf, on any
    /// thread, and notes the blobs of what it left out. Gives back the leaves that need a second look: first those to be taken away, lest
    /// a neighbour take in what they still hold.
    func sweep(
        _ next: (Int) throws(EngineError) -> (frame: UInt32, link: PageReference)?,
        build: (Int, Page, Page, inout [PageReference]) throws(EngineError) -> SweptLeaf
    ) throws(EngineError) -> [SweepRest] {
        var position = 0
        var rest: [SweepRest] = []
        var isDone = false
        while !isDone {
            let slot = pool.epochs.enter()
            defer { pool.epochs.leave(slot) }
            var steps: [SweepStep] = []
            while steps.count < TreeEditor.leavesTogether, !isDone {
                guard let (frame, link) = try next(position + steps.count) else {
                    isDone = true
                    break
                }
                steps.append(
                    SweepStep(
                        parent: path.last?.frame ?? 0, index: path.last?.index ?? 0, source: frame, link: link,
                        target: try ledger.allocate()))
            }
            run(&steps, from: position, build)
            try exchange(steps, from: position, &rest)
            position += steps.count
            // The frames of the pages are warm memory for the leaves to come.
            if !isDone { pool.evict(steps.filter(\.hasReplacedPage).map(\.source)) }
        }
        forgetPath()
        try recount()
        return rest.filter(\.isEmpty) + rest.filter { !$0.isEmpty }
    }

    private func run(
        _ steps: inout [SweepStep], from position: Int,
        _ build: (Int, Page, Page, inout [PageReference]) throws(EngineError) -> SweptLeaf
    ) {
        let parts = steps.count < TreeEditor.leavesForThreads ? 1 : min(Cores.count, 4)
        let count = steps.count
        unsafe steps.withUnsafeMutableBufferPointer { steps in
            // Each thread touches steps of its own.
            Cores.share(parts) { part in
                for n in count * part / parts..<count * (part + 1) / parts {
                    do throws(EngineError) {
                        try unsafe verifyLeaf(steps[n].source)
                        unsafe steps[n].outcome = try build(
                            position + n, pool.page(steps[n].source), pool.page(steps[n].target), &steps[n].blobs)
                    } catch {
                        unsafe steps[n].error = error
                    }
                }
            }
        }
    }

    /// Links the new leaves in.
    private func exchange(_ steps: [SweepStep], from position: Int, _ rest: inout [SweepRest]) throws(EngineError) {
        for (n, step) in steps.enumerated() {
            if let error = step.error { throw error }
            var isUsed = false
            if case .replaced(let entries) = step.outcome {
                let link = PageReference(frame: step.target, count: UInt64(entries))
                if step.parent == 0 { setRoot(link) } else { node(step.parent).setChild(step.index, link) }
                ledger.retire(step.link)
                isUsed = true
            }
            if !isUsed { ledger.retireOwn(step.target) }
            ledger.deadBlobs.append(contentsOf: step.blobs)
            if needsLook(step) {
                rest.append(SweepRest(position: position + n, key: firstKey(step.source), outcome: step.outcome))
            }
        }
    }

    private func needsLook(_ step: SweepStep) -> Bool {
        switch step.outcome {
        case .unchanged: false
        case .empty, .unfit: true
        case .replaced: isSparse(step.target)
        }
    }

    /// The key of a leaf's first entry, as inner nodes have it.
    private func firstKey(_ leaf: UInt32) -> [UInt8] {
        guard isTable else { return node(leaf).key(0) }
        let key: UInt64 = pool.page(leaf).load(16)
        return unsafe withUnsafeBytes(of: key.bigEndian) { unsafe Array($0) }
    }

    /// Takes an empty leaf away, or joins one with a neighbour that has become sparse.
    func settle(_ rest: SweepRest, join: (_ left: UInt32, _ right: UInt32) -> Bool) throws(EngineError) {
        guard try rest.key.lend({ key throws(EngineError) in try descend { $0.childIndex(for: key) } }) else { return }
        if rest.isEmpty {
            addToCounts(-leafPage.count)
            removeEmptyLeaf()
            try lowerRoot()
        } else if !path.isEmpty, isSparse(leaf) {
            try mergeUpwards(join: join)
        }
    }
}
