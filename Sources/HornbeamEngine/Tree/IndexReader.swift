// Searches an index of one version repeatedly, without changing reference counts and without new arrays.

/// An index of one version, for callers that search it again and again. It is a class, so that a call passes one word.
package final class IndexReader: Sendable {
    private let view: IndexView

    package init(_ view: IndexView) { self.view = view }

    /// Sets `suffixes` to the last eight bytes of the keys with a prefix, as big-endian numbers in the order of the keys.
    ///
    /// - Returns: False if there are more than `most` such keys; `suffixes` then has the first ones. O(log n + results).
    package func findSuffixes(
        startingWith prefix: [UInt8], most: Int, into suffixes: inout [UInt64]
    ) throws(EngineError) -> Bool {
        suffixes.removeAll(keepingCapacity: true)
        guard !view.root.reference.isEmpty else { return true }
        if try findSuffixesInLeaf(prefix, most, &suffixes) { return suffixes.count <= most }
        suffixes = try view.suffixes(in: KeyRange(prefix: prefix), most: most < .max ? most + 1 : most)
        return suffixes.count <= most
    }

    /// Finds the keys in the leaf where the prefix belongs. False if further keys may be in the next leaf.
    private func findSuffixesInLeaf(_ prefix: [UInt8], _ most: Int, _ suffixes: inout [UInt64]) throws(EngineError) -> Bool {
        try prefix.withBorrowedBytes { prefix throws(EngineError) in
            try view.root.reading { () throws(EngineError) in
                let leaf = SlottedNode(view.root.pool.page(try view.root.leaf { $0.childIndex(for: prefix) }))
                let count = leaf.count
                var i = leaf.lowerBound(prefix).index
                while i < count, suffixes.count <= most {
                    guard leaf.key(i, startsWith: prefix) else { return true }
                    guard leaf.keyLength(i) >= 8 else { throw IndexView.tooShort(leaf.keyLength(i)) }
                    suffixes.append(leaf.keySuffix(i))
                    i += 1
                }
                return suffixes.count > most
            }
        }
    }

    /// The same for the first keys in a range, at most `most`.
    package func findSuffixes(in range: KeyRange, most: Int, into suffixes: inout [UInt64]) throws(EngineError) {
        suffixes.removeAll(keepingCapacity: true)
        try view.addSuffixes(in: range, most: most, to: &suffixes)
    }

    /// Calls `body` with the last eight bytes of each key in a range, in the order of the keys, until it returns false.
    package func forEachSuffix(in range: KeyRange, _ body: (UInt64) throws(EngineError) -> Bool) throws(EngineError) {
        try view.forEachSuffix(in: range, body)
    }
}
