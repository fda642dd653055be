// Searches an index of one version repeatedly, without changing reference counts and, unless it has an insert buffer, without new arrays.

/// An index of one version, for callers that search it repeatedly. It is a class, so that a call passes one word.
package final class IndexReader: Sendable {
    let view: IndexView

    package init(_ view: IndexView) { self.view = view }

    /// Sets `suffixes` to the last eight bytes of the keys with a prefix, as big-endian numbers in the order of the keys.
    ///
    /// - Returns: False if there are more than `most` such keys; `suffixes` then has the first ones. O(log n + results).
    package func findSuffixes(
        startingWith prefix: [UInt8], most: Int, into suffixes: inout [UInt64]
    ) throws(EngineError) -> Bool {
        suffixes.removeAll(keepingCapacity: true)
        guard view.count > 0 else { return true }
        let isWhole = try prefix.withBorrowedBytes { prefix throws(EngineError) in try findSuffixesInLeaf(prefix, most, &suffixes) }
        if isWhole { return suffixes.count <= most }
        suffixes = try view.suffixes(in: KeyRange(prefix: prefix), most: most < .max ? most + 1 : most)
        return suffixes.count <= most
    }

    /// The last eight bytes of the first `most` keys that begin with a number in big-endian order. In the index of a relationship, these are the
    /// members of an owner.
    package func suffixes(startingWith number: UInt64, most: Int) throws(EngineError) -> [UInt64] {
        var suffixes: [UInt64] = []
        guard view.count > 0, most > 0 else { return suffixes }
        let isWhole = unsafe try withUnsafeBytes(of: number.bigEndian) { (prefix) throws(EngineError) in
            try findSuffixesInLeaf(unsafe Bytes(prefix), most - 1, &suffixes)
        }
        if isWhole { return suffixes }
        return try view.suffixes(in: KeyRange(prefix: unsafe withUnsafeBytes(of: number.bigEndian) { unsafe Array($0) }), most: most)
    }

    /// Finds the keys in the leaf where the prefix belongs, at most one more than `most`. False if further keys may be in the next leaf or in the
    /// insert buffer.
    private func findSuffixesInLeaf(_ prefix: Bytes, _ most: Int, _ suffixes: inout [UInt64]) throws(EngineError) -> Bool {
        guard view.buffer == nil else { return false }
        return try view.root.reading { () throws(EngineError) in
            let leaf = SlottedNode(view.root.pool.page(try view.root.leaf { $0.childIndex(for: prefix) }))
            let first = leaf.lowerBound(prefix).index
            let end = leaf.endOfKeys(startingWith: prefix, from: first, most: most < .max ? most + 1 : most)
            suffixes.reserveCapacity(end - first)
            for i in first..<end {
                guard leaf.keyLength(i) >= 8 else { throw IndexView.tooShort(leaf.keyLength(i)) }
                suffixes.append(leaf.keySuffix(i))
            }
            return end < leaf.count || end - first > most
        }
    }

    /// Sets `suffixes` to the last eight bytes of the first `most` keys in a range.
    package func findSuffixes(in range: KeyRange, most: Int, into suffixes: inout [UInt64]) throws(EngineError) {
        suffixes.removeAll(keepingCapacity: true)
        try view.addSuffixes(in: range, most: most, to: &suffixes)
    }

    /// Calls `body` with the last eight bytes of each key in a range, in the order of the keys, until it returns false.
    package func forEachSuffix(in range: KeyRange, _ body: (UInt64) throws(EngineError) -> Bool) throws(EngineError) {
        try view.forEachSuffix(in: range, body)
    }
}
