// Writing, reading, walking and moving blobs: values outside the leaves.

extension PageFiles {
    /// Appends a value in chunks and returns its reference, whose `count` is the length of the value in bytes.
    ///
    /// The value must not be empty. O(n).
    package func appendBlob(
        _ bytes: UnsafeRawBufferPointer, tree: TreeID, version: TransactionNumber, to appender: PageAppender
    ) throws(EngineError) -> PageReference {
        try unsafe appendBlob(
            bytes, tree: tree, version: version, to: appender, chunkBytes: PageAppender.payloadBytesMax,
            fanOut: BlobIndex.capacity)
    }

    /// Writes a blob with the given chunk size and fan-out of its index. Tests pass small ones to reach every level.
    func appendBlob(
        _ bytes: UnsafeRawBufferPointer, tree: TreeID, version: TransactionNumber, to appender: PageAppender, chunkBytes: Int,
        fanOut: Int
    ) throws(EngineError) -> PageReference {
        precondition(bytes.count > 0, "An empty value is not a blob.")
        var references: [PageReference] = []
        for start in stride(from: 0, to: bytes.count, by: chunkBytes) {
            let end = min(start + chunkBytes, bytes.count)
            let chunk = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            let heading = PageHeading(kind: .blobChunk, tree: tree, version: version)
            unsafe references.append(try appender.append(heading, chunk, count: UInt64(chunk.count)))
        }
        var level = 1
        while references.count > 1 {
            var made: [PageReference] = []
            for start in stride(from: 0, to: references.count, by: fanOut) {
                let run = Array(references[start..<min(start + fanOut, references.count)])
                let heading = PageHeading(kind: .blobIndex, tree: tree, level: level, version: version)
                made.append(try append(BlobIndex(run), heading, to: appender))
            }
            assert(made.count < references.count, "Each level of an index has fewer records than the one below.")
            references = made
            level += 1
        }
        return references[0]
    }

    private func append(
        _ index: BlobIndex, _ heading: PageHeading, to appender: PageAppender
    ) throws(EngineError) -> PageReference {
        let payload = index.encoded
        let count = index.references.reduce(0) { $0 + $1.count }
        let reference = unsafe try payload.withBytes { (buffer) throws(EngineError) in
            unsafe try appender.append(heading, buffer, count: count)
        }
        assert(reference.count == count, "The reference of an index counts the bytes below it.")
        return reference.flagged(PageReference.blobIndexFlag)
    }

    /// Reads the whole value. Throws `damaged` for a damaged record. A wrong length in a damaged reference causes no large allocation.
    package func readBlob(_ reference: PageReference) throws(EngineError) -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachBlobRecord(reference, above: Int.max) { (record) throws(EngineError) in
            if record.isBlobIndex { return }
            guard record.count > 0, record.count <= UInt64(PageAppender.payloadBytesMax) else { throw self.damage(.blob, record) }
            let start = bytes.count
            bytes.append(contentsOf: [UInt8](repeating: 0, count: Int(record.count)))
            let info = unsafe try bytes.withMutableBytes { (buffer) throws(EngineError) in
                unsafe try self.read(record, into: unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start...]), expecting: .blobChunk)
            }
            guard info.rawBytes == Int(record.count) else { throw self.damage(.blob, record) }
        }
        return bytes
    }

    /// Calls `body` with the reference of every record of a blob, including index records.
    package func forEachBlobPage(
        _ reference: PageReference, _ body: (PageReference) throws(EngineError) -> Void
    ) throws(EngineError) {
        try forEachBlobRecord(reference, above: Int.max, body)
    }

    /// Checks that the level of each index record is below that of its parent, so a damaged index cannot form a cycle.
    private func forEachBlobRecord(
        _ reference: PageReference, above: Int, _ body: (PageReference) throws(EngineError) -> Void
    ) throws(EngineError) {
        try body(reference)
        guard reference.isBlobIndex else { return }
        let (index, heading) = try readBlobIndex(reference)
        guard heading.level < above else { throw damage(.blob, reference) }
        for child in index.references {
            try forEachBlobRecord(child, above: heading.level, body)
        }
    }

    private func readBlobIndex(_ reference: PageReference) throws(EngineError) -> (BlobIndex, PageHeading) {
        try unsafe withUnsafeTemporaryAllocation(byteCount: PageAppender.payloadBytesMax, alignment: 8) { (buffer) throws(EngineError) in
            let info = unsafe try read(reference, into: buffer, expecting: .blobIndex)
            do throws(PageFault) {
                let payload = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<info.rawBytes])
                return (try unsafe BlobIndex(decoding: payload, count: reference.count), info.heading)
            } catch {
                throw damage(error, reference)
            }
        }
    }

    /// Copies a stored record to the end of an appender's file. Verifies it at its old address and computes the check for the new one.
    package func copy(
        _ reference: PageReference, to appender: PageAppender, version: TransactionNumber? = nil
    ) throws(EngineError) -> PageReference {
        // The closure may throw page faults only, and `place` throws other errors, so the record is appended after the closure.
        var stored: [UInt8] = []
        var header = unsafe try withRecord(reference) { (header, payload) throws(PageFault) in
            stored = unsafe [UInt8](payload)
            return header
        }
        if let version { header.heading.version = version }
        return unsafe try stored.withBytes { (payload) throws(EngineError) in
            try unsafe appender.place(header, payload, flags: reference.flags, count: reference.count)
        }
    }

    /// Copies the records of a blob that are in the chosen files. Returns the new reference, or the old one if no record was copied.
    package func copyBlob(
        _ reference: PageReference, to appender: PageAppender, version: TransactionNumber,
        movingFrom isEmptied: (PageFileNumber) -> Bool
    ) throws(EngineError) -> PageReference {
        guard reference.isBlobIndex else {
            return isEmptied(reference.file) ? try copy(reference, to: appender, version: version) : reference
        }
        let (index, old) = try readBlobIndex(reference)
        var moved: [PageReference] = []
        for child in index.references {
            moved.append(try copyBlob(child, to: appender, version: version, movingFrom: isEmptied))
        }
        if moved == index.references {
            return isEmptied(reference.file) ? try copy(reference, to: appender, version: version) : reference
        }
        var heading = old
        heading.version = version
        return try append(BlobIndex(moved), heading, to: appender)
    }
}
