// A range of byte keys in an index, from an inclusive start to an exclusive end. Each may be unlimited.

package struct KeyRange: Hashable, Sendable {
    /// The smallest possible key in the range; empty for the beginning of the index.
    package var lower: [UInt8]
    /// The smallest key above the range; nil for the end of the index.
    package var upper: [UInt8]?

    package init(from lower: [UInt8] = [], to upper: [UInt8]? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// True if the range is within another one, and not equal to it.
    func isPart(of other: KeyRange) -> Bool {
        guard self != other, !lower.lexicographicallyPrecedes(other.lower) else { return false }
        guard let end = other.upper else { return true }
        return upper.map { !end.lexicographicallyPrecedes($0) } ?? false
    }

    /// All keys that start with `prefix`.
    package init(prefix: [UInt8]) {
        lower = prefix
        upper = KeyRange.successor(of: prefix)
    }

    /// The smallest key above all keys that start with `prefix`; nil if there is none.
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
