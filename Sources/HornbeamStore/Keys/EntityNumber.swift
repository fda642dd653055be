/// The entity number in an index entry: four bytes, little-endian.
enum EntityNumber {
    static func bytes(_ number: UInt32) -> [UInt8] {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe [UInt8]($0) }
    }

    @inline(__always)
    static func read(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        unsafe UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
