// The stored form of a packed page: u32 size of its segments, then the segments, or an LZ4 block of them if that is shorter.

/// Packed pages as payloads of records.
package enum PackedPage {
    private static let headerBytes = 4
    /// LZ4 must save at least this part of the segments, because it takes longer to read.
    private static let savedPercentMin = 3

    /// Packs a page and compresses its segments. Nil if the result does not fit the target, or if there are no parts. The parts cover the page.
    package static func encode(
        _ page: UnsafeRawBufferPointer, _ parts: [PagePart], into target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard !parts.isEmpty, page.count > 0, page.count <= Int(UInt16.max), target.count > headerBytes else { return nil }
        let size = page.count
        return unsafe withUnsafeTemporaryAllocation(byteCount: 2 * size, alignment: 16) { memory in
            // The segments are shorter than the page.
            let (room, scratch) = unsafe (memory.part(0..<size - 1), memory.part(size..<2 * size))
            guard let packed = unsafe PagePacker.pack(page, parts, into: room, scratch: scratch) else { return nil }
            let segments = unsafe UnsafeRawBufferPointer(memory.part(0..<packed))
            let goal = min(packed * (100 - savedPercentMin) / 100, target.count - headerBytes)
            let stored = unsafe target.part(headerBytes..<target.count)
            unsafe target.set(UInt32(packed), at: 0)
            if let used = unsafe LZ4.compress(segments, into: stored.part(0..<goal)) { return headerBytes + used }
            guard packed <= stored.count else { return nil }
            unsafe stored.copyMemory(from: segments)
            return headerBytes + packed
        }
    }

    /// Unpacks into the whole of `page`. False if the bytes are no packed page of this size.
    package static func decode(_ payload: UnsafeRawBufferPointer, into page: UnsafeMutableRawBufferPointer) -> Bool {
        guard payload.count > headerBytes else { return false }
        let size = Int(unsafe payload.integer(at: 0, as: UInt32.self))
        let stored = unsafe payload.part(headerBytes..<payload.count)
        guard size < page.count else { return false }
        guard stored.count < size else { return unsafe stored.count == size && PageUnpacker.unpack(stored, into: page) }
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { segments in
            unsafe LZ4.decompress(stored, into: segments) && PageUnpacker.unpack(UnsafeRawBufferPointer(segments), into: page)
        }
    }
}
