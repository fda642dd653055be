// A frame whose content a transaction has replaced. It is released when no reader needs the content.

/// A replaced node, or the cached copy of a replaced page.
struct RetiredFrame {
    let frame: UInt32
    /// Equal to the frame's generation as long as the frame contains the node.
    let generation: UInt32
    /// The transaction that made the node; `.max` for a page, which readers can read from disk again.
    let birth: UInt64
    /// The page's disk address; 0 for a node.
    let address: UInt64

    init(node frame: UInt32, generation: UInt32, birth: UInt64) {
        (self.frame, self.generation, self.birth, address) = (frame, generation, birth, 0)
    }

    init(page address: UInt64, in frame: UInt32) {
        (self.frame, generation, birth, self.address) = (frame, 0, .max, address)
    }
}
