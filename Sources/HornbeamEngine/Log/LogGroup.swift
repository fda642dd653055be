// A commit group that was read from the log: its frames are complete, and the checksum of each frame is chained to the frame before.

/// A complete, verified group.
struct LogGroup {
    private struct Placed {
        var frame: LogFrame
        /// The offset of the payload.
        var offset: Int
    }

    private let bytes: [UInt8]
    private let frames: [Placed]
    private let path: String
    /// The durable position at the time when the group was written.
    let durable: LogPosition
    let end: LogMark

    /// Nil unless the first `count` bytes are a group frame and complete transactions, and nothing else.
    init?(decoding bytes: [UInt8], count: Int, at position: LogPosition, seed: UInt64, path: String) {
        var check = seed
        var placed: [Placed] = []
        var offset = 0
        while offset < count {
            let decoded = unsafe bytes.withBytes { buffer in unsafe LogFrame.decode(buffer.part(offset..<count), seed: check) }
            guard let decoded, decoded.frame.position == position + offset else { return nil }
            let isGroup = decoded.frame.kind == .group
            guard isGroup == (offset == 0), decoded.frame.kind != .seal else { return nil }
            if let last = placed.last?.frame, last.kind == .part, last.value != decoded.frame.value { return nil }
            placed.append(Placed(frame: decoded.frame, offset: offset + LogFrame.headerBytes))
            check = decoded.check
            offset += decoded.frame.bytes
        }
        guard offset == count, placed.last?.frame.kind == .commit else { return nil }
        let blocks = (count + LogFrame.blockBytes - 1) & ~(LogFrame.blockBytes - 1)
        self.bytes = bytes
        self.path = path
        durable = LogPosition(placed[0].frame.value)
        frames = Array(placed.dropFirst())
        end = LogMark(position: position + blocks, check: check)
    }

    /// Calls `body` with each transaction's number and payload.
    func forEachTransaction(
        _ body: (TransactionNumber, UnsafeRawBufferPointer) throws(EngineError) -> Void
    ) throws(EngineError) {
        var parts: [UInt8] = []
        var isWhole = true
        for placed in frames {
            let number = TransactionNumber(placed.frame.value)
            guard number.rawValue < StoreLimits.numberMax else {
                throw EngineError(
                    .damaged,
                    "The log frame at position \(placed.frame.position.rawValue) has a valid checksum but names transaction \(number.rawValue), "
                        + "which is out of range. Restore the store from a backup.", path: path)
            }
            if placed.frame.kind == .commit && isWhole && !placed.frame.isCompressed {
                unsafe try bytes.withBytes { (buffer) throws(EngineError) in
                    unsafe try body(number, buffer.part(placed.offset..<placed.offset + placed.frame.payloadBytes))
                }
                continue
            }
            try unpack(placed, onto: &parts)
            isWhole = placed.frame.kind == .commit
            guard isWhole else { continue }
            unsafe try parts.withBytes { (buffer) throws(EngineError) in unsafe try body(number, buffer) }
            parts.removeAll(keepingCapacity: true)
        }
    }

    private func unpack(_ placed: Placed, onto parts: inout [UInt8]) throws(EngineError) {
        let stored = placed.offset..<placed.offset + placed.frame.payloadBytes
        guard placed.frame.isCompressed else { return parts.append(contentsOf: bytes[stored]) }
        let isGood = unsafe bytes.withBytes { buffer in
            guard stored.count > 4 else { return false }
            let raw = unsafe Int(buffer.integer(at: stored.lowerBound, as: UInt32.self))
            guard raw > 0, raw <= LogFrame.partBytesMax else { return false }
            let start = parts.count
            parts.append(contentsOf: [UInt8](repeating: 0, count: raw))
            return unsafe parts.withMutableBytes { target in
                unsafe LZ4.decompress(buffer.part(stored.lowerBound + 4..<stored.upperBound), into: target.part(start..<start + raw))
            }
        }
        guard isGood else {
            throw EngineError(
                .damaged,
                "The log frame at position \(placed.frame.position.rawValue) has a valid checksum but its compressed payload "
                    + "cannot be unpacked. Restore the store from a backup.", path: path)
        }
    }
}

extension LogGroup: CustomStringConvertible {
    /// A line for the group and a line for each frame.
    var description: String {
        var lines = ["group durable \(durable), \(frames.count) frames, ends \(end)"]
        for placed in frames {
            let kind = placed.frame.kind == .commit ? "commit" : "part"
            let codec = placed.frame.isCompressed ? " lz4" : ""
            lines.append("  \(placed.frame.position) \(kind) #\(placed.frame.value) \(placed.frame.payloadBytes) bytes\(codec)")
        }
        return lines.joined(separator: "\n")
    }
}
