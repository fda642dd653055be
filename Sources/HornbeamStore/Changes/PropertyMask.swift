/// A set of properties of one entity, by index.
package struct PropertyMask: Hashable, Sendable {
    private var low: UInt64 = 0
    private var high: [UInt64] = []

    package init() {}

    package init(_ indexes: some Sequence<Int>) {
        for index in indexes { insert(index) }
    }

    package mutating func insert(_ index: Int) {
        assert(index >= 0, "Properties are counted from 0.")
        guard index >= 64 else { return low |= 1 << UInt64(index) }
        let word = index / 64 - 1
        while high.count <= word { high.append(0) }
        high[word] |= 1 << UInt64(index % 64)
        assert(contains(index), "An inserted property is in the mask.")
    }

    package mutating func formUnion(_ other: PropertyMask) {
        low |= other.low
        while high.count < other.high.count { high.append(0) }
        for (word, bits) in other.high.enumerated() { high[word] |= bits }
        assert(high.count >= other.high.count, "A union has the properties of both masks.")
    }

    package func contains(_ index: Int) -> Bool {
        guard index >= 64 else { return low & 1 << UInt64(index) != 0 }
        let word = index / 64 - 1
        return word < high.count && high[word] & 1 << UInt64(index % 64) != 0
    }

    package var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

    /// The indexes, ascending.
    package var indexes: [Int] { (0 ..< (high.count + 1) * 64).filter(contains) }
}
