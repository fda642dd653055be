import Testing

@testable import HornbeamEngine

/// An index and a sorted array have equal content after the same random operations.
@Suite struct IndexModelTests {
    struct Shape: Sendable, CustomTestStringConvertible {
        var pageSize: Int
        var keyLengths: ClosedRange<Int>
        var alphabet: ClosedRange<UInt8>
        var valueLengths: ClosedRange<Int>
        var testDescription: String { "page \(pageSize), keys \(keyLengths) of \(alphabet), values \(valueLengths)" }
    }

    static let shapes = [
        Shape(pageSize: 512, keyLengths: 1...4, alphabet: 97...100, valueLengths: 0...8),
        Shape(pageSize: 512, keyLengths: 0...60, alphabet: 0...1, valueLengths: 0...120),
        Shape(pageSize: 512, keyLengths: 8...8, alphabet: 0...255, valueLengths: 8...8),
        Shape(pageSize: 1024, keyLengths: 12...40, alphabet: 97...98, valueLengths: 0...20),
        Shape(pageSize: 4096, keyLengths: 16...16, alphabet: 0...255, valueLengths: 150...150),
        Shape(pageSize: 16384, keyLengths: 1...200, alphabet: 100...130, valueLengths: 0...400),
    ]

    @Test(arguments: shapes, [1, 2] as [UInt64])
    func answersAsASortedArrayDoes(_ shape: Shape, _ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try TestStore(pageSize: shape.pageSize)
        var model: [[UInt8]: [UInt8]] = [:]
        let tree = try store.write { try $0.createIndex(named: "t") }
        for round in 0..<12 {
            let transaction = try store.engine.begin()
            for _ in 0..<150 {
                let key = randomBytes(shape.keyLengths, shape.alphabet, &random)
                if round % 3 == 2, Int.random(in: 0..<3, using: &random) > 0, let old = model.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }).randomElement(using: &random) {
                    #expect(try transaction.delete(old, from: tree))
                    model[old] = nil
                } else if Bool.random(using: &random) {
                    let value = randomBytes(shape.valueLengths, 0...255, &random)
                    let isNew = try transaction.putNew(key, value, in: tree)
                    #expect(isNew == (model[key] == nil))
                    if isNew { model[key] = value }
                } else {
                    let value = randomBytes(shape.valueLengths, 0...255, &random)
                    try transaction.put(key, value, in: tree)
                    model[key] = value
                }
            }
            try IndexModel.expectEqual(try transaction.index(tree), model)
            if round % 4 == 3 { transaction.abort() } else { _ = try transaction.commit() }
            if round % 4 == 3 { model = try IndexModel.contents(try store.engine.snapshot().index(tree)) }
            if round % 5 == 4 { try store.engine.checkpoint() }
            if round == 7 { try store.reopen() }
            let index = try store.engine.snapshot().index(tree)
            try IndexModel.expectEqual(index, model)
            try IndexModel.expectRanges(index, model, &random) { randomBytes(shape.keyLengths, shape.alphabet, &$0) }
        }
        let keys = model.keys.sorted { $0.lexicographicallyPrecedes($1) }.shuffled(using: &random)
        try store.write { transaction in
            for key in keys {
                let isDeleted = try transaction.delete(key, from: tree)
                #expect(isDeleted)
            }
        }
        #expect(try store.engine.snapshot().index(tree).count == 0)
        #expect(try store.engine.check().problems == [])
    }

    private func randomBytes(
        _ lengths: ClosedRange<Int>, _ alphabet: ClosedRange<UInt8>, _ random: inout SplitMix
    ) -> [UInt8] {
        (0..<Int.random(in: lengths, using: &random)).map { _ in UInt8.random(in: alphabet, using: &random) }
    }
}
