internal import HornbeamModel

/// Whether a store keeps history, and how much (HIS-1).
///
/// Each transaction takes one record, and one more for each kilobyte of changes; a save takes about a hundred bytes.
public struct HistoryTracking: Hashable, Sendable {
    /// Records kept at most.
    public var recordCount: Int
    /// Records kept at most while a registered consumer has not read them.
    public var unreadRecordCount: Int
    /// How old a record may become.
    public var age: Duration

    /// Keeps what none of the three limits removes. Records go a few at a time, with the saves.
    public init(recordCount: Int = 20_000, unreadRecordCount: Int = 100_000, age: Duration = .seconds(7 * 86_400)) {
        require(recordCount > 0 && age > .zero, "A history keeps at least one record for some time; use nil to keep none.")
        self.recordCount = recordCount
        self.unreadRecordCount = max(unreadRecordCount, recordCount)
        self.age = age
    }
}
