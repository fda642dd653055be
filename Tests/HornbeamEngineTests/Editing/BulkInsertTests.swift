import Testing

@testable import HornbeamEngine

/// Batches of transactions that write pages change an index leaf by leaf.
@Suite struct BulkInsertTests {
    /// How keys are made of a number.
    enum Shape: CaseIterable {
        /// All over the index.
        case random
        /// With a long prefix, which others of the same batch do not share.
        case prefixed
        /// Of different lengths, some of them prefixes of others.
        case nested
        /// Above all others.
        case ascending

        func key(_ number: Int, _ random: inout SplitMix) -> [UInt8] {
            let bytes = Self.bytes(UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
            return switch self {
            case .random: bytes
            case .prefixed: Array("a prefix \(number % 5)".utf8) + bytes + bytes
            case .nested: [UInt8](repeating: 7, count: number % 60) + bytes.prefix(number % 3)
            case .ascending: [255] + Self.bytes(UInt64(number))
            }
        }

        private static func bytes(_ number: UInt64) -> [UInt8] { unsafe withUnsafeBytes(of: number.bigEndian) { unsafe Array($0) } }
    }

    private static func batch(_ entries: [(key: [UInt8], value: [UInt8])]) -> EntryBatch {
        let batch = EntryBatch()
        for (key, value) in entries { unsafe key.withUnsafeBytes { key in unsafe value.withUnsafeBytes { unsafe batch.append(key, $0) } } }
        return batch
    }

    /// A transaction whose commit writes pages in place of redo.
    private static func begin(_ store: TestStore) throws -> WriteTransaction {
        let transaction = try store.engine.begin()
        try transaction.applyDeferred()
        transaction.redo.abandon()
        return transaction
    }

    @Test("an index has the entries that single puts give it", arguments: [512, 4096, 16_384], 1...2 as ClosedRange<UInt64>)
    func resemblesSinglePuts(pageSize: Int, seed: UInt64) throws {
        // Indexes that fit in the pool get no insert buffer.
        let store = try TestStore(pageSize: pageSize) { $0.poolBytes = 4000 * pageSize }
        let index = try store.write { try $0.createIndex(named: "t") }
        var random = SplitMix(seed: seed)
        var model: [[UInt8]: [UInt8]] = [:]
        for round in 0..<10 {
            let transaction = try Self.begin(store)
            let shape = Shape.allCases.randomElement(using: &random)!
            let valueMax = [0, 8, pageSize / 4].randomElement(using: &random)!
            let count = [14, 200, 3000].randomElement(using: &random)!
            let numbers = Int.random(in: 1...5000, using: &random)
            let entries = (0..<count).map { n in
                let number = round % 3 == 0 ? round * 10_000 + n : Int.random(in: 0..<numbers, using: &random)
                return (key: shape.key(number, &random), value: [UInt8](repeating: UInt8(round), count: Int.random(in: 0...valueMax, using: &random)))
            }
            if round % 2 == 0 {
                try transaction.put(Self.batch(entries), in: index)
                for (key, value) in entries { model[key] = value }
            } else {
                let new = Dictionary(entries.filter { model[$0.key] == nil }.map { ($0.key, $0.value) }) { first, _ in first }
                #expect(try transaction.putNew(Self.batch(new.map { ($0.key, $0.value) }), in: index) == nil)
                model.merge(new) { _, new in new }
            }
            try #require(IndexModel.contents(try transaction.index(index)) == model, "seed \(seed), round \(round), \(shape)")
            #expect(try transaction.index(index).count == model.count)
            _ = try transaction.commit()
            #expect(try store.engine.check().problems == [], "seed \(seed), round \(round), \(shape)")
            if round % 4 == 3 { try store.reopen() }
            try IndexModel.expectEqual(try store.engine.snapshot().index(index), model)
        }
    }

    @Test("a key that exists, or is twice in the batch, is found in every place", arguments: [0, 1, 500, 998, 999], [false, true])
    func existingKeys(place: Int, isInBatch: Bool) throws {
        let store = try TestStore()
        let index = try store.write { try $0.createIndex(named: "t") }
        var random = SplitMix(seed: 1)
        let keys = (0..<1000).map { Shape.random.key($0, &random) }
        let transaction = try store.engine.begin()
        for number in 1000..<3000 { try transaction.put(Shape.random.key(number, &random), [], in: index) }
        if !isInBatch { try transaction.put(keys[place], [], in: index) }
        transaction.redo.abandon()
        let batch = Self.batch((keys + (isInBatch ? [keys[place]] : [])).map { ($0, []) })
        #expect(try transaction.putNew(batch, in: index) == (isInBatch ? 1000 : place))
        // The other leaves that were divided keep their entries.
        let view = try transaction.index(index)
        for number in 1000..<3000 { try #require(try view.get(Shape.random.key(number, &random)) != nil, "\(number)") }
        transaction.abort()
        #expect(try store.engine.check().problems == [])
    }

    @Test("a divided leaf has about half of its entries", arguments: 1...2 as ClosedRange<UInt64>)
    func dividedLeaves(seed: UInt64) throws {
        let store = try TestStore { $0.poolBytes = 4000 * 1024 }
        let index = try store.write { try $0.createIndex(named: "t") }
        var random = SplitMix(seed: seed)
        for round in 0..<30 {
            let transaction = try Self.begin(store)
            try transaction.put(Self.batch((0..<400).map { (Shape.random.key(round * 400 + $0, &random), [1, 2, 3]) }), in: index)
            _ = try transaction.commit()
        }
        let transaction = try store.engine.begin()
        let editor = try transaction.index(editing: index)
        var leaves = 0
        var link = try editor.descendCopyingInner { _ in 0 }
        while link != nil {
            leaves += 1
            link = try editor.stepCopyingInner()
        }
        transaction.abort()
        // An entry takes 17 bytes.
        #expect((12_000 * 17 / 1024)...(12_000 * 17 * 2 / 1024) ~= leaves)
    }

    @Test("two leaves replace one whatever the sizes of the entries are", arguments: 0..<10 as Range<UInt64>)
    func halves(block: UInt64) throws {
        for seed in block * 100..<(block + 1) * 100 { try Self.divide(seed) }
    }

    private static func divide(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let pageSize = 1024
        func page() -> Page { unsafe Page(.allocate(byteCount: pageSize, alignment: 4096)) }
        let pages = (page(), page(), page())
        defer { for page in [pages.0, pages.1, pages.2] { unsafe page.base.deallocate() } }
        let prefix = [UInt8](repeating: 2, count: [0, 3, 60, 110].randomElement(using: &random)!)
        let leaf = prefix.withBorrowedBytes { SlottedNode.create(in: pages.0, inner: false, level: 0, capacity: 40, limit: pageSize, prefix: $0) }
        var model: [[UInt8]: [UInt8]] = [:]
        func entry(_ prefix: [UInt8]) -> (key: [UInt8], value: [UInt8]) {
            let rest = (0..<Int.random(in: 0...(pageSize / 8 - prefix.count), using: &random)).map { _ in UInt8.random(in: 0...3, using: &random) }
            return (prefix + rest, [UInt8](repeating: 9, count: Int.random(in: 0...(Bool.random(using: &random) ? 4 : pageSize / 4), using: &random)))
        }
        while true {
            let (key, value) = entry(prefix)
            if model[key] != nil { continue }
            let isDone = key.withBorrowedBytes { key in value.withBorrowedBytes { leaf.insert(at: leaf.lowerBound(key).index, key: key, value: $0) } }
            if !isDone { break }
            model[key] = value
        }
        var new: [[UInt8]: [UInt8]] = [:]
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let (key, value) = entry(Bool.random(using: &random) ? prefix : [])
            if model[key] == nil { new[key] = value }
        }
        if new.isEmpty { return }
        let all = model.merging(new) { $1 }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        _ = try Self.batch(new.map { ($0.key, $0.value) }).forEachPart(of: 100) { (part, entry) throws(EngineError) -> Int? in
            guard let merged = MergedEntries(leaf, part, entry) else {
                Issue.record("No keys are equal, seed \(seed).")
                return nil
            }
            if let one = merged.build(merged.all, prefixMax: prefix.count, into: pages.1, limit: pageSize) {
                #expect((0..<one.count).map { one.key($0) } == all.map(\.key), "seed \(seed)")
                return nil
            }
            let (left, right) = merged.halves
            let first = merged.build(left, into: pages.1, limit: pageSize)
            let second = merged.build(right, into: pages.2, limit: pageSize)
            // More than two pages are possible: then the entries are put one by one.
            guard let first, let second else { return nil }
            #expect(first.count > 0 && second.count > 0)
            #expect((0..<first.count).map { first.key($0) } + (0..<second.count).map { second.key($0) } == all.map(\.key), "seed \(seed)")
            #expect((0..<first.count).map { first.value($0).array } + (0..<second.count).map { second.value($0).array } == all.map(\.value), "seed \(seed)")
            return nil
        }
    }
}
