/// A set of property indexes of one entity.
///
/// The first 64 live in one word, so that almost every entity needs no allocation.
struct PropertySet: Hashable {
    private var low: UInt64 = 0
    private var high: [UInt64] = []

    var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

    func contains(_ index: Int) -> Bool {
        if index < 64 { return low & (1 << UInt64(index)) != 0 }
        let word = index / 64 - 1
        return word < high.count && high[word] & (1 << UInt64(index % 64)) != 0
    }

    mutating func insert(_ index: Int) {
        if index < 64 { return low |= 1 << UInt64(index) }
        let word = index / 64 - 1
        while high.count <= word { high.append(0) }
        high[word] |= 1 << UInt64(index % 64)
    }

    mutating func remove(_ index: Int) {
        if index < 64 { return low &= ~(1 << UInt64(index)) }
        let word = index / 64 - 1
        if word < high.count { high[word] &= ~(1 << UInt64(index % 64)) }
    }

    mutating func removeAll() { self = PropertySet() }

    mutating func formUnion(_ other: PropertySet) { for index in other.indexes { insert(index) } }

    /// The members in ascending order.
    var indexes: [Int] {
        var result: [Int] = []
        var word = low
        while word != 0 {
            result.append(word.trailingZeroBitCount)
            word &= word - 1
        }
        for (position, bits) in high.enumerated() {
            var bits = bits
            while bits != 0 {
                result.append((position + 1) * 64 + bits.trailingZeroBitCount)
                bits &= bits - 1
            }
        }
        return result
    }
}
