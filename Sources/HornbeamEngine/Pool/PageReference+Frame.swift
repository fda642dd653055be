// References to nodes that are in memory only: the number of a frame in place of an address in a page file.

extension PageReference {
    /// True for a node that is in memory only.
    var isInMemory: Bool { address >> 63 != 0 }
    var frame: UInt32 { UInt32(truncatingIfNeeded: address) }

    init(frame: UInt32, count: UInt64) {
        self.init(address: 1 << 63 | UInt64(frame), stamp: 0, count: count)
    }

    static func describe(_ address: UInt64) -> String {
        address >> 63 != 0
            ? "frame \(UInt32(truncatingIfNeeded: address))"
            : "file \(address >> 32), offset \((address & 0xFFFF_FFFF) * 8)"
    }
}
