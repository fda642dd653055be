// Writes the leaves that a big transaction has filled at the end of a tree, while it fills the next ones.
//
// Such leaves rarely change again, and the commit would write them anyway. Another thread packs and appends a set of leaves; when the transaction has
// filled the next set, the leaves of the first one become pages of the cache, as in Checkpoint/EarlyLeaves.swift. A leaf that changes or ends meanwhile
// stays in memory, and its page is dead: the ledger calls `release` before.
// Invariants: a leaf is once in a set; it does not change between its packing and its release or `finish`.

import HornbeamThreads

/// A leaf behind which a transaction has begun another one. It may have changed since, and its frame may have another use: the link of the key decides.
struct FilledLeaf {
    let frame: UInt32
    /// The key of its first entry, as bytes that inner nodes can compare.
    let key: [UInt8]
}

/// Writes filled leaves, one set at a time. Used by the thread of the transaction.
final class FilledLeaves {
    private let team = ThreadTeam(workers: min(Cores.count, 2) - 1)
    /// A forked child has no thread that writes leaves, and the lock of the appender may be held by the one of its parent.
    private let forks = ProcessForks.watch()
    private var set: (tree: TreeEditor, writer: LeafWriter, steps: [WritingStep])?

    /// The number of leaves in a set. None of them can be evicted, so it is smaller in a small pool.
    static func leavesTogether(_ pool: FramePool) -> Int { max(2, min(pool.capacity / 8, 16)) }

    /// Lets another thread begin to write leaves of a tree, in the first places of the writer. No others are being written.
    func begin(_ leaves: [FilledLeaf], of tree: TreeEditor, _ writer: LeafWriter) {
        assert(set == nil, "Leaves are written one set at a time.")
        assert(leaves.count < LeafWriter.places, "The packer has a place for each leaf of a set.")
        // A change of the leaf at the path's end would not reach `release`.
        tree.forgetPath()
        var frames: Set<UInt32> = []
        let steps = leaves.filter { tree.link(of: $0) != nil && frames.insert($0.frame).inserted }.map(WritingStep.init)
        set = (tree, writer, steps)
        let (id, layouts, pool) = (tree.id, tree.layouts, tree.pool)
        team.begin(steps.count) { n in
            let leaf = pool.page(steps[n].leaf.frame)
            do throws(EngineError) {
                let packed = try writer.pack(leaf, id, layouts, in: n)
                steps[n].written = .success((packed, try writer.append(packed, count: leaf.count)))
            } catch { steps[n].written = .failure(error) }
        }
    }

    /// Waits for the leaves that are being written, and sets the links to their addresses.
    func finish() throws(EngineError) {
        guard let (tree, writer, steps) = wait() else { return }
        set = nil
        for step in steps {
            // Also the error of a released leaf: the appender has failed.
            guard let (packed, page) = try step.written?.get() else { continue }
            guard !step.isReleased, let link = tree.link(of: step.leaf) else {
                writer.setUnused(page, tree.ledger)
                continue
            }
            assert(writer.isPacked(packed, tree.pool.page(step.leaf.frame), tree), "A leaf changes after its release only.")
            writer.setWritten(page, in: step.leaf.frame, tree.pool)
            tree.setLink(link, to: page, hint: step.leaf.frame)
        }
    }

    /// Called before a leaf of the transaction changes, or its frame gets another use.
    func release(_ frame: UInt32) {
        guard let step = set?.steps.first(where: { $0.leaf.frame == frame }), !step.isReleased else { return }
        _ = wait()
        step.isReleased = true
    }

    /// Called before the frames of the transaction are freed.
    func abandon() {
        _ = wait()
        set = nil
    }

    /// Waits until no thread writes leaves, and returns the set; nil if there is none, and in a forked child.
    private func wait() -> (tree: TreeEditor, writer: LeafWriter, steps: [WritingStep])? {
        guard set != nil, forks == ProcessForks.count else { return nil }
        team.finish()
        return set
    }
}

/// The writing of one leaf. One thread at a time uses it.
private final class WritingStep {
    let leaf: FilledLeaf
    /// The packed leaf and its page; nil until it is appended.
    var written: Result<(packed: PageAppender.EncodedPage, page: PageReference), EngineError>?
    /// True if the page is not needed.
    var isReleased = false

    init(_ leaf: FilledLeaf) { self.leaf = leaf }
}

extension LeafWriter {
    /// True if packing a leaf has this result. For assertions: packs the leaf again, in the last place.
    func isPacked(_ packed: PageAppender.EncodedPage, _ leaf: Page, _ tree: TreeEditor) -> Bool {
        guard let again = try? pack(leaf, tree.id, tree.layouts, in: LeafWriter.places - 1) else { return false }
        return unsafe Bytes(packed.payload).compare(Bytes(again.payload)) == 0
    }
}

extension TreeEditor {
    /// Records a leaf at the right edge behind which the next one begins.
    func noteFilled(_ leaf: UInt32) {
        if filled != nil { filled?.append(FilledLeaf(frame: leaf, key: firstKey(leaf))) }
    }

    /// Takes recorded leaves; nil if there are fewer.
    @inline(__always)
    func takeFilled(_ count: Int) -> [FilledLeaf]? {
        guard let recorded = filled?.count, recorded >= count else { return nil }
        defer { filled?.removeFirst(count) }
        return filled.map { Array($0[..<count]) }
    }

    /// The inner node above a leaf that the transaction has made and that is in memory only, and the index of its link; nil if the tree has no such leaf.
    func link(of leaf: FilledLeaf) -> (parent: UInt32, index: Int)? {
        guard root.isInMemory else { return nil }
        var parent = root.frame
        while ledger.isOwn(parent), pool.page(parent).level > 0 {
            let inner = node(parent)
            let index = leaf.key.withBorrowedBytes { inner.childIndex(for: $0) }
            let link = inner.child(index)
            guard link.isInMemory else { return nil }
            if inner.page.level == 1 { return link.frame == leaf.frame && ledger.isOwn(link.frame) ? (parent, index) : nil }
            parent = link.frame
        }
        return nil
    }

    /// Sets a link to a leaf that was written.
    func setLink(_ link: (parent: UInt32, index: Int), to page: PageReference, hint: UInt32) {
        let inner = node(link.parent)
        assert(page.count == inner.childCount(link.index), "A written leaf has the entries of its link.")
        inner.setChild(link.index, page, hint: hint)
    }
}
