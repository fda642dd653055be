// Limits that no store reaches. Numbers from a file are compared with them first, so that no sum overflows.

/// The limits of a store.
package enum StoreLimits {
    /// Transactions, checkpoints and object keys have smaller numbers.
    package static let numberMax: UInt64 = 1 << 62
    /// The longest key of an index, in bytes.
    package static let keyLengthMax = 1024
}
