// The frames of the log. Each is a 32-byte header and a payload padded with zeros to 8 bytes, little-endian:
//
//      0           4               8          16                             24          32
//      +-----------+---------------+----------+------------------------------+-----------+---------------
//      | kind      | payload bytes | position | transaction / durable / next | check     | payload ...
//      +-----------+---------------+----------+------------------------------+-----------+---------------
//
// The check is XXH64 over bytes 0 ..< 24 and the payload, seeded with the check of the preceding frame; for the first frame,
// with the check of the segment's header. The low 16 bits of the kind are the kind. If bit 16 is set, the payload is the raw
// size (4 bytes) and an LZ4 block.
//
//   group   begins the frames of one write, at a 4 KiB block boundary. Zeros after the last frame fill the last block. The third
//           field is the durable position at the time of the write. Payload: a second check, seeded only with the check of the
//           segment's header and the position, so that the frame can be verified even if preceding frames are damaged; the
//           number of bytes of the group; and the check of the preceding frame, which may be in the preceding segment.
//   part    a piece of a transaction that is not its last.
//   commit  the last or only piece of a transaction. The third field is the transaction's number.
//   seal    after the last group of a segment, at a block boundary. The third field is the number of the next segment, which
//           exists. Payload as in a group frame. Written after the next segment is durable. The next frame is not chained to it.

/// The kinds of frame.
enum LogFrameKind: UInt32 {
    case group = 1
    case part = 2
    case commit = 3
    case seal = 4
}

/// The header of a frame.
struct LogFrame {
    static let headerBytes = 32
    static let compressedFlag: UInt32 = 1 << 16
    /// The largest number of raw bytes in one frame.
    static let partBytesMax = 1 << 20
    /// Header and payload of a group frame.
    static let groupFrameBytes = headerBytes + groupPayloadBytes
    static let groupPayloadBytes = 24
    /// The offset of the number of bytes of a group, which follows the frame's own check.
    static let groupBytesOffset = headerBytes + 8
    static let previousCheckOffset = groupBytesOffset + 8
    static let blockBytes = 4096

    // Offsets of the fields.
    static let kindOffset = 0
    static let payloadOffset = kindOffset + 4
    static let positionOffset = payloadOffset + 4
    static let valueOffset = positionOffset + 8
    static let checkOffset = valueOffset + 8

    var kind: LogFrameKind
    var isCompressed = false
    var payloadBytes: Int
    var position: LogPosition
    /// The third field: a transaction number, a durable position or the number of the next segment.
    var value: UInt64

    /// The length of the frame: header and padded payload.
    var bytes: Int { LogFrame.headerBytes + LogFrame.padded(payloadBytes) }

    static func padded(_ count: Int) -> Int { (count + 7) & ~7 }

    init(kind: LogFrameKind, isCompressed: Bool = false, payloadBytes: Int, position: LogPosition, value: UInt64) {
        self.kind = kind
        self.isCompressed = isCompressed
        self.payloadBytes = payloadBytes
        self.position = position
        self.value = value
    }

    /// Writes the header before the payload, which must be in the buffer already, and returns the check.
    func encode(into frame: UnsafeMutableRawBufferPointer, seed: UInt64) -> UInt64 {
        assert(frame.count >= bytes, "A frame fits its place.")
        assert(payloadBytes >= 0 && position <= .last, "A frame lies within the positions of a log.")
        unsafe encodeFields(into: frame)
        let check = unsafe LogFrame.check(UnsafeRawBufferPointer(frame), payloadBytes: payloadBytes, seed: seed)
        unsafe frame.set(check, at: LogFrame.checkOffset)
        return check
    }

    private func encodeFields(into frame: UnsafeMutableRawBufferPointer) {
        unsafe frame.set(kind.rawValue | (isCompressed ? LogFrame.compressedFlag : 0), at: LogFrame.kindOffset)
        unsafe frame.set(UInt32(payloadBytes), at: LogFrame.payloadOffset)
        unsafe frame.set(position.rawValue, at: LogFrame.positionOffset)
        unsafe frame.set(value, at: LogFrame.valueOffset)
    }

    /// Writes a whole group or seal frame. `previous` is the check of the preceding frame. The seed is the same, except at the start of a segment.
    func encodeSelfChecked(
        into frame: UnsafeMutableRawBufferPointer, groupBytes: Int, previous: UInt64, segment: UInt64, seed: UInt64
    ) -> UInt64 {
        assert(kind == .group || kind == .seal, "Groups and seals have a check of their own.")
        assert(position.rawValue % UInt64(LogFrame.blockBytes) == 0, "Groups and seals begin at a block.")
        unsafe encodeFields(into: frame)
        unsafe frame.set(UInt64(groupBytes), at: LogFrame.groupBytesOffset)
        unsafe frame.set(previous, at: LogFrame.previousCheckOffset)
        let own = unsafe LogFrame.selfCheck(UnsafeRawBufferPointer(frame), segment: segment, position: position)
        unsafe frame.set(own, at: LogFrame.headerBytes)
        return unsafe encode(into: frame, seed: seed)
    }

    static func check(_ frame: UnsafeRawBufferPointer, payloadBytes: Int, seed: UInt64) -> UInt64 {
        unsafe XXH64.hash(
            frame.part(0..<checkOffset), frame.part(headerBytes..<headerBytes + payloadBytes), seed: seed)
    }

    /// The own check of a group or seal frame: over its fields and the rest of its payload. Here and below, `segment` is the check of the segment's
    /// header. It differs after recycling, so older frames in a recycled file do not match.
    static func selfCheck(_ frame: UnsafeRawBufferPointer, segment: UInt64, position: LogPosition) -> UInt64 {
        unsafe XXH64.hash(
            frame.part(0..<checkOffset), frame.part(groupBytesOffset..<groupFrameBytes),
            seed: segment ^ PageHeader.mixed(position.rawValue))
    }

    /// The frame at the start of untrusted bytes, with its check; nil unless the check matches the seed.
    static func decode(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> (frame: LogFrame, check: UInt64)? {
        guard let frame = unsafe fields(bytes), frame.bytes <= bytes.count else { return nil }
        let stored = unsafe bytes.integer(at: checkOffset, as: UInt64.self)
        guard unsafe stored == check(bytes, payloadBytes: frame.payloadBytes, seed: seed) else { return nil }
        return (frame, stored)
    }

    /// A group or seal frame whose own check is valid, independent of the chain.
    static func decodeSelfChecked(_ bytes: UnsafeRawBufferPointer, segment: UInt64, position: LogPosition) -> LogFrame? {
        guard let frame = unsafe fields(bytes), frame.kind == .group || frame.kind == .seal,
            frame.payloadBytes == groupPayloadBytes, frame.position == position
        else { return nil }
        let stored = unsafe bytes.integer(at: headerBytes, as: UInt64.self)
        return unsafe stored == selfCheck(bytes, segment: segment, position: position) ? frame : nil
    }

    /// The mark at which a segment's first group begins; nil if there is no valid group frame.
    static func decodeStart(_ bytes: UnsafeRawBufferPointer, segment: UInt64) -> LogMark? {
        guard let position = unsafe fields(bytes)?.position, position.rawValue % UInt64(blockBytes) == 0, position.rawValue < 1 << 62,
            unsafe decodeSelfChecked(bytes, segment: segment, position: position)?.kind == .group
        else { return nil }
        return LogMark(position: position, check: unsafe bytes.integer(at: previousCheckOffset))
    }

    private static func fields(_ bytes: UnsafeRawBufferPointer) -> LogFrame? {
        guard bytes.count >= headerBytes else { return nil }
        let kindBits = unsafe bytes.integer(at: kindOffset, as: UInt32.self)
        guard let kind = LogFrameKind(rawValue: kindBits & ~compressedFlag) else { return nil }
        return LogFrame(
            kind: kind, isCompressed: kindBits & compressedFlag != 0,
            payloadBytes: unsafe Int(bytes.integer(at: payloadOffset, as: UInt32.self)),
            position: unsafe LogPosition(bytes.integer(at: positionOffset)), value: unsafe bytes.integer(at: valueOffset))
    }
}
