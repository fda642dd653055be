// Loads pages from disk: reads a page into a frame, checks it, and only then publishes it in the pool.

import Synchronization

extension FramePool {
    /// The frame of a page. Reads the page from its file if it is not in the pool. Must be called inside an epoch.
    func load(address: UInt64, stamp: UInt64) throws(EngineError) -> UInt32 {
        if let frame = frame(holding: address) { return frame }
        let frame = try allocate(birth: 0)
        do throws(EngineError) {
            let page = page(frame)
            let info = unsafe try files.read(
                PageReference(address: address, stamp: stamp, count: 0),
                into: unsafe UnsafeMutableRawBufferPointer(start: page.base, count: pageSize))
            if let fault = NodeCheck.fault(in: page, bytes: info.rawBytes) {
                throw EngineError(
                    .damaged, "The page at \(PageReference.describe(address)) contradicts itself: \(fault).")
            }
        } catch {
            discard(frame)
            throw error
        }
        return admit(frame, address: address, stamp: stamp)
    }

    /// Throws unless the frame contains a valid leaf with one of a table's layouts.
    @inline(__always)
    func verifyLeaf(_ frame: UInt32, _ layouts: TableLayouts) throws(EngineError) {
        let serial = unsafe infos[Int(frame)].verifiedFor.load(ordering: .acquiring)
        if serial == layouts.serial || serial == .max { return }
        try verifyNewLeaf(frame, layouts)
    }

    @inline(never)
    private func verifyNewLeaf(_ frame: UInt32, _ layouts: TableLayouts) throws(EngineError) {
        let page = page(frame)
        let version: UInt32 = page.load(24)
        guard page.kind == NodeKind.tableLeaf.rawValue, let own = unsafe layouts.resolve(version)?.own else {
            throw EngineError(.damaged, "A page of a table is not a leaf with one of the layouts of the table: it names layout version \(version).")
        }
        if let fault = NodeCheck.tableFault(page, own) {
            throw EngineError(.damaged, "A leaf of a table contradicts itself: \(fault).")
        }
        assert(page.level == 0 && page.count <= page.capacity, "A verified leaf is at the bottom and within its capacity.")
        unsafe infos[Int(frame)].verifiedFor.store(layouts.serial, ordering: .releasing)
    }
}
