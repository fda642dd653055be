import Testing

@testable import HornbeamEngine

/// Compares an index with a dictionary of its entries.
enum IndexModel {
    static func contents(_ index: IndexView) throws -> [[UInt8]: [UInt8]] {
        var found: [[UInt8]: [UInt8]] = [:]
        try index.forEach(in: KeyRange()) { key, value in
            found[Array(key)] = Array(value)
            return true
        }
        return found
    }

    static func expectEqual(_ index: IndexView, _ model: [[UInt8]: [UInt8]]) throws {
        let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        var i = 0
        try index.forEach(in: KeyRange()) { key, value in
            guard i < sorted.count else { return false }
            #expect(Array(key) == sorted[i].key && Array(value) == sorted[i].value, "entry \(i)")
            i += 1
            return true
        }
        #expect(i == sorted.count)
        #expect(index.count == sorted.count)
    }

    static func expectRanges(
        _ index: IndexView, _ model: [[UInt8]: [UInt8]], _ random: inout SplitMix, key: (inout SplitMix) -> [UInt8]
    ) throws {
        let sorted = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
        for _ in 0..<6 {
            let a = key(&random)
            let b = Bool.random(using: &random) ? nil : key(&random)
            let range = KeyRange(from: a, to: b)
            let expected = sorted.filter { !$0.lexicographicallyPrecedes(a) && (b.map($0.lexicographicallyPrecedes) ?? true) }
            #expect(try index.count(in: range) == expected.count)
            #expect(try index.get(a) == model[a])
            #expect(try index.rank(of: a) == sorted.count { $0.lexicographicallyPrecedes(a) })
            let skipped = Int.random(in: 0...4, using: &random)
            var forward: [[UInt8]] = []
            try index.forEach(in: range, skipping: skipped) { key, _ in
                forward.append(Array(key))
                return true
            }
            #expect(forward == Array(expected.dropFirst(skipped)))
            var backward: [[UInt8]] = []
            try index.forEach(in: range, reversed: true, skipping: skipped) { key, _ in
                backward.append(Array(key))
                return true
            }
            #expect(backward == Array(expected.reversed().dropFirst(skipped)))
            if let n = sorted.indices.randomElement(using: &random) {
                #expect(try index.entry(at: n)?.key == sorted[n])
            }
        }
    }
}
