import Foundation
import HornbeamEngine
import Testing

/// Batches beside a sorted array: every batch ends in the order of its keys, whatever they look like.
@Suite struct EntryBatchTests {
    /// How keys are made of a random number.
    enum Shape: CaseIterable {
        case random, hexadecimal, longPrefix, fewDifferent, empty

        func key(_ number: UInt64, _ i: Int) -> [UInt8] {
            switch self {
            case .random: withUnsafeBytes(of: number.bigEndian) { Array($0) }.prefix(Int(number % 8) + 1) + Array("\(i)".utf8)
            case .hexadecimal: Array((String(number, radix: 16) + "-\(i)").utf8)
            case .longPrefix: Array("a prefix that all of them share \(number % 10_000) \(i)".utf8)
            case .fewDifferent: Array("same head \(number % 3)".utf8) + [UInt8(i & 0xFF), UInt8(i >> 8)]
            case .empty: i == 0 ? [] : [UInt8(i & 0xFF), UInt8(i >> 8), 0]
            }
        }
    }

    @Test(arguments: Shape.allCases, [0, 1, 2, 3, 1000])
    func entriesOfABatchEndInTheOrderOfTheirKeys(shape: Shape, count: Int) throws {
        let store = try TestStore()
        let transaction = try store.engine.begin()
        let index = try transaction.createIndex(named: "entries")
        var random = SplitMix(seed: 7)
        let batch = EntryBatch()
        var model: [[UInt8]: [UInt8]] = [:]
        for i in 0..<count {
            let key = shape.key(random.next(), i)
            let value = Array("\(i)".utf8)
            model[key] = value
            key.withUnsafeBytes { key in value.withUnsafeBytes { batch.append(key, $0) } }
        }
        #expect(batch.count == count)
        #expect(try transaction.putNew(batch, in: index) == nil)
        var found: [[UInt8]] = []
        try transaction.index(index).forEach(in: KeyRange()) { key, value throws(EngineError) in
            found.append(Array(key))
            return model[Array(key)] == Array(value)
        }
        #expect(found == model.keys.sorted { $0.lexicographicallyPrecedes($1) })
        transaction.abort()
    }

    @Test func aKeyThatIsThereAlreadyIsNamedByItsPlaceInTheBatch() throws {
        let store = try TestStore()
        let transaction = try store.engine.begin()
        let index = try transaction.createIndex(named: "entries")
        try transaction.put(Array("m".utf8), [], in: index)
        let batch = EntryBatch()
        for key in ["z", "a", "m", "b"] { Array(key.utf8).withUnsafeBytes { batch.append($0, UnsafeRawBufferPointer(start: nil, count: 0)) } }
        #expect(try transaction.putNew(batch, in: index) == 2)
        batch.removeAll()
        for key in ["y", "x", "y"] { Array(key.utf8).withUnsafeBytes { batch.append($0, UnsafeRawBufferPointer(start: nil, count: 0)) } }
        #expect(try transaction.putNew(batch, in: index) == 2)
        transaction.abort()
    }

    /// A batch is put in parts; the entry may be at the end or at the beginning of one.
    @Test(arguments: [0, 1, 31, 32, 33, 63, 64, 99])
    func aDuplicateIsFoundAtEachPlaceInTheOrderOfKeys(place: Int) throws {
        let store = try TestStore()
        let transaction = try store.engine.begin()
        let index = try transaction.createIndex(named: "entries")
        let keys = (0..<100).map { Array("key \(String(format: "%03d", $0))".utf8) }
        try transaction.put(keys[place], [], in: index)
        let batch = EntryBatch()
        for key in keys.reversed() { key.withUnsafeBytes { batch.append($0, UnsafeRawBufferPointer(start: nil, count: 0)) } }
        #expect(try transaction.putNew(batch, in: index) == 99 - place)
        transaction.abort()
    }

    /// Values that are too large for a leaf, and a key that is too long, among entries that are put together.
    @Test func largeValuesAndLongKeysOfABatchAreTreatedAsThoseOfSingleEntries() throws {
        let store = try TestStore()
        let transaction = try store.engine.begin()
        let index = try transaction.createIndex(named: "entries")
        let batch = EntryBatch()
        var model: [[UInt8]: [UInt8]] = [:]
        for i in 0..<100 {
            let key = Array("key \(i)".utf8)
            let value = [UInt8](repeating: UInt8(i), count: i == 50 ? 10_000 : i)
            model[key] = value
            key.withUnsafeBytes { key in value.withUnsafeBytes { batch.append(key, $0) } }
        }
        try transaction.put(batch, in: index)
        for (key, value) in model { #expect(try transaction.index(index).get(key) == value) }
        batch.removeAll()
        for length in [3, 5_000] {
            [UInt8](repeating: 7, count: length).withUnsafeBytes { batch.append($0, UnsafeRawBufferPointer(start: nil, count: 0)) }
        }
        #expect(#expect(throws: EngineError.self) { try transaction.put(batch, in: index) }?.code == .tooLarge)
        transaction.abort()
    }
}
