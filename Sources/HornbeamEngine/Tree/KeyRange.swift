// A range of byte keys in an index: inclusive start, exclusive end, either open.

package struct KeyRange: Hashable, Sendable {
    /// The first key that belongs to the range; empty is the beginning of the tree.
    package var lower: [UInt8]
    /// The first key that no longer belongs to the range; nil is the end of the tree.
    package var upper: [UInt8]?

    package init(from lower: [UInt8] = [], to upper: [UInt8]? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// All keys that start with `prefix`.
    package init(prefix: [UInt8]) {
        lower = prefix
        upper = KeyRange.successor(of: prefix)
    }

    /// The smallest key that sorts after every key starting with `prefix`; nil if there is none.
    package static func successor(of prefix: [UInt8]) -> [UInt8]? {
        var key = prefix
        while let last = key.popLast() {
            if last < 0xFF {
                key.append(last + 1)
                return key
            }
        }
        return nil
    }
}
