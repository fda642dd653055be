/// A store of keys and values that takes part. Each call is a whole loop, so that no call from here is in what is measured.
protocol KeyValueContestant: AnyObject {
    static var contestant: Contestant { get }
    static var settings: String { get }

    /// Opens the store at a path, new if there is none.
    init(path: String) throws
    /// Inserts records in this order in one transaction, durable at the end.
    func load(_ data: KeyValueData, _ order: [Int], isSorted: Bool) throws
    /// Reads records by key; returns the sum of their digests.
    func get(_ data: KeyValueData, _ records: ArraySlice<Int>) throws -> UInt64
    /// Iterates over all records in key order; returns the sum of their digests.
    func scan() throws -> UInt64
    /// Commits one new record durably.
    func commit(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
    /// Commits so many records in one transaction, acknowledged before it need be durable.
    func commitBatch(_ data: KeyValueData, _ records: ArraySlice<Int>) throws
    /// Keeps the log from being emptied from now on, where there is a log.
    func holdLog() throws
    func close() throws
}
