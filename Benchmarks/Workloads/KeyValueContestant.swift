/// A contestant with keys and values. Each call is a whole loop, so the measured time contains no calls through the protocol.
protocol KeyValueContestant: AnyObject {
    static var contestant: Contestant { get }
    static var settings: String { get }

    /// Opens the store at a path, or creates it if it does not exist.
    init(path: String) throws
    /// Inserts records in this order in one transaction, durable at the end.
    func load(_ data: KeyValueData, _ order: [Int], isSorted: Bool) throws
    /// Reads records by key; returns the sum of their digests.
    func get(_ data: KeyValueData, _ records: ArraySlice<Int>) throws -> UInt64
    /// Iterates over all records in key order; returns the sum of their digests.
    func scan() throws -> UInt64
    /// Commits one new record durably.
    func commit(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
    /// Commits one new record durably, while other threads do the same.
    func commitBesideOthers(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
    /// Commits records in one transaction that is acknowledged before it is durable.
    func commitBatch(_ data: KeyValueData, _ records: ArraySlice<Int>) throws
    /// Prevents the log, if there is one, from being truncated from now on.
    func holdLog() throws
    func close() throws
}

extension KeyValueContestant {
    func commitBesideOthers(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws { try commit(key, value) }
}
