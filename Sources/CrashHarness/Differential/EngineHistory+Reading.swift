import HornbeamEngine

extension EngineHistory {
    // MARK: Indexes

    /// Reads an index in one of several ways, and compares the result with the model.
    mutating func readIndex(_ index: IndexView, _ content: Content) throws {
        let key = anyKey()
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<6:
            let isRight = unsafe try keys[key].withUnsafeBytes { bytes in
                unsafe try index.withValue(bytes) { value in content.index[key].map { unsafe PlainContent.isEqual(value, $0) } ?? false }
            }
            try expect(isRight ?? !content.index.contains(key), "key \(key) has another value")
        case 6: try expect(index.count == content.index.count, "an index counts \(index.count)")
        case 7:
            try expect(try index.rank(of: keys[key]) == content.index.rank(of: key), "key \(key) has another rank")
            let between = keys[key] + [0]
            try expect(try index.rank(of: between) == content.index.rank(of: key + 1), "the rank after key \(key) is another")
        case 8:
            let n = Int.random(in: 0...content.index.count, using: &random)
            let entry = try index.entry(at: n)
            let expected = content.index.key(at: n)
            try expect(entry?.key == expected.map { keys[$0] }, "entry \(n) has another key")
            if let entry, let expected {
                let isRight = unsafe entry.value.withUnsafeBytes { unsafe PlainContent.isEqual($0, content.index[expected]!) }
                try expect(isRight, "entry \(n) has another value")
            }
        case 9:
            let other = anyKey()
            let range = KeyRange(from: keys[min(key, other)], to: keys[max(key, other)])
            let expected = content.index.rank(of: max(key, other)) - content.index.rank(of: min(key, other))
            try expect(try index.count(in: range) == expected, "a range has another count")
        default: try walk(index, content)
        }
    }

    /// Iterates over a part of a range, forwards or backwards.
    private mutating func walk(_ index: IndexView, _ content: Content) throws {
        let bounds = [anyKey(), anyKey()].sorted()
        let isReversed = Bool.random(using: &random)
        let skipped = Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 0..<50, using: &random) : 0
        let limit = Int.random(in: 1...60, using: &random)
        let first = content.index.rank(of: bounds[0])
        let end = content.index.rank(of: bounds[1])
        var n = isReversed ? end - 1 - skipped : first + skipped
        var seen = 0
        var wrong: Int?
        unsafe try index.forEach(in: KeyRange(from: keys[bounds[0]], to: keys[bounds[1]]), reversed: isReversed, skipping: skipped) { key, value in
            guard n >= first, n < end, let expected = content.index.key(at: n), unsafe keys[expected].elementsEqual(key),
                unsafe PlainContent.isEqual(value, content.index[expected]!)
            else {
                wrong = n
                return false
            }
            n += isReversed ? -1 : 1
            seen += 1
            return seen < limit
        }
        try expect(wrong == nil, "a walk finds a wrong entry at \(wrong ?? 0)")
        try expect(seen == min(max(end - first - skipped, 0), limit), "a walk ends after \(seen) entries")
    }

    // MARK: Tables

    /// Reads a table in one of several ways, and compares the result with the model.
    mutating func readTable(_ table: TableView, _ content: Content) throws {
        let key = anyKey()
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<5:
            let isRight = try table.withRow(UInt64(key) + 1) { row throws(EngineError) in try isEqual(row, key, content) }
            try expect(isRight ?? !content.table.contains(key), "row \(key) differs")
        case 5: try expect(table.count == content.table.count, "a table counts \(table.count)")
        case 6: try expect(try table.rank(of: UInt64(key) + 1) == content.table.rank(of: key), "row \(key) has another rank")
        case 7:
            let n = Int.random(in: 0...content.table.count, using: &random)
            try expect(try table.key(at: n) == content.table.key(at: n).map { UInt64($0) + 1 }, "row \(n) has another key")
        case 8: try expect(try table.contains(UInt64(key) + 1) == content.table.contains(key), "row \(key) exists only in the store or only in the model")
        case 9: try readBatch(table, content)
        case 10: try readTwice(table, key, content)
        default: try walk(table, from: key, content)
        }
    }

    private func isEqual(_ row: RowView, _ key: Int, _ content: Content) throws(EngineError) -> Bool {
        guard let stamp = content.table[key] else { return false }
        let patch = content.patches[key]
        return try PlainContent.isEqual(row, stamp, patch: patch == 0 ? nil : patch, version: content.layout)
    }

    private mutating func readBatch(_ table: TableView, _ content: Content) throws {
        let run = run(of: Int.random(in: 1...40, using: &random))
        var expected = run.indices.filter { content.table.contains(run[$0]) }[...]
        var isRight = true
        try table.forEachRow(run.map { UInt64($0) + 1 }) { n, row, _ throws(EngineError) in
            isRight = expected.popFirst() == n
            if isRight { isRight = try isEqual(row, run[n], content) }
            return isRight
        }
        try expect(isRight && expected.isEmpty, "rows \(run) differ")
    }

    /// Reads a row twice, the second time at the location that the first read has found.
    private mutating func readTwice(_ table: TableView, _ key: Int, _ content: Content) throws {
        var location = RowLocation()
        for _ in 0..<2 {
            let isRight = try table.withRow(UInt64(key) + 1, at: &location) { row throws(EngineError) in try isEqual(row, key, content) }
            try expect(isRight ?? !content.table.contains(key), "row \(key) differs at its known location")
        }
    }

    /// Iterates over some leaves from a key on.
    private mutating func walk(_ table: TableView, from key: Int, _ content: Content) throws {
        var next = content.table.next(from: key)
        var rows = Int.random(in: 1...100, using: &random)
        var isRight = true
        try table.forEachLeaf(from: UInt64(key) + 1) { leaf throws(EngineError) in
            for slot in 0..<leaf.count where leaf.key(slot) > UInt64(key) {
                guard let expected = next, leaf.key(slot) == UInt64(expected) + 1, try self.isEqual(leaf.row(slot), expected, content) else {
                    isRight = false
                    return false
                }
                next = content.table.next(from: expected + 1)
            }
            rows -= leaf.count
            return rows > 0
        }
        try expect(isRight && (next == nil || rows <= 0), "a walk over rows from \(key) on finds wrong rows")
    }

    // MARK: All

    /// Reads the whole content once.
    mutating func readAll(_ snapshot: Snapshot, _ content: Content) throws {
        operations += 2
        var n = 0
        var isRight = true
        unsafe try snapshot.index(content.indexID).forEach(in: KeyRange()) { key, value in
            guard let expected = content.index.key(at: n) else { isRight = false; return false }
            isRight = unsafe keys[expected].elementsEqual(key) && PlainContent.isEqual(value, content.index[expected]!)
            n += 1
            return isRight
        }
        try expect(isRight && n == content.index.count, "the index differs")
        var next = content.table.next(from: 0)
        try snapshot.table(content.tableID).forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count {
                guard let key = next, leaf.key(slot) == UInt64(key) + 1, try self.isEqual(leaf.row(slot), key, content) else {
                    isRight = false
                    return false
                }
                next = content.table.next(from: key + 1)
            }
            return true
        }
        try expect(isRight && next == nil, "the table differs")
        try expect(try snapshot.value("a value").map(Self.number) == content.value, "the named value differs")
    }
}
