import HornbeamEngine

extension EngineHistory {
    /// Executes one transaction, which also reads its own changes, and commits or aborts it.
    mutating func write() throws {
        let transaction = try engine.begin()
        var next = now
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<7: try changeIndex(transaction, &next)
            case 7..<14: try changeTable(transaction, &next)
            case 14..<18: try readOwn(transaction, next)
            case 18: try changeRest(transaction, &next)
            default: if Int.random(in: 0..<12, using: &random) == 0 { try changeTrees(transaction, &next) }
            }
        }
        if Int.random(in: 0..<5, using: &random) == 0 { return transaction.abort() }
        operations += 1
        let number = try transaction.commit(Int.random(in: 0..<4, using: &random) == 0 ? .lazy(maxDelay: .seconds(1_000_000)) : .full)
        // The number can be higher, because the cleaner commits transactions too.
        try expect(engine.latest >= number, "the newest transaction is \(engine.latest), before \(number), which was committed")
        now = next
    }

    private mutating func readOwn(_ transaction: WriteTransaction, _ content: Content) throws {
        operations += 1
        if Bool.random(using: &random) {
            try readIndex(try transaction.index(content.indexID), content)
        } else {
            try readTable(try transaction.table(content.tableID), content)
        }
    }

    // MARK: Indexes

    private mutating func changeIndex(_ transaction: WriteTransaction, _ next: inout Content) throws {
        let count = Int.random(in: 0..<6, using: &random) == 0 ? Int.random(in: 1...80, using: &random) : 1
        let kind = Int.random(in: 0..<10, using: &random)
        for key in count == 1 ? [anyKey()] : run(of: count) {
            operations += 1
            if kind < 4 {
                let stamp = PlainContent.stamp(&random)
                unsafe try keys[key].withUnsafeBytes { key in
                    unsafe try PlainContent.withBytes(stamp) { unsafe try transaction.put(key, $0, in: next.indexID) }
                }
                next.index[key] = stamp
            } else if kind < 6 {
                let stamp = PlainContent.stamp(&random)
                let isNew = unsafe try keys[key].withUnsafeBytes { key in
                    unsafe try PlainContent.withBytes(stamp) { unsafe try transaction.putNew(key, $0, in: next.indexID) }
                }
                try expect(isNew == !next.index.contains(key), "putNew of key \(key) returns \(isNew)")
                if isNew { next.index[key] = stamp }
            } else {
                let isDeleted = try transaction.delete(keys[key], from: next.indexID)
                try expect(isDeleted == next.index.contains(key), "delete of key \(key) returns \(isDeleted)")
                next.index[key] = nil
            }
        }
    }

    // MARK: Tables

    private mutating func changeTable(_ transaction: WriteTransaction, _ next: inout Content) throws {
        let count = Int.random(in: 0..<6, using: &random) == 0 ? Int.random(in: 1...80, using: &random) : 1
        let run = count == 1 ? [anyKey()] : run(of: count)
        operations += run.count
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: try putRows(run, transaction, &next)
        case 6, 7: try patchRows(run, transaction, &next)
        default:
            let present = run.filter { next.table.contains($0) }
            if Bool.random(using: &random) {
                let deleted = try transaction.delete(run.map { UInt64($0) + 1 }, from: next.tableID)
                try expect(deleted == present.count, "delete of rows \(run) returns \(deleted)")
            } else {
                let rows = try selection(run, transaction, next)
                try expect(rows.count == present.count, "\(rows.count) of the rows \(run) are selected")
                try transaction.delete(rows, from: next.tableID)
            }
            for key in present { (next.table[key], next.patches[key]) = (nil, 0) }
        }
    }

    private mutating func putRows(_ run: [Int], _ transaction: WriteTransaction, _ next: inout Content) throws {
        let buffer = buffers[next.layout - 1]
        for key in run {
            let stamp = PlainContent.stamp(version: UInt64(next.layout), &random)
            PlainContent.fill(buffer, stamp)
            try transaction.put(buffer, key: UInt64(key) + 1, in: next.tableID)
            next.table[key] = stamp
            next.patches[key] = 0
        }
    }

    private func selection(_ run: [Int], _ transaction: WriteTransaction, _ content: Content) throws -> RowSelection {
        try transaction.table(content.tableID).selection(of: run.map { UInt64($0) + 1 })
    }

    private mutating func patchRows(_ run: [Int], _ transaction: WriteTransaction, _ next: inout Content) throws {
        if Bool.random(using: &random) { return try patchAlike(run, transaction, &next) }
        let patches = run.map { _ in random.next() | 1 }
        let nulls = patches.map { PlainContent.patched($0) == nil }
        unsafe try patches.withUnsafeBytes {
            unsafe try transaction.patch(0, of: run.map { UInt64($0) + 1 }, values: unsafe $0, nulls: nulls, in: next.tableID)
        }
        for (key, patch) in zip(run, patches) where next.table.contains(key) { next.patches[key] = patch }
    }

    /// Sets the same cell in all rows by one bulk rewrite.
    private mutating func patchAlike(_ run: [Int], _ transaction: WriteTransaction, _ next: inout Content) throws {
        let patch = random.next() | 1
        let cell = unsafe PlainContent.patched(patch) == nil ? nil : withUnsafeBytes(of: patch) { unsafe Array($0) }
        try transaction.alter(selection(run, transaction, next), by: [.set(column: 0, cell: cell)], in: next.tableID)
        for key in run where next.table.contains(key) { next.patches[key] = patch }
    }

    // MARK: The rest

    private mutating func changeRest(_ transaction: WriteTransaction, _ next: inout Content) throws {
        operations += 1
        let name = "a value"
        try expect(try transaction.value(name).map(Self.number) == next.value, "the named value differs")
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            let count = Int.random(in: 0..<5, using: &random)
            try expect(try transaction.reserve(count) == next.nextKey, "the sequence continues at another number")
            next.nextKey += UInt64(count)
        case 1:
            next.value = random.next()
            unsafe try transaction.setValue(name, withUnsafeBytes(of: next.value!) { unsafe Array($0) })
        default:
            next.value = nil
            try transaction.setValue(name, nil)
        }
    }

    static func number(_ bytes: [UInt8]) -> UInt64 { unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt64.self) } }

    /// Adds a layout, or drops a tree and creates an empty one.
    private mutating func changeTrees(_ transaction: WriteTransaction, _ next: inout Content) throws {
        operations += 1
        let kind = Int.random(in: 0..<3, using: &random)
        if kind == 0, next.layout < PlainContent.layouts.count {
            do throws(EngineError) {
                try transaction.setLayout(PlainContent.layouts[next.layout], of: next.tableID)
                next.layout += 1
            } catch {
                // The smallest page size does not allow this many columns.
                guard error.code == .tooLarge else { throw error }
            }
        } else if kind == 1 {
            try transaction.drop(next.indexID)
            next.indexID = try transaction.createIndex(named: "index")
            next.index = PlainTree(keys: keys.count)
        } else if kind == 2 {
            try transaction.drop(next.tableID)
            next.tableID = try transaction.createTable(named: "table", layout: PlainContent.layouts[0])
            next.table = PlainTree(keys: keys.count)
            next.patches = Array(repeating: 0, count: keys.count)
            next.layout = 1
        }
    }
}
