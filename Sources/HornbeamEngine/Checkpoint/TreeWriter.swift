// Writes the nodes of a version that are in memory only. Writes children before their parents, since a page contains the addresses of its
// children.

import HornbeamThreads
import Synchronization

/// Appends the new nodes of one version to page files. Safe: it owns its memory.
@safe final class TreeWriter {
    private let pool: FramePool
    private let appender: PageAppender
    /// The threads that pack and compress leaves.
    private let team: ThreadTeam
    private let packer: NodePacker
    private let version: TransactionNumber
    /// The packed leaves of two sets. Threads prepare one while the other is appended.
    private let prepared: UnsafeMutableBufferPointer<Result<PageAppender.EncodedPage, EngineError>?>
    /// The reference of each written node, by frame.
    private(set) var written: [UInt32: PageReference] = [:]
    /// The frames of written leaves that are cached pages now.
    private(set) var cached: Set<UInt32> = []

    /// The number of leaves in a set, which are packed and compressed in parallel.
    private static let leavesTogether = 32
    /// The smallest number of leaves for which other threads are used.
    private static let leavesForThreads = 16

    /// - Parameters:
    ///   - version: The number for the headings of the pages.
    ///   - threads: 1 for a checkpoint in the background, so that commits have the other processors.
    init(pool: FramePool, appender: PageAppender, version: TransactionNumber, threads: Int) {
        self.pool = pool
        self.appender = appender
        team = ThreadTeam(workers: threads - 1)
        packer = NodePacker(pageSize: pool.pageSize, places: 2 * TreeWriter.leavesTogether)
        self.version = version
        unsafe prepared = .allocate(capacity: 2 * TreeWriter.leavesTogether)
        unsafe prepared.initialize(repeating: nil)
    }

    deinit {
        unsafe prepared.deinitialize()
        unsafe prepared.deallocate()
    }

    /// Writes a tree. Returns the reference of its root on disk.
    func write(_ record: TreeRecord) throws(EngineError) -> PageReference {
        try write(record.root, record)
    }

    private func write(_ reference: PageReference, _ record: TreeRecord) throws(EngineError) -> PageReference {
        guard reference.isInMemory else { return reference }
        let frame = reference.frame
        if let disk = pool.diskReference(frame) {
            return PageReference(address: disk.address, stamp: disk.stamp, count: reference.count)
        }
        if let done = written[frame] { return done }
        let page = pool.page(frame)
        var children: [PageReference] = []
        if page.level > 0 {
            let node = SlottedNode(page)
            if page.level == 1 { try writeLeaves(below: node, record) }
            for i in 0..<node.count { children.append(try write(node.child(i), record)) }
        }
        assert(children.allSatisfy { !$0.isInMemory }, "A page names pages on disk.")
        assert(written[frame] == nil, "A node is written once.")
        let ready = try prepare(frame, record, children, in: 0)
        let written = try appender.append(ready, count: reference.count)
        assert(written.count == reference.count, "A written node has the entries of its link.")
        self.written[frame] = written
        return written
    }

    /// Writes the leaves of a running transaction, and sets their links to their addresses. The pool may evict them afterwards. A tree with a
    /// single page is not changed.
    func writeLeaves(of record: TreeRecord, madeBy ledger: NodeLedger) throws(EngineError) {
        guard record.root.isInMemory, pool.page(record.root.frame).level > 0 else { return }
        try writeLeaves(below: record.root.frame, record, ledger)
    }

    private func writeLeaves(below frame: UInt32, _ record: TreeRecord, _ ledger: NodeLedger) throws(EngineError) {
        // A node that the transaction has not made has no children of it.
        guard ledger.isOwn(frame) else { return }
        let node = SlottedNode(pool.page(frame))
        let isParent = node.page.level == 1
        if isParent { try writeLeaves(below: node, record) { ledger.isOwn($0) } }
        for i in 0..<node.count {
            let child = node.child(i)
            guard child.isInMemory else { continue }
            guard isParent else {
                try writeLeaves(below: child.frame, record, ledger)
                continue
            }
            guard let page = written[child.frame] else { continue }
            node.setWritten(i, address: page.address, stamp: page.stamp)
            unsafe node.hintCell(i).pointee.store(child.frame, ordering: .relaxed)
            pool.markWritten(child.frame, address: page.address, stamp: page.stamp, isPinned: false)
            cached.insert(child.frame)
        }
    }

    /// Writes the new leaves below one inner node. Several threads pack them; one thread appends them in order, while others pack the next ones.
    private func writeLeaves(
        below node: SlottedNode, _ record: TreeRecord, where isIncluded: (UInt32) -> Bool = { _ in true }
    ) throws(EngineError) {
        let links = (0..<node.count).map { node.child($0) }.filter {
            $0.isInMemory && isIncluded($0.frame) && pool.diskReference($0.frame) == nil && written[$0.frame] == nil
        }
        let sets = stride(from: 0, to: links.count, by: TreeWriter.leavesTogether).map {
            links[$0..<min($0 + TreeWriter.leavesTogether, links.count)]
        }
        // Also after an error, because the threads use the memory of the writer.
        defer { team.finish() }
        if let first = sets.first { beginPreparing(first, record, at: 0) }
        for (number, set) in sets.enumerated() {
            team.finish()
            let half = number % 2 * TreeWriter.leavesTogether
            if number + 1 < sets.count { beginPreparing(sets[number + 1], record, at: TreeWriter.leavesTogether - half) }
            for (place, link) in set.enumerated() {
                guard let page = unsafe prepared[half + place] else { preconditionFailure("A set is prepared before it is appended.") }
                written[link.frame] = try appender.append(try page.get(), count: link.count)
            }
        }
    }

    /// Lets the threads pack and compress leaves. The result of the first leaf is at the index `start` of `prepared`.
    private func beginPreparing(_ links: ArraySlice<PageReference>, _ record: TreeRecord, at start: Int) {
        let prepareLeaf = { [self] (place: Int) in
            var page: Result<PageAppender.EncodedPage, EngineError>
            do throws(EngineError) { page = .success(try prepare(links[links.startIndex + place].frame, record, [], in: start + place)) } catch {
                page = .failure(error)
            }
            unsafe prepared[start + place] = page
        }
        if links.count < TreeWriter.leavesForThreads { (0..<links.count).forEach(prepareLeaf) } else { team.begin(links.count, prepareLeaf) }
    }

    /// Packs and compresses a node.
    private func prepare(
        _ frame: UInt32, _ record: TreeRecord, _ children: [PageReference], in place: Int
    ) throws(EngineError) -> PageAppender.EncodedPage {
        try packer.pack(pool.page(frame), tree: record.id, record.layouts, children: children, version: version, in: place)
    }
}
