import Testing

@testable import HornbeamEngine

/// The last eight bytes of keys, read without the rest of them.
@Suite struct KeySuffixTests {
    /// Keys with a common start of some length, and a number behind it.
    private static func key(_ number: UInt64, start: Int) -> [UInt8] {
        Array(repeating: 0xAB, count: start) + (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }

    @Test("numbers are in order after any prefix", arguments: 0...24)
    func numbersComeInOrder(start: Int) throws {
        let store = try TestStore(pageSize: 512)
        let numbers = (1...300).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 }.sorted()
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in numbers { try transaction.put(Self.key(number, start: start), [], in: tree) }
            return tree
        }
        let view = try store.engine.snapshot().index(tree)
        var found: [UInt64] = []
        try view.forEachSuffix(in: KeyRange()) { number throws(EngineError) in
            found.append(number)
            return true
        }
        #expect(found == numbers)
        found = []
        let range = KeyRange(from: Self.key(numbers[20], start: start), to: Self.key(numbers[200], start: start))
        try view.forEachSuffix(in: range, skipping: 10) { number throws(EngineError) in
            found.append(number)
            return found.count < 50
        }
        #expect(found == Array(numbers[30..<80]))
        for most in [0, 1, 2, 50, 170, 500, Int.max] {
            #expect(try view.suffixes(in: range, skipping: 10, most: most) == Array(numbers[30..<200].prefix(most)))
            #expect(try view.suffixes(in: KeyRange(), most: most) == Array(numbers.prefix(most)))
        }
        #expect(try view.suffixes(in: KeyRange(from: range.lower, to: range.lower), most: 5).isEmpty)
    }

    @Test("ranges of every position and length are walked in both directions")
    func everyRange() throws {
        let store = try TestStore(pageSize: 512)
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in 0..<80 { try transaction.put(Self.key(UInt64(2 * number), start: 2), [], in: tree) }
            return tree
        }
        let view = try store.engine.snapshot().index(tree)
        for lower in stride(from: 0, through: 162, by: 3) {
            for upper in stride(from: 0, through: 162, by: 5) {
                let wanted = (0..<80).map { UInt64(2 * $0) }.filter { $0 >= UInt64(lower) && $0 < UInt64(upper) }
                let range = KeyRange(from: Self.key(UInt64(lower), start: 2), to: Self.key(UInt64(upper), start: 2))
                #expect(try view.suffixes(in: range, most: .max) == wanted, "from \(lower) to \(upper)")
                var backward: [UInt64] = []
                try unsafe view.forEach(in: range, reversed: true) { key, _ throws(EngineError) in
                    unsafe backward.append(UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 2, as: UInt64.self)))
                    return true
                }
                #expect(backward == wanted.reversed(), "backward from \(lower) to \(upper)")
            }
        }
    }

    @Test("keys with a prefix are those of the prefix's range, for prefixes of every length", arguments: [0, 1, 2, 7, 8, 9, 20])
    func everyPrefix(start: Int) throws {
        let store = try TestStore(pageSize: 512)
        // Groups of keys with equal second bytes, of one to a hundred keys: within a leaf and over several.
        let firstBytes: [UInt64] = [0, 1, 2, 255]
        let numbers = (0..<400).map { (number: Int) -> UInt64 in
            let middle: UInt64 = number % 100 == 3 ? 77 : UInt64(number)
            return firstBytes[number % 4] << 56 | middle << 20 | UInt64(number)
        }.sorted()
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            for number in numbers { try transaction.put(Self.key(number, start: start) + Self.key(number, start: 0), [], in: tree) }
            return tree
        }
        let view = try store.engine.snapshot().index(tree)
        let reader = IndexReader(view)
        var found: [UInt64] = [7]
        for number in numbers + [3 << 56, 77 << 20] {
            let key = Self.key(number, start: start) + Self.key(number, start: 0)
            for length in 0...key.count {
                let prefix = Array(key[..<length])
                let wanted = try view.suffixes(in: KeyRange(prefix: prefix), most: .max)
                if length == 8 {
                    let number = prefix.reduce(0) { $0 << 8 | UInt64($1) }
                    for most in [0, 1, 5, Int.max] {
                        #expect(try reader.suffixes(startingWith: number, most: most) == Array(wanted.prefix(most)), "\(prefix), at most \(most)")
                    }
                }
                for most in [0, 1, 5, 1000] {
                    let isComplete = try reader.findSuffixes(startingWith: prefix, most: most, into: &found)
                    #expect(isComplete == (wanted.count <= most), "\(prefix), at most \(most)")
                    #expect(found == Array(wanted.prefix(isComplete ? most : most + 1)), "\(prefix), at most \(most)")
                }
            }
        }
    }

    @Test("a key that is too short is damage, not a trap")
    func shortKeys() throws {
        let store = try TestStore()
        let tree = try store.write { transaction in
            let tree = try transaction.createIndex(named: "t")
            try transaction.put([1, 2, 3], [], in: tree)
            return tree
        }
        let error = #expect(throws: EngineError.self) {
            try store.engine.snapshot().index(tree).forEachSuffix(in: KeyRange()) { _ throws(EngineError) in true }
        }
        #expect(error?.message == "An index entry has a key of 3 bytes where 8 are needed.")
        var found: [UInt64] = []
        let reader = IndexReader(try store.engine.snapshot().index(tree))
        let other = #expect(throws: EngineError.self) { _ = try reader.findSuffixes(startingWith: [1, 2], most: 1, into: &found) }
        #expect(other?.message == "An index entry has a key of 3 bytes where 8 are needed.")
    }
}
