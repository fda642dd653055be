// Limits of a store. Numbers that are read from a file are compared with `numberMax` first, so that no sum overflows.

/// The limits of a store.
package enum StoreLimits {
    /// Numbers of transactions and checkpoints, and object keys, are smaller. No store reaches it.
    package static let numberMax: UInt64 = 1 << 62
    /// The longest key of an index, in bytes.
    package static let keyLengthMax = 1024
}
