// The number of a committed transaction. It increases by one with each commit of a store.

/// Numbers the committed transactions of a store in order.
package struct TransactionNumber: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: UInt64

    /// The state before the first transaction.
    package static let zero = TransactionNumber(0)

    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (a: TransactionNumber, b: TransactionNumber) -> Bool { a.rawValue < b.rawValue }
    package var next: TransactionNumber { TransactionNumber(rawValue + 1) }
    package var description: String { "#\(rawValue)" }
}
