// A segment as text, for inspection: header, groups, frames, and the bytes after the last valid group.

extension LogReader {
    /// Passes lines of text to `line`: one for the header, each group and each frame of a segment, and one for the bytes after the last group.
    package func dump(_ number: LogSegmentNumber, to line: (String) -> Void) throws(EngineError) {
        let segment = try open(number)
        let header = segment.header
        let first = segment.start.map { "\($0.position) previous \(hexadecimal($0.check))" } ?? "none"
        line("\(number) store \(header.store) bytes \(header.segmentBytes) check \(hexadecimal(header.check)) first \(first)")
        guard let start = segment.start else { return }
        var mark = LogMark(position: start.position, check: header.check)
        while let group = try segment.group(at: mark.position, seed: mark.check) {
            line("\(mark.position) \(group)")
            mark = group.end
        }
        line("\(mark.position) \(try segment.tail(at: mark.position))")
    }
}

extension LogSegment {
    /// Describes the bytes at a position without a valid group.
    fileprivate func tail(at position: LogPosition) throws(EngineError) -> String {
        guard let block = try bytes(at: position, count: LogFrame.blockBytes) else { return "end of segment" }
        if unsafe block.withBytes({ unsafe $0.isZero }) { return "end: zeros" }
        let frame = unsafe block.withBytes { unsafe LogFrame.decodeSelfChecked($0, segment: header.check, position: position) }
        guard let frame else { return "end: no frame of this chain" }
        return frame.kind == .seal
            ? "seal: \(LogSegmentNumber(frame.value)) follows" : "end: a torn group, or one of another chain"
    }
}
