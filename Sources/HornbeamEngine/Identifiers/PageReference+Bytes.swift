// A page reference as 24 bytes: address, stamp and count, little-endian.

extension PageReference {
    /// The size of a stored reference.
    package static let bytes = 24

    /// Decodes the reference stored at an offset. Accepts any bits; they are verified when the record is read.
    package init(in buffer: UnsafeRawBufferPointer, at offset: Int) {
        self.init(
            address: unsafe buffer.integer(at: offset), stamp: unsafe buffer.integer(at: offset + 8),
            count: unsafe buffer.integer(at: offset + 16))
    }

    package func store(in buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        unsafe buffer.set(address, at: offset)
        unsafe buffer.set(stamp, at: offset + 8)
        unsafe buffer.set(count, at: offset + 16)
    }

    /// File, offset and length, for dumps.
    package var placeDescription: String {
        isEmpty ? "none" : "\(file)+\(offset) (\(recordBytes) bytes, count \(count))"
    }
}

extension Array where Element == UInt8 {
    mutating func appendReference(_ reference: PageReference) {
        appendInteger(reference.address)
        appendInteger(reference.stamp)
        appendInteger(reference.count)
    }
}

extension ByteReader {
    mutating func reference() throws(EngineError) -> PageReference {
        PageReference(
            address: try integer(UInt64.self), stamp: try integer(UInt64.self), count: try integer(UInt64.self))
    }
}
