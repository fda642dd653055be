/// A set of property indexes of one entity.
///
/// The first 64 indexes are bits of one word, so that almost no entity needs an allocation.
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

    mutating func formUnion(_ other: PropertySet) { for index in other { insert(index) } }

    func intersection(_ other: PropertySet) -> PropertySet {
        var result = PropertySet()
        result.low = low & other.low
        result.high = zip(high, other.high).map { $0 & $1 }
        return result
    }

    func isDisjoint(with other: PropertySet) -> Bool {
        low & other.low == 0 && zip(high, other.high).allSatisfy { $0 & $1 == 0 }
    }
}

/// The members in ascending order.
extension PropertySet: Sequence {
    struct Iterator: IteratorProtocol {
        fileprivate var word: UInt64
        fileprivate var base = 0
        fileprivate let high: [UInt64]

        mutating func next() -> Int? {
            while word == 0 {
                guard base / 64 < high.count else { return nil }
                word = high[base / 64]
                base += 64
            }
            defer { word &= word - 1 }
            return base + word.trailingZeroBitCount
        }
    }

    func makeIterator() -> Iterator { Iterator(word: low, high: high) }

    var underestimatedCount: Int { low.nonzeroBitCount }
}
