#if Rivals
import CLMDB

/// LMDB with a tree of packed rows by key and a second tree from uid to key. It has no query layer: its scans are
/// cursor loops written for this one query.
final class LMDBEvents: EventContestant {
    static let contestant = Contestant.lmdb

    /// A row: latitude, longitude, created, magnitude (i64), length of uid (u16), uid, name.
    private enum Offset { static let latitude = 0, longitude = 8, created = 16, magnitude = 24, uidLength = 32, uid = 34 }

    private let store: LMDBEnvironment
    private let rows: MDB_dbi
    private let index: MDB_dbi

    /// LMDB uses the kernel's page cache, so it has no memory to limit.
    init(path: String, poolBytes: Int) throws {
        store = try LMDBEnvironment(path: path, readsAhead: poolBytes >= 1 << 30)
        rows = try store.open("event", MDB_INTEGERKEY)
        index = try store.open("uid")
    }

    func load(_ events: [EventGenerator.Event]) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 8)
        defer { buffer.deallocate() }
        try store.write { transaction in
            for (n, event) in events.enumerated() { try insert(transaction, UInt64(n + 1), event, buffer) }
        }
    }

    private func insert(
        _ transaction: OpaquePointer, _ key: UInt64, _ event: EventGenerator.Event, _ buffer: UnsafeMutableRawBufferPointer
    ) throws {
        buffer.storeBytes(of: event.latitude, toByteOffset: Offset.latitude, as: Double.self)
        buffer.storeBytes(of: event.longitude, toByteOffset: Offset.longitude, as: Double.self)
        buffer.storeBytes(of: event.created, toByteOffset: Offset.created, as: Double.self)
        buffer.storeBytes(of: Int64(event.magnitude), toByteOffset: Offset.magnitude, as: Int64.self)
        var (uid, name) = (event.uid, event.name)
        try withUnsafeBytes(of: key) { key in
            try uid.withUTF8 { uid in
                try name.withUTF8 { name in
                    buffer.storeBytes(of: UInt16(uid.count), toByteOffset: Offset.uidLength, as: UInt16.self)
                    buffer.baseAddress!.advanced(by: Offset.uid).copyMemory(from: uid.baseAddress!, byteCount: uid.count)
                    let end = Offset.uid + uid.count
                    buffer.baseAddress!.advanced(by: end).copyMemory(from: name.baseAddress!, byteCount: name.count)
                    var (rowKey, uidKey) = (MDB_val(key), MDB_val(UnsafeRawBufferPointer(uid)))
                    var row = MDB_val(UnsafeRawBufferPointer(rebasing: buffer[..<(end + name.count)]))
                    var target = MDB_val(key)
                    try lmdb(mdb_put(transaction, rows, &rowKey, &row, UInt32(MDB_APPEND)))
                    try lmdb(mdb_put(transaction, index, &uidKey, &target, UInt32(MDB_NOOVERWRITE)))
                }
            }
        }
    }

    func get(uids: [String]) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for uid in uids {
                var uid = uid
                try uid.withUTF8 { uid in
                    var (key, target, row) = (MDB_val(UnsafeRawBufferPointer(uid)), MDB_val(), MDB_val())
                    try lmdb(mdb_get(transaction, index, &key, &target))
                    try lmdb(mdb_get(transaction, rows, &target, &row))
                    sum &+= digestRow(row.bytes)
                }
            }
            return sum
        }
    }

    func get(keys: [UInt64]) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for key in keys {
                try withUnsafeBytes(of: key) { key in
                    var (key, row) = (MDB_val(key), MDB_val())
                    try lmdb(mdb_get(transaction, rows, &key, &row))
                    sum &+= digestRow(row.bytes)
                }
            }
            return sum
        }
    }

    @inline(__always)
    private func name(_ row: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let start = Offset.uid + Int(row.loadUnaligned(fromByteOffset: Offset.uidLength, as: UInt16.self))
        return UnsafeRawBufferPointer(rebasing: row[start...])
    }

    @inline(__always)
    private func longitude(_ row: UnsafeRawBufferPointer) -> Double {
        row.loadUnaligned(fromByteOffset: Offset.longitude, as: Double.self)
    }

    @inline(__always)
    private func digestRow(_ row: UnsafeRawBufferPointer) -> UInt64 {
        eventDigest(row.loadUnaligned(fromByteOffset: Offset.latitude, as: Double.self), name(row))
    }

    /// Calls a body for each row of a transaction.
    @inline(__always)
    private func forEach(_ transaction: OpaquePointer, _ body: (UnsafeRawBufferPointer, OpaquePointer?) throws -> Void) throws {
        var cursor: OpaquePointer?
        try lmdb(mdb_cursor_open(transaction, rows, &cursor))
        defer { mdb_cursor_close(cursor) }
        var (key, row) = (MDB_val(), MDB_val())
        while mdb_cursor_get(cursor, &key, &row, MDB_NEXT) == 0 { try body(row.bytes, cursor) }
    }

    private func sum(_ value: (UnsafeRawBufferPointer) -> UInt64) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            try forEach(transaction) { row, _ in sum &+= value(row) }
            return sum
        }
    }

    func countEast() throws -> UInt64 { try sum { longitude($0) > 37 ? 1 : 0 } }
    func readEast() throws -> UInt64 { try sum { longitude($0) > 37 ? digestRow($0) : 0 } }

    func countSevens() throws -> UInt64 {
        try sum { row in
            row.loadUnaligned(fromByteOffset: Offset.magnitude, as: Int64.self) > 5 && name(row).last == UInt8(ascii: "7") ? 1 : 0
        }
    }

    func firstByLongitude() throws -> UInt64? { nil }

    func insertOne(_ event: EventGenerator.Event) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 8)
        defer { buffer.deallocate() }
        try store.write { transaction in
            var status = MDB_stat()
            try lmdb(mdb_stat(transaction, rows, &status))
            try insert(transaction, UInt64(status.ms_entries) + 1, event, buffer)
        }
    }

    func updateEast() throws -> UInt64 {
        try store.write { transaction in
            var count: UInt64 = 0
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 8)
            defer { copy.deallocate() }
            var cursor: OpaquePointer?
            try lmdb(mdb_cursor_open(transaction, rows, &cursor))
            defer { mdb_cursor_close(cursor) }
            var (key, row) = (MDB_val(), MDB_val())
            while mdb_cursor_get(cursor, &key, &row, MDB_NEXT) == 0 {
                guard longitude(row.bytes) > 37 else { continue }
                copy.copyMemory(from: row.bytes)
                let magnitude = copy.loadUnaligned(fromByteOffset: Offset.magnitude, as: Int64.self)
                copy.storeBytes(of: magnitude + 1, toByteOffset: Offset.magnitude, as: Int64.self)
                var changed = MDB_val(UnsafeRawBufferPointer(rebasing: copy[..<row.mv_size]))
                try lmdb(mdb_cursor_put(cursor, &key, &changed, UInt32(MDB_CURRENT)))
                count += 1
            }
            return count
        }
    }

    func deleteEast() throws -> UInt64 {
        try store.write { transaction in
            var count: UInt64 = 0
            try forEach(transaction) { row, cursor in
                guard longitude(row) > 37 else { return }
                let length = Int(row.loadUnaligned(fromByteOffset: Offset.uidLength, as: UInt16.self))
                var uid = MDB_val(UnsafeRawBufferPointer(rebasing: row[Offset.uid..<Offset.uid + length]))
                try lmdb(mdb_del(transaction, index, &uid, nil))
                try lmdb(mdb_cursor_del(cursor, 0))
                count += 1
            }
            return count
        }
    }

    func close() throws { store.close() }
}
#endif
