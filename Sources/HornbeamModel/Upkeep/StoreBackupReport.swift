/// The result of a backup.
public struct StoreBackupReport: Sendable, Hashable {
    /// The number of the newest save in the backup.
    public var transaction: UInt64
    /// The number of files copied.
    public var files: Int
    /// The size of the backup in bytes.
    public var bytes: Int

    /// A report with the given numbers.
    public init(transaction: UInt64, files: Int, bytes: Int) {
        self.transaction = transaction
        self.files = files
        self.bytes = bytes
    }
}
