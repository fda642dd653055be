// Writes to an index with an insert buffer (Tree/InsertBuffer.swift).
//
// A filter in memory tells which keys of a batch the index may have, so that the leaves of the others are not read. If the buffer has no room for the
// batch, as many entries as are too many move to the index before: those of the range of keys that follows the range of the last move. After the last
// key, the first range follows again. So a range collects entries of several batches before it moves.
//
// Single changes go to the index, unless the buffer has their key.

/// An index, its insert buffer, and the filter of the keys that the index has without the buffer; nil if there is none.
private struct BufferedIndex {
    let index: TreeEditor
    let buffer: TreeEditor
    let filter: KeyFilter?
}

extension WriteTransaction {
    // MARK: Single entries

    /// Replaces the value of a key in the insert buffer. Returns whether the value was put; nil if the buffer lacks the key, and the entry belongs
    /// in the index.
    func putBuffered(_ key: Bytes, _ value: Bytes, in editor: TreeEditor, onlyNew: Bool) throws(EngineError) -> Bool? {
        guard let id = editor.insertBuffer else { return nil }
        let buffer = try index(editing: id)
        if try lookUp({ () throws(EngineError) in try buffer.contains(key) }) {
            if onlyNew { return false }
            if isPlain((key, value)) { return try put(key, value, in: id, onlyNew: false) }
            // Only plain entries move to the index.
            _ = try delete(key, from: id)
        }
        engine.insertBuffers[editor.id].filter?.insert(KeyFilter.hash(key))
        return nil
    }

    /// Deletes a key from the insert buffer of an index; false if there is no buffer, or the buffer lacks the key. Then it copies no node.
    func deleteBuffered(_ key: Bytes, of editor: TreeEditor) throws(EngineError) -> Bool {
        guard let id = editor.insertBuffer else { return false }
        let buffer = try index(editing: id)
        guard try lookUp({ () throws(EngineError) in try buffer.contains(key) }) else { return false }
        return try delete(key, from: id)
    }

    // MARK: Batches

    /// Puts a batch into an index, by way of its insert buffer if this changes fewer leaves. With `onlyNew`, returns the index, in the order of keys, of an
    /// entry whose key exists already, if there is one; then an unknown part of the others was put.
    func putThroughBuffer(_ batch: EntryBatch, in index: TreeID, onlyNew: Bool) throws(EngineError) -> Int? {
        guard batch.count > 0 else { return nil }
        let editor = try self.index(editing: index)
        guard let (filter, entriesMax) = try filter(for: batch, editor) else { return try putDirectly(batch, in: editor, onlyNew: onlyNew) }
        let target = BufferedIndex(index: editor, buffer: try insertBuffer(of: editor), filter: filter)
        // Moved before, since the leaves of the buffer are written when they change.
        try move(above: entriesMax - min(UInt64(batch.count), entriesMax), of: target)
        let existing = try batch.forEachPart(of: entriesTogether) { part, entry throws(EngineError) in
            try put(part, entry, in: target, fillsBuffer: true, onlyNew: onlyNew)
        }
        if existing == nil { try move(above: entriesMax, of: target) }
        return existing
    }

    /// Puts a batch into an index, except for the entries whose keys its insert buffer has.
    private func putDirectly(_ batch: EntryBatch, in editor: TreeEditor, onlyNew: Bool) throws(EngineError) -> Int? {
        guard let id = editor.insertBuffer else {
            // The changed leaves stay in memory, since later batches probably change them again. So a part changes few of them.
            return try batch.forEachPart(of: min(entriesTogether, max(ledger.pool.capacity / 8, 1))) { part, entry throws(EngineError) in
                guard redo.isAbandoned, part.allSatisfy({ isPlain(entry($0)) }) else { return try put(part, entry, in: editor.id, onlyNew: onlyNew) }
                try writeLeavesEarly()
                let existing = try mutateInSteps { () throws(EngineError) in try editor.put(part, onlyNew: onlyNew, writer: nil, entry) }
                try writeFilledLeaves(of: editor)
                return existing
            }
        }
        let target = BufferedIndex(index: editor, buffer: try index(editing: id), filter: engine.insertBuffers[editor.id].filter)
        return try batch.forEachPart(of: entriesTogether) { part, entry throws(EngineError) in
            try put(part, entry, in: target, fillsBuffer: false, onlyNew: onlyNew)
        }
    }

    /// Puts a part of a batch into the insert buffer or into the index. An entry whose key is in the other tree replaces the value there.
    private func put(
        _ part: Range<Int>, _ entry: (Int) -> (key: Bytes, value: Bytes), in target: BufferedIndex, fillsBuffer: Bool, onlyNew: Bool
    ) throws(EngineError) -> Int? {
        guard deferred.isOver || part.count > DeferredChanges.countMax, part.allSatisfy({ isPlain(entry($0)) }) else {
            return try putSingly(part, entry, in: target.index, onlyNew: onlyNew)
        }
        try writeLeavesEarly()
        defer { abandonRedoOfBigTransaction() }
        let (chosen, other) = fillsBuffer ? (target.buffer, target.index) : (target.index, target.buffer)
        let known = try entries(of: part, entry, in: other, target, isIndex: fillsBuffer)
        if onlyNew, let first = known.first { return first }
        let isKnown = Set(known)
        guard redo.isAbandoned else {
            return try mutate { () throws(EngineError) -> Int? in
                for n in part {
                    let (key, value) = entry(n)
                    let tree = isKnown.contains(n) ? other : chosen
                    guard try tree.put(key, value, onlyNew: onlyNew) != .exists else { return n }
                    redo.put(tree.id, key, value, isBlob: false)
                }
                return nil
            }
        }
        for n in known {
            try writeLeavesEarly()
            _ = try mutate { () throws(EngineError) in try other.put(entry(n).key, entry(n).value) }
        }
        if known.isEmpty { return try putLeafByLeaf(part, entry, in: chosen, onlyNew: onlyNew) }
        let rest = part.filter { !isKnown.contains($0) }
        if rest.isEmpty { return nil }
        return try putLeafByLeaf(0..<rest.count, { entry(rest[$0]) }, in: chosen, onlyNew: onlyNew).map { rest[$0] }
    }

    /// The entries of a part whose keys are in the index, or in its buffer. Before a part goes into the index, its keys get into the filter.
    private func entries(
        of part: Range<Int>, _ entry: (Int) -> (key: Bytes, value: Bytes), in tree: TreeEditor, _ target: BufferedIndex, isIndex: Bool
    ) throws(EngineError) -> [Int] {
        var found: [Int] = []
        try forEachHash(of: part, entry, target.filter) { n, hash throws(EngineError) in
            // The buffer fits in the pool, so it needs no filter.
            if isIndex, target.filter?.mayContain(hash) == false { return }
            if try tree.contains(entry(n).key) { found.append(n) } else if !isIndex { target.filter?.insert(hash) }
        }
        return found
    }

    private func putSingly(
        _ part: Range<Int>, _ entry: (Int) -> (key: Bytes, value: Bytes), in editor: TreeEditor, onlyNew: Bool
    ) throws(EngineError) -> Int? {
        for n in part where try !put(entry(n).key, entry(n).value, in: editor.id, onlyNew: onlyNew) { return n }
        return nil
    }

    /// Calls `body` with the hash of each key. Requests the blocks of the filter some keys ahead, so that the cache misses overlap.
    private func forEachHash(
        of part: Range<Int>, _ entry: (Int) -> (key: Bytes, value: Bytes), _ filter: KeyFilter?, _ body: (Int, UInt64) throws(EngineError) -> Void
    ) throws(EngineError) {
        var start = part.lowerBound
        while start < part.upperBound {
            let keys = start..<min(start + WriteTransaction.hashedTogether, part.upperBound)
            let hashes = keys.map { KeyFilter.hash(entry($0).key) }
            if let filter { for hash in hashes { filter.prefetch(hash) } }
            // In an epoch of its own, since `body` may read many leaves.
            try lookUp { () throws(EngineError) in for (n, hash) in zip(keys, hashes) { try body(n, hash) } }
            start = keys.upperBound
        }
    }

    static let hashedTogether = 32

    /// The insert buffer of an index, which is created if there is none.
    private func insertBuffer(of editor: TreeEditor) throws(EngineError) -> TreeEditor {
        if let id = editor.insertBuffer { return try index(editing: id) }
        guard let name = names.first(where: { $0.value == editor.id })?.key else { preconditionFailure("An index of batches has a name.") }
        return try index(editing: try createIndex(named: InsertBuffer.name(of: name)))
    }

    // MARK: Moving

    /// Moves as many entries from the insert buffer to the index as it has above a number, in the order of keys, from the end of the last move on.
    private func move(above most: UInt64, of target: BufferedIndex) throws(EngineError) {
        var left = Int(clamping: target.buffer.root.count - min(most, target.buffer.root.count))
        let batch = EntryBatch()
        while left > 0, target.buffer.root.count > 0 {
            let next = engine.insertBuffers[target.index.id].next
            engine.insertBuffers[target.index.id].next = try takeEntries(min(left, entriesTogether), of: target, from: next, batch)
            guard batch.count > 0 || !next.isEmpty else { throw damagedBuffer(target) }
            left -= batch.count
            _ = try batch.forEachPart(of: entriesTogether) { part, entry throws(EngineError) -> Int? in
                try writeLeavesEarly()
                try forEachHash(of: part, entry, target.filter) { _, hash in target.filter?.insert(hash) }
                try move(part, entry, of: target)
                return nil
            }
            abandonRedoOfBigTransaction()
        }
    }

    /// Moves entries that follow each other in the insert buffer.
    private func move(
        _ part: Range<Int>, _ entry: (Int) -> (key: Bytes, value: Bytes), of target: BufferedIndex
    ) throws(EngineError) {
        try mutate { () throws(EngineError) in
            var deleted = part.lowerBound
            while deleted < part.upperBound {
                let more = try target.buffer.delete(from: entry(deleted).key, through: entry(part.upperBound - 1).key)
                guard more > 0 else { throw damagedBuffer(target) }
                deleted += more
            }
        }
        if redo.isAbandoned {
            guard try putLeafByLeaf(part, entry, in: target.index, onlyNew: true) != nil else { return }
            // The entries have left the buffer.
            hasFailed = true
            throw damagedBuffer(target)
        }
        try mutate { () throws(EngineError) in
            for n in part {
                let (key, value) = entry(n)
                guard try target.index.put(key, value, onlyNew: true) == .inserted else { throw damagedBuffer(target) }
                redo.delete(target.buffer.id, key)
                redo.put(target.index.id, key, value, isBlob: false)
            }
        }
    }

    /// Fills a batch with entries of the insert buffer from a key on. Returns the key after the last one; empty at the end of the buffer.
    private func takeEntries(_ count: Int, of target: BufferedIndex, from key: [UInt8], _ batch: EntryBatch) throws(EngineError) -> [UInt8] {
        batch.removeAll()
        var next: [UInt8] = []
        unsafe try index(target.buffer.id).forEach(in: KeyRange(from: key)) { (key, value) throws(EngineError) -> Bool in
            if batch.count == count {
                next = unsafe Array(key)
                return false
            }
            guard isPlain((unsafe Bytes(key), unsafe Bytes(value))) else { throw damagedBuffer(target) }
            unsafe batch.append(key, value)
            return true
        }
        return next
    }

    private func damagedBuffer(_ target: BufferedIndex) -> EngineError {
        EngineError(.damaged, "The insert buffer of index \(target.index.id) has an impossible entry, or one that the index has too. Run check.")
    }

    /// The number of entries that are put together. A transaction that is not certain to be big records them as redo, with the nodes that they change.
    private var entriesTogether: Int { redo.isAbandoned ? 1 << 15 : EntryBatch.entriesTogether }
}
