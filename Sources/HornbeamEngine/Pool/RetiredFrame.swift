// A frame whose content was replaced. It is released after the last reader that needs the content.

/// A node that was replaced, or the cached copy of a page that was.
struct RetiredFrame {
    let frame: UInt32
    /// Equal to the frame's generation while the frame still holds the node.
    let generation: UInt32
    /// The transaction that made the node. A page needs no version to wait for: readers that need it read it again.
    let birth: UInt64
    /// The page's address while the frame holds it; 0 for a node.
    let address: UInt64

    init(node frame: UInt32, generation: UInt32, birth: UInt64) {
        (self.frame, self.generation, self.birth, address) = (frame, generation, birth, 0)
    }

    init(page address: UInt64, in frame: UInt32) {
        (self.frame, generation, birth, self.address) = (frame, 0, .max, address)
    }
}
