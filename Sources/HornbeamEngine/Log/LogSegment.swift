// One segment being read: groups out of hostile bytes, and what lies behind the last of them.

/// A segment open for reading.
struct LogSegment {
    let file: any File
    let header: LogSegmentHeader

    /// The whole group at a position; nil when the bytes there are no complete group of the chain.
    func group(at position: LogPosition, seed: UInt64) throws(EngineError) -> LogGroup? {
        guard let first = try bytes(at: position, count: LogFrame.blockBytes) else { return nil }
        guard let length = groupBytes(first, position, seed: seed) else { return nil }
        let whole = length <= first.count ? first : try bytes(at: position, count: length)
        guard let whole else { return nil }
        return LogGroup(decoding: whole, count: length, at: position, seed: seed, path: file.path)
    }

    /// The length that the group frame at the start of the bytes gives, if the frame is of the chain.
    private func groupBytes(_ block: [UInt8], _ position: LogPosition, seed: UInt64) -> Int? {
        unsafe block.withBytes { bytes in
            guard let (frame, _) = unsafe LogFrame.decode(bytes, seed: seed), frame.kind == .group,
                unsafe LogFrame.decodeSelfChecked(bytes, salt: header.salt, position: position) != nil
            else { return nil }
            let length = unsafe bytes.integer(at: LogFrame.headerBytes + 8, as: UInt64.self)
            return length <= header.segmentBytes ? Int(length) : nil
        }
    }

    /// Bytes from a position on; nil when they would reach beyond the segment.
    func bytes(at position: LogPosition, count: Int) throws(EngineError) -> [UInt8]? {
        let offset = header.offset(of: position)
        guard offset <= header.segmentBytes, UInt64(count) <= header.segmentBytes - offset else { return nil }
        var buffer = [UInt8](repeating: 0, count: count)
        let done = unsafe try buffer.withMutableBytes { (bytes) throws(EngineError) in unsafe try file.read(into: bytes, at: offset) }
        return done == count ? buffer : nil
    }

    /// Throws `logDamaged` if anything behind the end of the log proves that more was durable.
    func checkEnd(at end: LogPosition) throws(EngineError) {
        var position = end
        let limit = LogPosition(header.first.rawValue + header.segmentBytes - UInt64(LogSegmentHeader.bytes))
        while position < limit {
            let count = Int(min(limit.rawValue - position.rawValue, 1 << 20))
            guard let window = try bytes(at: position, count: count) else { break }
            if let (durable, why) = proof(in: window, at: position, beyond: end) {
                throw .logDamaged(from: end, to: durable, why, path: file.path)
            }
            position = position + count
        }
    }

    /// The first self-valid frame in a window that says that something beyond the end was durable.
    private func proof(in window: [UInt8], at start: LogPosition, beyond end: LogPosition) -> (LogPosition, String)? {
        unsafe window.withBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: LogFrame.blockBytes) {
                let block = unsafe bytes.part(offset..<offset + LogFrame.blockBytes)
                let position = start + offset
                guard let frame = unsafe LogFrame.decodeSelfChecked(block, salt: header.salt, position: position) else { continue }
                if frame.kind == .seal {
                    return (position, "the segment \(LogSegmentNumber(frame.value)) that follows is missing")
                }
                if frame.value > end.rawValue {
                    return (LogPosition(frame.value), "a later group says that they were durable")
                }
            }
            return nil
        }
    }
}
