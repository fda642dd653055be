// A blob is a value that is stored outside the leaves. A blob of up to 256 KiB is one chunk record, and its reference names
// that record. A longer blob has several chunk records and an index record, whose payload is the references of the chunks,
// 24 bytes each (address, stamp, count; little-endian). If one index record is too small, further levels (2, 3 …) refer to
// index records. The count of a reference is the number of the blob's bytes in its record, or below it.

/// The references in an index record of a blob.
struct BlobIndex {
    static let referenceBytes = 24
    /// References in one record.
    static let capacity = PageAppender.payloadBytesMax / referenceBytes

    var references: [PageReference]

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(references.count * BlobIndex.referenceBytes)
        for reference in references {
            for word in [reference.address, reference.stamp, reference.count] {
                unsafe withUnsafeBytes(of: word.littleEndian) { unsafe bytes.append(contentsOf: $0) }
            }
        }
        return bytes
    }

    /// Decodes untrusted bytes: the references must add up to `count` bytes, and none may be empty.
    init(decoding bytes: UnsafeRawBufferPointer, count: UInt64) throws(PageFault) {
        guard bytes.count > 0, bytes.count % BlobIndex.referenceBytes == 0 else { throw .blob }
        var found: [PageReference] = []
        var sum: UInt64 = 0
        for start in stride(from: 0, to: bytes.count, by: BlobIndex.referenceBytes) {
            let words = (0..<3).map { word in
                unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start + word * 8, as: UInt64.self))
            }
            let (next, overflow) = sum.addingReportingOverflow(words[2])
            guard !overflow, words[2] > 0 else { throw .blob }
            sum = next
            found.append(PageReference(address: words[0], stamp: words[1], count: words[2]))
        }
        guard sum == count else { throw .blob }
        references = found
    }

    init(_ references: [PageReference]) { self.references = references }
}
