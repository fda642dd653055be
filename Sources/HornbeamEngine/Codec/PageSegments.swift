// A page as segments: u32 size of the segments, then the segments, or an LZ4 block of them if that is shorter.

/// Pages as segments, the payloads of records.
package enum PageSegments {
    private static let headerBytes = 4
    /// LZ4 must save at least this part of the segments, because it takes longer to read.
    private static let savedPercentMin = 3

    /// Writes a page as segments and compresses them. Nil if the result does not fit the target, or if there are no parts. The parts cover the page.
    package static func encode(
        _ page: UnsafeRawBufferPointer, _ parts: [PagePart], into target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard !parts.isEmpty, page.count > 0, page.count <= Int(UInt16.max), target.count > headerBytes else { return nil }
        let pageBytes = page.count
        return unsafe withUnsafeTemporaryAllocation(byteCount: 2 * pageBytes, alignment: 16) { memory in
            // The segments are shorter than the page.
            let (room, scratch) = unsafe (memory.part(0..<pageBytes - 1), memory.part(pageBytes..<2 * pageBytes))
            guard let size = unsafe SegmentWriter.write(page, parts, into: room, scratch: scratch) else { return nil }
            let segments = unsafe UnsafeRawBufferPointer(memory.part(0..<size))
            let goal = min(size * (100 - savedPercentMin) / 100, target.count - headerBytes)
            let stored = unsafe target.part(headerBytes..<target.count)
            unsafe target.set(UInt32(size), at: 0)
            if let used = unsafe LZ4.compress(segments, into: stored.part(0..<goal)) { return headerBytes + used }
            guard size <= stored.count else { return nil }
            unsafe stored.copyMemory(from: segments)
            return headerBytes + size
        }
    }

    /// Reads segments into the whole of `page`. False if they do not yield exactly its size.
    package static func decode(_ payload: UnsafeRawBufferPointer, into page: UnsafeMutableRawBufferPointer) -> Bool {
        guard payload.count > headerBytes else { return false }
        let size = Int(unsafe payload.integer(at: 0, as: UInt32.self))
        let stored = unsafe payload.part(headerBytes..<payload.count)
        guard size < page.count else { return false }
        guard stored.count < size else { return unsafe stored.count == size && SegmentReader.read(stored, into: page) }
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { segments in
            unsafe LZ4.decompress(stored, into: segments) && SegmentReader.read(UnsafeRawBufferPointer(segments), into: page)
        }
    }

    /// Reads parts of a page of segments: the first segment, and those with bytes in the ascending ranges that `wanted` returns for it. The other
    /// bytes of the page keep their values. False if the segments are invalid, if they have entries of an index, or if `wanted` refuses them.
    ///
    /// - Parameter prefix: The bytes of segments that sufficed for other pages with the same parts, at first 0. Segments lie in the order of the page,
    ///   so LZ4 decompresses only these.
    package static func decodeParts(
        _ payload: UnsafeRawBufferPointer, prefix: inout Int, into page: UnsafeMutableRawBufferPointer, wanted: (UnsafeRawBufferPointer) -> [Range<Int>]?
    ) -> Bool {
        guard payload.count > headerBytes, page.count > 0 else { return false }
        let size = Int(unsafe payload.integer(at: 0, as: UInt32.self))
        let stored = unsafe payload.part(headerBytes..<payload.count)
        guard size < page.count, stored.count <= size else { return false }
        if stored.count == size { return unsafe SegmentReader.readParts(stored, into: page, wanted: wanted) != nil }
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { segments in
            if prefix > 0, prefix < size, unsafe LZ4.decompressPrefix(stored, into: segments.part(0..<prefix)),
                unsafe SegmentReader.readParts(UnsafeRawBufferPointer(segments.part(0..<prefix)), into: page, wanted: wanted) != nil
            { return true }
            guard unsafe LZ4.decompress(stored, into: segments),
                let used = unsafe SegmentReader.readParts(UnsafeRawBufferPointer(segments), into: page, wanted: wanted)
            else { return false }
            prefix = max(prefix, used)
            return true
        }
    }
}
