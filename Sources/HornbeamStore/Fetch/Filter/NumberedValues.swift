internal import Foundation

// Hash tables that number values in the order of their first occurrence: for groups, distinct values and changed objects. A search copies and counts
// nothing.

/// Numbers pairs of numbers.
package struct NumberedPairs {
    private struct Pair: Equatable {
        let first: UInt64
        let second: UInt64
        let tag: UInt8
    }

    private var pairs: [Pair] = []
    private var table = NumberTable()

    package init() {}

    /// The number of a pair, and whether it is new.
    package mutating func number(_ first: UInt64, _ second: UInt64 = 0, tag: UInt8 = 0) -> (number: Int, isNew: Bool) {
        let pair = Pair(first: first, second: second, tag: tag)
        let hash = hash(pair)
        let (known, place) = find(pair, hash)
        if let known { return (known, false) }
        pairs.append(pair)
        table.add(pairs.count - 1, hash, at: place)
        return (pairs.count - 1, true)
    }

    /// The number of a pair; nil if it has none.
    package func known(_ first: UInt64, _ second: UInt64 = 0, tag: UInt8 = 0) -> Int? {
        let pair = Pair(first: first, second: second, tag: tag)
        return find(pair, hash(pair)).known
    }

    @inline(__always)
    private func hash(_ pair: Pair) -> UInt64 { table.hash(table.hash(pair.first) ^ pair.second &+ UInt64(pair.tag)) }

    /// The number of a pair, or the place for a new one.
    @inline(__always)
    private func find(_ pair: Pair, _ hash: UInt64) -> (known: Int?, place: Int) {
        var place = table.firstPlace(hash)
        while let known = table[place] {
            if pairs[known] == pair { return (known, place) }
            place = table.place(after: place)
        }
        return (nil, place)
    }
}

extension UnsafeRawBufferPointer {
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        return unsafe isEmpty || memcmp(baseAddress!, other.baseAddress!, count) == 0
    }
}

/// Numbers texts by their bytes.
package struct NumberedTexts {
    private var bytes: [UInt8] = []
    /// The end of each text in `bytes`.
    private var ends: [Int] = []
    private var table = NumberTable()

    package init() {}

    /// The number of a text, and whether it is new.
    package mutating func number(_ text: UnsafeRawBufferPointer) -> (number: Int, isNew: Bool) {
        let hash = unsafe hash(text)
        let (known, place) = unsafe find(text, hash)
        if let known { return (known, false) }
        unsafe bytes.append(contentsOf: text)
        ends.append(bytes.count)
        table.add(ends.count - 1, hash, at: place)
        return (ends.count - 1, true)
    }

    /// The number of a text; nil if it has none.
    package func known(_ text: UnsafeRawBufferPointer) -> Int? { unsafe find(text, hash(text)).known }

    /// The number of a text, or the place for a new one.
    @inline(__always)
    private func find(_ text: UnsafeRawBufferPointer, _ hash: UInt64) -> (known: Int?, place: Int) {
        var place = table.firstPlace(hash)
        while let known = table[place] {
            if table.hasHash(hash, at: place), unsafe isText(known, text) { return (known, place) }
            place = table.place(after: place)
        }
        return (nil, place)
    }

    private func isText(_ number: Int, _ text: UnsafeRawBufferPointer) -> Bool {
        let start = number == 0 ? 0 : ends[number - 1]
        guard ends[number] - start == text.count else { return false }
        return unsafe bytes.withUnsafeBytes { unsafe text.isEmpty || memcmp($0.baseAddress! + start, text.baseAddress!, text.count) == 0 }
    }

    private func hash(_ text: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: text.count)
        var offset = 0
        while offset + 8 <= text.count {
            hash = unsafe table.hash(hash ^ text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < text.count {
            rest = rest << 8 | UInt64(unsafe text[offset])
            offset += 1
        }
        return table.hash(hash ^ rest)
    }
}

/// An open-addressing table of numbers from 0 on by hash. At most half of its places are used.
private struct NumberTable {
    /// Random, so that values cannot be chosen to collide. The tables of a process share it, because the system is called for each random number.
    private static let seed = UInt64.random(in: 0 ... .max)
    /// The places of all empty tables.
    private static let emptyPlaces = [UInt64](repeating: 0, count: 64)

    private let seed = NumberTable.seed
    /// For each place, the number plus one in the low half and the high half of the hash; 0 for an empty place.
    private var places = NumberTable.emptyPlaces

    @inline(__always)
    func hash(_ value: UInt64) -> UInt64 {
        let product = (value ^ seed).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }

    @inline(__always)
    func firstPlace(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (places.count - 1) }

    @inline(__always)
    func place(after place: Int) -> Int { (place + 1) & (places.count - 1) }

    /// The number at a place; nil if it is empty.
    @inline(__always)
    subscript(place: Int) -> Int? {
        let number = UInt32(truncatingIfNeeded: places[place])
        return number == 0 ? nil : Int(number - 1)
    }

    @inline(__always)
    func hasHash(_ hash: UInt64, at place: Int) -> Bool { (places[place] ^ hash) >> 32 == 0 }

    /// Adds the next number at a place that a search has found empty.
    mutating func add(_ number: Int, _ hash: UInt64, at place: Int) {
        precondition(number < Int(UInt32.max), "There are fewer than 2³² different values.")
        places[place] = hash & ~0xFFFF_FFFF | UInt64(number + 1)
        lows.append(UInt32(truncatingIfNeeded: hash))
        if number * 2 >= places.count { grow() }
    }

    /// The low halves of the hashes, by number.
    private var lows: [UInt32] = []

    private mutating func grow() {
        let old = places
        places = [UInt64](repeating: 0, count: old.count * 2)
        for entry in old where entry != 0 {
            let low = lows[Int(UInt32(truncatingIfNeeded: entry)) - 1]
            var place = Int(low) & (places.count - 1)
            while places[place] != 0 { place = self.place(after: place) }
            places[place] = entry
        }
    }
}
