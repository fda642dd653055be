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
    }
}
