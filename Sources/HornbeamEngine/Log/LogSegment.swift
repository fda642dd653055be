// One segment open for reading: its groups as untrusted bytes, and the bytes after the last group.

/// A segment open for reading.
struct LogSegment {
    let file: any File
    let header: LogSegmentHeader
    /// The mark at which the segment's first group begins; nil if it has no group.
    let start: LogMark?

    /// Reads the start from the first frame, if that frame's own check is valid.
    init(file: any File, header: LogSegmentHeader) throws(EngineError) {
        var block = [UInt8](repeating: 0, count: LogFrame.groupFrameBytes)
        _ = unsafe try block.withMutableBytes { (bytes) throws(EngineError) in
            unsafe try file.read(into: bytes, at: UInt64(LogSegmentHeader.bytes))
        }
        let start = unsafe block.withBytes { unsafe LogFrame.decodeStart($0, segment: header.check) }
        self.init(file: file, header: header, start: start)
    }

    /// Returns the segment with a given start, for a segment whose first group is incomplete.
    func beginning(at mark: LogMark) -> LogSegment { LogSegment(file: file, header: header, start: mark) }

    private init(file: any File, header: LogSegmentHeader, start: LogMark?) {
        self.file = file
        self.header = header
        self.start = start
    }

    /// The offset of a position in the file.
    func offset(of position: LogPosition) -> UInt64 {
        guard let start else { preconditionFailure("A segment without a group has no positions.") }
        return LogSegmentHeader.offset(of: position, from: start.position)
    }

    /// The group at a position; nil if the bytes are no complete group, or if its checks do not match.
    func group(at position: LogPosition, seed: UInt64) throws(EngineError) -> LogGroup? {
        guard let first = try bytes(at: position, count: LogFrame.blockBytes) else { return nil }
        guard let length = groupBytes(first, position, seed: seed) else { return nil }
        let whole = length <= first.count ? first : try bytes(at: position, count: length)
        guard let whole else { return nil }
        return LogGroup(decoding: whole, count: length, at: position, seed: seed, path: file.path)
    }

    /// The length in the group frame at the start of the bytes; nil if a check of the frame does not match.
    private func groupBytes(_ block: [UInt8], _ position: LogPosition, seed: UInt64) -> Int? {
        unsafe block.withBytes { bytes in
            guard let (frame, _) = unsafe LogFrame.decode(bytes, seed: seed), frame.kind == .group,
                unsafe LogFrame.decodeSelfChecked(bytes, segment: header.check, position: position) != nil
            else { return nil }
            let length = unsafe bytes.integer(at: LogFrame.groupBytesOffset, as: UInt64.self)
            return length <= header.segmentBytes ? Int(length) : nil
        }
    }

    /// The bytes at a position; nil if the segment or its file ends before them.
    func bytes(at position: LogPosition, count: Int) throws(EngineError) -> [UInt8]? {
        let offset = offset(of: position)
        guard offset <= header.segmentBytes, UInt64(count) <= header.segmentBytes - offset else { return nil }
        var buffer = [UInt8](repeating: 0, count: count)
        let done = unsafe try buffer.withMutableBytes { (bytes) throws(EngineError) in unsafe try file.read(into: bytes, at: offset) }
        return done == count ? buffer : nil
    }

    /// Throws `logDamaged` if a frame after the end of the log proves that a longer log was durable. `isFollowed`: a next segment exists, which
    /// has no group.
    func checkEnd(at end: LogPosition, isFollowed: Bool) throws(EngineError) {
        guard let start else { return }
        var position = end
        let limit = LogPosition(start.position.rawValue + header.segmentBytes - UInt64(LogSegmentHeader.bytes))
        while position < limit {
            let count = Int(min(limit.rawValue - position.rawValue, 1 << 20))
            guard let window = try bytes(at: position, count: count) else { break }
            if let (durable, why) = proof(in: window, at: position, beyond: end, isFollowed: isFollowed) {
                throw .logDamaged(from: end, to: durable, why, path: file.path)
            }
            position = position + count
        }
    }

    /// The first frame of a window whose own check is valid and which proves that bytes beyond the end were durable.
    private func proof(in window: [UInt8], at start: LogPosition, beyond end: LogPosition, isFollowed: Bool) -> (LogPosition, String)? {
        unsafe window.withBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: LogFrame.blockBytes) {
                let block = unsafe bytes.part(offset..<offset + LogFrame.blockBytes)
                let position = start + offset
                guard let frame = unsafe LogFrame.decodeSelfChecked(block, segment: header.check, position: position) else { continue }
                if frame.kind == .seal {
                    if isFollowed, position == end { continue }
                    return (position, "the segment \(LogSegmentNumber(frame.value)) that follows is missing")
                }
                if frame.value > end.rawValue {
                    return (LogPosition(frame.value), "a later group records that they were durable")
                }
            }
            return nil
        }
    }
}
