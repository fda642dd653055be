// Positions in the log: a logical byte position that never restarts, and a mark, which adds the check at that position. Replay begins
// at a mark.

/// A logical byte position in the log of a store: a multiple of 4,096. Positions increase across segments and reopenings.
package struct LogPosition: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: UInt64

    package static let zero = LogPosition(0)
    /// The largest position. Below it, a position plus the length of a segment does not overflow.
    package static let last = LogPosition(1 << 62 - LogPosition.unit)
    /// Commit groups begin at multiples of this number of bytes.
    static let unit: UInt64 = 4096

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: LogPosition, b: LogPosition) -> Bool { a.rawValue < b.rawValue }
    package static func + (a: LogPosition, bytes: Int) -> LogPosition { LogPosition(a.rawValue + UInt64(bytes)) }
    package var description: String { "@\(rawValue)" }
}

/// A boundary between two commit groups in the log, with the check of the last frame before it.
package struct LogMark: Hashable, Sendable, CustomStringConvertible {
    package var position: LogPosition
    /// The check of the last frame before the position. It is the seed for the check of the next frame.
    package var check: UInt64

    /// The beginning of the log of a new store.
    package static let origin = LogMark(position: .zero, check: 0)

    package init(position: LogPosition, check: UInt64) {
        self.position = position
        self.check = check
    }

    package var description: String { "\(position)~\(hexadecimal(check))" }
}

/// The number of a log segment. It names the segment's file, counts up by one and is never reused.
package struct LogSegmentNumber: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: UInt64

    /// The largest number that fits in a file name of 16 digits.
    package static let last = LogSegmentNumber(9_999_999_999_999_999)

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: LogSegmentNumber, b: LogSegmentNumber) -> Bool { a.rawValue < b.rawValue }
    package var next: LogSegmentNumber { LogSegmentNumber(rawValue + 1) }
    package var description: String { fileName }

    /// `wal-` and 16 decimal digits.
    package var fileName: String { numberedFileName("wal-", rawValue) }

    /// The number in a file name of this form; nil for any other name.
    package init?(fileName: String) {
        guard let number = number(ofFileName: fileName, prefix: "wal-") else { return nil }
        self.init(number)
    }
}
