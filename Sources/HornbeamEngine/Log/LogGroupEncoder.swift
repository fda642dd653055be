// Lays out one group of transactions in a buffer: the group frame, the transactions' frames, and zeros to the end of the block.

/// Encodes a group. Afterwards `check` is the check of its last frame.
struct LogGroupEncoder {
    /// Smaller payloads are not compressed.
    static let compressionMin = 512

    private let start: LogMark
    private let segment: UInt64
    private let durable: LogPosition
    /// Whether payloads of the group are compressed.
    private var compresses: Bool
    private(set) var check: UInt64
    /// The number of bytes before the zeros at the end.
    private(set) var used = 0

    /// `segment` is the check of the segment's header. `seed` is the check of the preceding frame, or of the header at the start of a segment.
    init(at start: LogMark, seed: UInt64, segment: UInt64, durable: LogPosition, compresses: Bool) {
        self.start = start
        self.segment = segment
        self.durable = durable
        self.compresses = compresses
        check = seed
    }

    /// An upper bound of a group's size in whole blocks: its uncompressed size.
    static func bound(_ group: some Collection<TransactionRecord>) -> Int {
        var sum = LogFrame.groupFrameBytes
        for record in group {
            let parts = max(1, (record.payload.count + LogFrame.partBytesMax - 1) / LogFrame.partBytesMax)
            sum += record.payload.count + parts * (LogFrame.headerBytes + 7)
        }
        return blocks(sum)
    }

    private static func blocks(_ count: Int) -> Int { (count + LogFrame.blockBytes - 1) & ~(LogFrame.blockBytes - 1) }

    /// Encodes a group and returns its length, a multiple of 4 KiB. The buffer must have at least `bound` bytes.
    mutating func encode(_ group: some Collection<TransactionRecord>, into buffer: WriteBuffer) -> Int {
        // The group frame comes first and contains the group's length, so all lengths are computed before the checks.
        assert(start.position.rawValue % UInt64(LogFrame.blockBytes) == 0, "A group begins at a block.")
        assert(durable <= start.position, "No group is durable before it is written.")
        assert(zip(group, group.dropFirst()).allSatisfy { $0.number < $1.number }, "The transactions of a group ascend.")
        used = LogFrame.groupFrameBytes
        // A group takes whole blocks, so compressing a group of one block would save nothing.
        if LogGroupEncoder.bound(group) <= LogFrame.blockBytes { compresses = false }
        var frames: [LogFrame] = []
        frames.reserveCapacity(group.count)
        for record in group { place(record, into: buffer, &frames) }
        seal(frames, buffer)
        let end = LogGroupEncoder.blocks(used)
        assert(used <= end && end <= buffer.count, "A group fits its buffer.")
        let padding = unsafe buffer[used..<end]
        unsafe padding.initializeMemory(as: UInt8.self, repeating: 0)
        return end
    }

    /// Copies the payloads of a transaction and adds their frames.
    private mutating func place(_ record: TransactionRecord, into buffer: WriteBuffer, _ frames: inout [LogFrame]) {
        let count = record.payload.count
        var done = 0
        repeat {
            let length = min(LogFrame.partBytesMax, count - done)
            let kind: LogFrameKind = done + length == count ? .commit : .part
            let (stored, isCompressed) = unsafe record.payload.withBytes { payload in
                unsafe store(payload.part(done..<done + length), in: buffer)
            }
            let frame = LogFrame(
                kind: kind, isCompressed: isCompressed, payloadBytes: stored, position: start.position + used,
                value: record.number.rawValue)
            frames.append(frame)
            assert(stored <= length, "A payload is compressed only if that saves bytes.")
            used += frame.bytes
            assert(used <= buffer.count, "A group fits its buffer.")
            done += length
        } while done < count
    }

    /// Stores a payload after the bytes of its header. Returns the number of stored bytes and whether they are compressed.
    private func store(_ payload: UnsafeRawBufferPointer, in buffer: WriteBuffer) -> (Int, Bool) {
        let place = used + LogFrame.headerBytes
        let goal = payload.count * 9 / 10 - 4
        if compresses, payload.count >= LogGroupEncoder.compressionMin,
            let count = unsafe LZ4.compress(payload, into: buffer[place + 4..<place + 4 + goal])
        {
            unsafe buffer[place..<place + 4].set(UInt32(payload.count), at: 0)
            clearPadding(buffer, place, count + 4)
            return (count + 4, true)
        }
        unsafe buffer[place..<place + payload.count].copyMemory(from: payload)
        clearPadding(buffer, place, payload.count)
        return (payload.count, false)
    }

    private func clearPadding(_ buffer: WriteBuffer, _ place: Int, _ count: Int) {
        let padding = unsafe buffer[place + count..<place + LogFrame.padded(count)]
        for index in 0..<padding.count { unsafe padding[index] = 0 }
    }

    /// Writes the headers. Each check is the seed of the next one.
    private mutating func seal(_ frames: [LogFrame], _ buffer: WriteBuffer) {
        let group = LogFrame(
            kind: .group, payloadBytes: LogFrame.groupPayloadBytes, position: start.position, value: durable.rawValue)
        check = unsafe group.encodeSelfChecked(
            into: buffer[0..<group.bytes], groupBytes: used, previous: start.check, segment: segment, seed: check)
        var offset = group.bytes
        assert(frames.last?.kind == .commit, "A group ends with a complete transaction.")
        for frame in frames {
            check = unsafe frame.encode(into: buffer[offset..<offset + frame.bytes], seed: check)
            offset += frame.bytes
        }
        assert(offset == used, "The frames fill the group.")
    }
}
