// The insert buffer of an index: a smaller tree for new entries, whose entries move into the index later.
//
// A batch with keys in random order changes nearly all leaves of an index that is much larger than the pool, and each leaf for a few entries.
// The buffer fits in the pool. When it is full, the entries of a range of keys move to the index together, which changes few leaves, each for many
// entries (Transactions/WriteTransaction+InsertBuffer.swift).
//
// Invariant: a key is in the index or in its buffer, never in both. Readers merge them (Tree/IndexView+InsertBuffer.swift).

/// The names of insert buffers.
enum InsertBuffer {
    private static let suffix = "/insert-buffer"

    /// The name of the buffer of an index.
    static func name(of index: String) -> String { index + suffix }

    /// The name of the index whose buffer a tree is; nil for other trees. A buffer has none itself.
    static func index(of name: String) -> String? {
        guard name.hasSuffix(suffix) else { return nil }
        let index = String(name.dropLast(suffix.count))
        return index.hasSuffix(suffix) ? nil : index
    }
}
