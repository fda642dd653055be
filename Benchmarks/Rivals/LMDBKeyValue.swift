#if Rivals
import CLMDB

/// LMDB with records in its main tree.
final class LMDBKeyValue: KeyValueContestant {
    static let contestant = Contestant.lmdb
    static let settings = LMDBEnvironment.settings

    private let store: LMDBEnvironment
    private let tree: MDB_dbi

    init(path: String) throws {
        store = try LMDBEnvironment(path: path)
        tree = try store.open(nil)
    }

    func load(_ data: KeyValueData, _ order: [Int], isSorted: Bool) throws {
        try store.write { transaction in
            for i in order { try put(transaction, data.key(i), data.value(i), isSorted ? MDB_APPEND : 0) }
        }
    }

    private func put(
        _ transaction: OpaquePointer, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ flags: Int32 = 0
    ) throws {
        var key = MDB_val(key)
        var value = MDB_val(value)
        try lmdb(mdb_put(transaction, tree, &key, &value, UInt32(flags)))
    }

    func get(_ data: KeyValueData, _ records: ArraySlice<Int>) throws -> UInt64 {
        try store.read { transaction in
            var sum: UInt64 = 0
            for i in records {
                var key = MDB_val(data.key(i))
                var value = MDB_val()
                try lmdb(mdb_get(transaction, tree, &key, &value))
                sum &+= digest(value.bytes)
            }
            return sum
        }
    }

    func scan() throws -> UInt64 {
        try store.read { transaction in
            var cursor: OpaquePointer?
            try lmdb(mdb_cursor_open(transaction, tree, &cursor))
            defer { mdb_cursor_close(cursor) }
            var sum: UInt64 = 0
            var key = MDB_val()
            var value = MDB_val()
            while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 { sum &+= digest(value.bytes) }
            return sum
        }
    }

    func commit(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        try store.write { try put($0, key, value) }
    }

    func commitBatch(_ data: KeyValueData, _ records: ArraySlice<Int>) throws {
        try store.write { transaction in
            for i in records { try put(transaction, data.key(i), data.value(i)) }
        }
    }

    func holdLog() throws {}

    func close() throws { store.close() }
}
#endif
