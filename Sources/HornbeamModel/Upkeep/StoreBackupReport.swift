/// What a backup holds.
public struct StoreBackupReport: Sendable, Hashable {
    /// The number of the newest save in it.
    public var transaction: UInt64
    public var files: Int
    public var bytes: Int

    public init(transaction: UInt64, files: Int, bytes: Int) {
        self.transaction = transaction
        self.files = files
        self.bytes = bytes
    }
}
