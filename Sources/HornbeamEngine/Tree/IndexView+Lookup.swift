// Finds the value of a key in an index and its insert buffer.

extension IndexView {
    @inline(__always)
    func withValue<R>(_ key: Bytes, _ body: (Bytes) throws(EngineError) -> R) throws(EngineError) -> R? {
        if let buffer = buffer?.view { return try withValue(key, buffer, body) }
        return try withOwnValue(key, body)
    }

    /// Searches the index and its buffer, at most one of which has the key. Searching a leaf in memory takes much less time than reading one, so the buffer
    /// comes first if its leaf is in memory. Otherwise the larger tree does, since it probably has the key.
    private func withValue<R>(_ key: Bytes, _ buffer: IndexView, _ body: (Bytes) throws(EngineError) -> R) throws(EngineError) -> R? {
        let mustRead = try buffer.isLeafOnDisk(of: key)
        let (first, second) = mustRead && ownCount >= buffer.ownCount ? (self, buffer) : (buffer, self)
        if let found = try first.withOwnValue(key, body) { return found }
        return try second.withOwnValue(key, body)
    }

    /// True unless the leaf where a key belongs is known to be in memory.
    private func isLeafOnDisk(of key: Bytes) throws(EngineError) -> Bool {
        guard !root.reference.isEmpty else { return false }
        return try root.reading { () throws(EngineError) in try root.leafOnDisk { $0.childIndex(for: key) } != nil }
    }

    @inline(__always)
    private func withOwnValue<R>(_ key: Bytes, _ body: (Bytes) throws(EngineError) -> R) throws(EngineError) -> R? {
        guard !root.reference.isEmpty else { return nil }
        return try root.reading { () throws(EngineError) in
            let leaf = SlottedNode(root.pool.page(try root.leaf { $0.childIndex(for: key) }))
            let (index, found) = leaf.lowerBound(key)
            guard found else { return nil }
            return try readValue(leaf, index, body)
        }
    }
}
