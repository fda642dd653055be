import HornbeamEngine

/// Hornbeam's engine: a table of columns and an index of uid to key.
final class EngineEvents: EventContestant {
    static let contestant = Contestant.hornbeam

    private enum Place {
        static let uid = 0, latitude = 1, longitude = 2, created = 3, name = 4, magnitude = 5
    }

    private static let layout = ColumnLayout(columns: [
        Column(id: ColumnID(1), kind: .bytes), Column(id: ColumnID(2), kind: .fixed8), Column(id: ColumnID(3), kind: .fixed8),
        Column(id: ColumnID(4), kind: .fixed8), Column(id: ColumnID(5), kind: .bytes), Column(id: ColumnID(6), kind: .fixed2),
    ])

    private let engine: Engine
    private let table: TreeID
    private let index: TreeID

    init(path: String, poolBytes: Int) throws {
        var options = EngineOptions()
        options.poolBytes = poolBytes
        engine = try Engine.open(path, options: options)
        let snapshot = try engine.snapshot()
        if let table = snapshot.tree(named: "event"), let index = snapshot.tree(named: "event.uid") {
            self.table = table
            self.index = index
        } else {
            let transaction = try engine.begin()
            table = try transaction.createTable(named: "event", layout: Self.layout)
            index = try transaction.createIndex(named: "event.uid")
            _ = try transaction.commit()
        }
    }

    func load(_ events: [EventGenerator.Event]) throws {
        let transaction = try engine.begin()
        let row = RowBuffer(layout: Self.layout)
        let batch = EntryBatch()
        for (n, event) in events.enumerated() {
            row.reset()
            row.setString(Place.uid, event.uid)
            row.set(Place.latitude, event.latitude)
            row.set(Place.longitude, event.longitude)
            row.set(Place.created, event.created)
            row.setString(Place.name, event.name)
            row.set(Place.magnitude, Int16(event.magnitude))
            try transaction.put(row, key: UInt64(n + 1), in: table)
            event.uid.withUTF8Bytes { uid in withUnsafeBytes(of: UInt64(n + 1).littleEndian) { batch.append(uid, $0) } }
            if batch.count == Self.batchCount { try put(batch, transaction) }
        }
        try put(batch, transaction)
        _ = try transaction.commit()
    }

    /// The number of uids that are sorted together before they are put into the index.
    private static let batchCount = 1 << 18

    private func put(_ batch: EntryBatch, _ transaction: WriteTransaction) throws {
        guard try transaction.putNew(batch, in: index) == nil else { throw BenchmarkError("A uid is there twice.") }
        batch.removeAll()
    }

    func get(uids: [String]) throws -> UInt64 {
        let snapshot = try engine.snapshot()
        let table = try snapshot.table(table)
        let index = try snapshot.index(index)
        var sum: UInt64 = 0
        for uid in uids {
            guard let key = try uid.withUTF8Bytes({ try index.getObjectKey($0) }) else { throw BenchmarkError("A uid is gone.") }
            sum &+= try table.withRow(key, Self.digestRow) ?? 0
        }
        return sum
    }

    func get(keys: [UInt64]) throws -> UInt64 {
        let table = try engine.snapshot().table(table)
        var sum: UInt64 = 0
        for key in keys { sum &+= try table.withRow(key, Self.digestRow) ?? 0 }
        return sum
    }

    @inline(__always)
    private static func digestRow(_ row: RowView) throws(EngineError) -> UInt64 {
        let latitude = row.load(Place.latitude, as: Double.self)
        return try row.withBytes(Place.name) { eventDigest(latitude, $0) }
    }

    func countEast() throws -> UInt64 {
        let view = try engine.snapshot().table(table)
        var count: UInt64 = 0
        try view.forEachLeaf(prefetching: 1 << UInt64(Place.longitude)) { leaf throws(EngineError) in
            guard let cells = leaf.fixedCells(Place.longitude) else { return true }
            count &+= Self.countAbove37(cells, leaf.count)
            return true
        }
        return count
    }

    /// Eight cells at a time; null cells are zero and do not count.
    private static func countAbove37(_ cells: UnsafeRawBufferPointer, _ count: Int) -> UInt64 {
        let limit = SIMD8<Double>(repeating: 37)
        var found = SIMD8<Int64>()
        for start in stride(from: 0, to: count & ~7, by: 8) {
            let eight = cells.loadUnaligned(fromByteOffset: start * 8, as: SIMD8<Double>.self)
            found.replace(with: found &+ 1, where: eight .> limit)
        }
        var sum = UInt64(bitPattern: found.wrappedSum())
        for i in count & ~7..<count where cells.loadUnaligned(fromByteOffset: i * 8, as: Double.self) > 37 { sum &+= 1 }
        return sum
    }

    func readEast() throws -> UInt64 {
        let view = try engine.snapshot().table(table)
        var sum: UInt64 = 0
        try view.forEachLeaf(prefetching: 1 << UInt64(Place.longitude)) { leaf throws(EngineError) in
            guard let cells = leaf.fixedCells(Place.longitude) else { return true }
            for i in 0..<leaf.count where cells.loadUnaligned(fromByteOffset: i * 8, as: Double.self) > 37 {
                sum &+= try Self.digestRow(leaf.row(i))
            }
            return true
        }
        return sum
    }

    func countSevens() throws -> UInt64 {
        let view = try engine.snapshot().table(table)
        var count: UInt64 = 0
        try view.forEachLeaf { leaf throws(EngineError) in
            guard let cells = leaf.fixedCells(Place.magnitude) else { return true }
            for i in 0..<leaf.count where cells.loadUnaligned(fromByteOffset: i * 2, as: Int16.self) > 5 {
                count &+= try leaf.row(i).withBytes(Place.name) { $0.last == UInt8(ascii: "7") } ? 1 : 0
            }
            return true
        }
        return count
    }

    func firstByLongitude() throws -> UInt64? { nil }

    func insertOne(_ event: EventGenerator.Event) throws { throw BenchmarkError("Single events are saved through objects.") }

    func updateEast() throws -> UInt64 {
        let transaction = try engine.begin()
        let rows = try east(of: transaction)
        try transaction.alter(rows, by: [.add(column: Place.magnitude, step: 1)], in: table)
        _ = try transaction.commit()
        return UInt64(rows.count)
    }

    func deleteEast() throws -> UInt64 {
        let transaction = try engine.begin()
        let rows = try east(of: transaction)
        try transaction.deleteEntries(of: rows.keys, at: .startOfValue, from: index)
        try transaction.delete(rows, from: table)
        _ = try transaction.commit()
        return UInt64(rows.count)
    }

    private func east(of transaction: WriteTransaction) throws -> RowSelection {
        var rows = RowSelection()
        try transaction.table(table).forEachLeaf { leaf throws(EngineError) in
            guard let cells = leaf.fixedCells(Place.longitude) else { return true }
            var bits = [UInt64](repeating: 0, count: (leaf.count + 63) / 64)
            for i in 0..<leaf.count where cells.loadUnaligned(fromByteOffset: i * 8, as: Double.self) > 37 {
                bits[i / 64] |= 1 << UInt64(i % 64)
            }
            rows.append(leaf, bits)
            return true
        }
        return rows
    }

    func close() throws { try engine.close() }
}

extension String {
    /// Calls the body with the bytes of the text. Native strings are not copied.
    @inline(__always)
    func withUTF8Bytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        var text = self
        return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }
}
