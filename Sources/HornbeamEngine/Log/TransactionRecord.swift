// The input and output of the log: numbered redo records, options, and the end of a log.

/// The redo of a committed transaction; opaque to the log.
package struct TransactionRecord: Sendable {
    package var number: TransactionNumber
    package var payload: [UInt8]
    /// It removes more than it adds, so it may use space that is held back on a full disk.
    package var frees: Bool

    package init(number: TransactionNumber, payload: [UInt8], frees: Bool = false) {
        self.number = number
        self.payload = payload
        self.frees = frees
    }
}

/// The options of a log. The defaults suit a store; small sizes are for tests.
package struct LogOptions: Sendable {
    /// The least length of a segment. Lengths double from segment to segment, up to the goal of the writer.
    package var firstSegmentBytes: Int
    package var largestSegmentBytes: Int
    /// Whether payloads of 512 bytes and more are compressed when that saves a tenth.
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
    /// The newest segment present; nil if there is none.
    package var lastSegment: LogSegmentNumber?
    package var lastTransaction: TransactionNumber?
    package var groups = 0
    package var transactions = 0
    /// Bytes of log that were replayed, padding included.
    package var bytes: UInt64 = 0
}

extension EngineError {
    /// Acknowledged commits are missing.
    static func logDamaged(from: LogPosition, to: LogPosition, _ why: String, path: String) -> EngineError {
        EngineError(
            .logDamaged,
            "Acknowledged commits between log positions \(from.rawValue) and \(to.rawValue) cannot be read: \(why). "
                + "Nothing was changed. Restore the store from a backup, or salvage what precedes the damage.",
            path: path)
    }
}
