/// The limits of a store's history (HIS-1).
///
/// A transaction has one record, and one more for each further kilobyte of changes. A typical save takes about a hundred bytes.
public struct HistoryTracking: Hashable, Sendable {
    /// The maximum number of records.
    public var recordCount: Int { didSet { requireLimits() } }
    /// The maximum number of records while a registered consumer has not read them.
    public var unreadRecordCount: Int { didSet { requireLimits() } }
    /// The maximum age of a record.
    public var age: Duration { didSet { requireLimits() } }

    /// A record is removed when one of the three limits is exceeded. Each save removes a few records.
    public init(recordCount: Int = 20_000, unreadRecordCount: Int = 100_000, age: Duration = .seconds(7 * 86_400)) {
        self.recordCount = recordCount
        self.unreadRecordCount = max(unreadRecordCount, recordCount)
        self.age = age
        requireLimits()
    }

    private func requireLimits() {
        require(
            recordCount > 0 && unreadRecordCount > 0 && age > .zero, "A history keeps at least one record for some time; use nil to keep none.")
    }
}
