// The input and output of the log: numbered redo records, options, and the end of a log.

/// The redo record of a committed transaction. The log does not interpret its payload.
package struct TransactionRecord: Sendable {
    package var number: TransactionNumber
    package var payload: [UInt8]
    /// True if the transaction removes more than it adds. On a full disk, it may use space that other transactions may not.
    package var frees: Bool

    package init(number: TransactionNumber, payload: [UInt8], frees: Bool = false) {
        self.number = number
        self.payload = payload
        self.frees = frees
    }
}

/// The options of a log. Stores use the defaults, tests use small sizes.
package struct LogOptions: Sendable {
    /// The smallest length of a segment. Each new segment is twice as long as the one before, up to the writer's goal.
    package var firstSegmentBytes: Int
    package var largestSegmentBytes: Int
    /// Whether payloads of 512 bytes and more are compressed if this saves at least a tenth and the group is longer than a block.
    package var compresses: Bool
    /// The source of the segments' salts.
    package var salt: @Sendable () -> UInt64

    package init(
        firstSegmentBytes: Int = 256 << 10, largestSegmentBytes: Int = 16 << 20, compresses: Bool = true,
        salt: @escaping @Sendable () -> UInt64 = { UInt64.random(in: 0 ... .max) }
    ) {
        precondition(firstSegmentBytes >= 12288, "A log segment holds at least a header, one group and a seal.")
        precondition(largestSegmentBytes >= firstSegmentBytes, "The largest segment is not smaller than the first.")
        self.firstSegmentBytes = firstSegmentBytes
        self.largestSegmentBytes = largestSegmentBytes
        self.compresses = compresses
        self.salt = salt
    }
}

/// The end of a replayed log.
package struct LogEnd: Hashable, Sendable {
    /// The mark from which a writer continues.
    package var mark: LogMark
    /// The newest existing segment; nil if there is none.
    package var lastSegment: LogSegmentNumber?
    package var lastTransaction: TransactionNumber?
    package var groups = 0
    package var transactions = 0
    /// Bytes of log that were replayed, including padding.
    package var bytes: UInt64 = 0
}

extension EngineError {
    /// The error for acknowledged commits that are missing from the log.
    static func logDamaged(from: LogPosition, to: LogPosition, _ why: String, path: String) -> EngineError {
        EngineError(
            .logDamaged,
            "Acknowledged commits between log positions \(from.rawValue) and \(to.rawValue) cannot be read: \(why). "
                + "Nothing was changed. Restore the store from a backup, or salvage the part before the damage.",
            path: path)
    }
}
