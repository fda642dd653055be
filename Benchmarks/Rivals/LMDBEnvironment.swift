#if Rivals
import CLMDB

/// Throws an error if LMDB reports one.
func lmdb(_ status: Int32) throws {
    guard status == 0 else { throw BenchmarkError("LMDB: \(String(cString: mdb_strerror(status)))") }
}

/// A store of LMDB in one file, with its default durability: a commit is on the medium when it returns.
final class LMDBEnvironment {
    static let settings = "LMDB: C API, default durability, map of 8 GiB, sorted bulk inserts with MDB_APPEND, MDB_NORDAHEAD where memory is limited"
    let environment: OpaquePointer

    /// - Parameter readsAhead: False for data that do not fit into memory, as LMDB's documentation recommends.
    init(path: String, readsAhead: Bool = true) throws {
        var environment: OpaquePointer?
        try lmdb(mdb_env_create(&environment))
        self.environment = environment!
        try lmdb(mdb_env_set_mapsize(self.environment, 8 << 30))
        try lmdb(mdb_env_set_maxdbs(self.environment, 4))
        try lmdb(mdb_env_open(self.environment, path, UInt32(MDB_NOSUBDIR | (readsAhead ? 0 : MDB_NORDAHEAD)), 0o644))
    }

    func close() { mdb_env_close(environment) }

    func write<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
        var transaction: OpaquePointer?
        try lmdb(mdb_txn_begin(environment, nil, 0, &transaction))
        do {
            let result = try body(transaction!)
            try lmdb(mdb_txn_commit(transaction))
            return result
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
    }

    func read<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
        var transaction: OpaquePointer?
        try lmdb(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
        defer { mdb_txn_abort(transaction) }
        return try body(transaction!)
    }

    func open(_ name: String?, _ flags: Int32 = 0) throws -> MDB_dbi {
        try write { transaction in
            var tree: MDB_dbi = 0
            try lmdb(mdb_dbi_open(transaction, name, UInt32(MDB_CREATE | flags), &tree))
            return tree
        }
    }
}

extension MDB_val {
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    @inline(__always)
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: mv_data, count: mv_size) }
}
#endif
