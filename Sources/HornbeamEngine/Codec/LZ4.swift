// Compression of pages and log frames in liblz4's block format. This is the only file of the engine that imports the C library.

internal import CLZ4

/// LZ4 blocks between raw buffers.
package enum LZ4 {
    /// Compresses into `target` and returns the number of bytes written; nil when the result does not fit.
    ///
    /// Compression stops as soon as the result cannot fit, so a small target saves time for incompressible data.
    package static func compress(
        _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard source.count > 0, source.count <= Int(Int32.max), target.count > 0 else { return nil }
        let used = unsafe LZ4_compress_default(
            source.baseAddress!.assumingMemoryBound(to: CChar.self),
            target.baseAddress!.assumingMemoryBound(to: CChar.self),
            Int32(source.count), Int32(clamping: target.count))
        return used > 0 ? Int(used) : nil
    }

    /// Decompresses untrusted bytes. Returns false unless they yield exactly `target.count` bytes.
    package static func decompress(
        _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard source.count > 0, source.count <= Int(Int32.max) else { return false }
        guard target.count > 0, target.count <= Int(Int32.max) else { return false }
        let made = unsafe LZ4_decompress_safe(
            source.baseAddress!.assumingMemoryBound(to: CChar.self),
            target.baseAddress!.assumingMemoryBound(to: CChar.self),
            Int32(source.count), Int32(target.count))
        return Int(made) == target.count
    }

    /// Decompresses the beginning of untrusted bytes. Returns false unless they yield at least `target.count` bytes.
    static func decompressPrefix(_ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Bool {
        guard source.count > 0, source.count <= Int(Int32.max) else { return false }
        guard target.count > 0, target.count <= Int(Int32.max) else { return false }
        let made = unsafe LZ4_decompress_safe_partial(
            source.baseAddress!.assumingMemoryBound(to: CChar.self),
            target.baseAddress!.assumingMemoryBound(to: CChar.self),
            Int32(source.count), Int32(target.count), Int32(target.count))
        return Int(made) == target.count
    }
}
