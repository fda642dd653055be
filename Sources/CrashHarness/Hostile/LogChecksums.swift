/// Recomputes the checksums of a log segment after arbitrary changes of its fields.
enum LogChecksums {
    static let headerBytes = 4096
    private static let frameHeaderBytes = 32
    private static let groupFrameBytes = 56

    /// A frame at its position in the segment.
    struct Frame {
        var offset: Int
        var payloadBytes: Int
        var isGroup: Bool
    }

    /// The readable frames of a segment. Each group must be complete and start at a block boundary.
    static func frames(of segment: [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        var offset = headerBytes
        while offset + groupFrameBytes <= segment.count {
            let isGroup = segment.number(offset, 4) & 0xFFFF == 1
            let payload = Int(segment.number(offset + 4, 4))
            let end = offset + frameHeaderBytes + (payload + 7) & ~7
            guard (1...3).contains(segment.number(offset, 4) & 0xFFFF), end <= segment.count else {
                // After a group, the rest of its last block is padding.
                let next = (offset + 4095) & ~4095
                guard next > offset else { break }
                offset = next
                continue
            }
            frames.append(Frame(offset: offset, payloadBytes: payload, isGroup: isGroup))
            offset = end
        }
        return frames
    }

    /// The segment with changed fields and recomputed checksums. The frames stay at their original positions.
    static func sealed(_ bytes: [UInt8], _ edits: [StoreImage.Edit], length: Int) -> [UInt8] {
        let frames = frames(of: bytes)
        var segment = bytes
        segment.apply(edits, .log)
        segment.set(4088, 8, hash(segment[..<4088], [], seed: 0))
        let header = segment.number(4088, 8)
        var seed = header
        var isFirst = true
        for frame in frames {
            let start = frame.offset
            let isEdited = edits.contains { $0.block == .log && $0.offset == start + 48 }
            if frame.isGroup, frame.payloadBytes == 24 {
                if !isFirst, !isEdited { segment.set(start + 48, 8, seed) }
                let own = hash(segment[start..<start + 24], segment[start + 40..<start + 56], seed: header ^ mixed(segment.number(start + 8, 8)))
                segment.set(start + 32, 8, own)
            }
            isFirst = false
            seed = hash(segment[start..<start + 24], segment[start + 32..<start + 32 + frame.payloadBytes], seed: seed)
            segment.set(start + 24, 8, seed)
        }
        return segment + [UInt8](repeating: 0, count: max(length - segment.count, 0))
    }
}
