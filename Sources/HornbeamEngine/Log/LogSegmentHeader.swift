// The first 4 KiB of a log segment, little-endian, synced before the segment gets its name:
//
//      0            8         12         16              32       40     48              56              4088    4096
//      +------------+---------+----------+---------------+--------+------+---------------+---- zeros ----+-------+
//      | "HBEAMLOG" | version | reserved | store (2× 64) | number | salt | segment bytes |               | check |
//      +------------+---------+----------+---------------+--------+------+---------------+---------------+-------+
//
// The check is XXH64 of the 4,088 bytes before it. It is the seed for the check of the segment's first frame, so frames are valid in this
// segment of this store only. The header does not contain the position of the first group; the group itself does. So the header of a
// preallocated segment is complete before that position is known, and the first group needs no extra sync.

/// The header of a log segment.
struct LogSegmentHeader: Hashable {
    static let bytes = 4096
    static let magic: UInt64 = 0x474F_4C4D_4145_4248  // "HBEAMLOG"
    static let version: UInt32 = 2
    /// Readers accept segments up to this length.
    static let segmentBytesMax: UInt64 = 1 << 32

    // Offsets of the fields.
    static let versionOffset = 8
    static let reservedOffset = versionOffset + 4
    static let storeOffset = reservedOffset + 4
    static let numberOffset = storeOffset + 16
    static let saltOffset = numberOffset + 8
    static let segmentBytesOffset = saltOffset + 8
    static let zerosOffset = segmentBytesOffset + 8
    static let checkOffset = bytes - 8

    var store: StoreIdentifier
    var number: LogSegmentNumber
    var salt: UInt64
    /// The length of the whole file. It never changes.
    var segmentBytes: UInt64
    var check: UInt64 = 0

    init(store: StoreIdentifier, number: LogSegmentNumber, salt: UInt64, segmentBytes: UInt64) {
        self.store = store
        self.number = number
        self.salt = salt
        self.segmentBytes = segmentBytes
    }

    /// The offset of a position in the file of a segment, given the position of its first group.
    static func offset(of position: LogPosition, from first: LogPosition) -> UInt64 {
        position.rawValue - first.rawValue + UInt64(bytes)
    }

    /// Fills a zeroed block and sets the check.
    mutating func encode(into block: UnsafeMutableRawBufferPointer) {
        assert(block.count == LogSegmentHeader.bytes, "A header fills a block.")
        unsafe block.set(LogSegmentHeader.magic, at: 0)
        unsafe block.set(LogSegmentHeader.version, at: LogSegmentHeader.versionOffset)
        unsafe block.set(store.high, at: LogSegmentHeader.storeOffset)
        unsafe block.set(store.low, at: LogSegmentHeader.storeOffset + 8)
        unsafe block.set(number.rawValue, at: LogSegmentHeader.numberOffset)
        unsafe block.set(salt, at: LogSegmentHeader.saltOffset)
        unsafe block.set(segmentBytes, at: LogSegmentHeader.segmentBytesOffset)
        check = unsafe XXH64.hash(UnsafeRawBufferPointer(block).part(0..<LogSegmentHeader.checkOffset))
        unsafe block.set(check, at: LogSegmentHeader.checkOffset)
    }

    /// Decodes the header in an untrusted block of 4 KiB. Throws the name of the first wrong field.
    init(decoding block: UnsafeRawBufferPointer) throws(LogFault) {
        guard unsafe block.integer(at: 0, as: UInt64.self) == LogSegmentHeader.magic else { throw .header("magic number") }
        let check = unsafe block.integer(at: LogSegmentHeader.checkOffset, as: UInt64.self)
        guard unsafe check == XXH64.hash(block.part(0..<LogSegmentHeader.checkOffset)) else { throw .header("check") }
        let version = unsafe block.integer(at: LogSegmentHeader.versionOffset, as: UInt32.self)
        guard version <= LogSegmentHeader.version else { throw .newer(version) }
        func word(_ offset: Int) -> UInt64 { unsafe block.integer(at: offset) }
        store = StoreIdentifier(high: word(LogSegmentHeader.storeOffset), low: word(LogSegmentHeader.storeOffset + 8))
        number = LogSegmentNumber(word(LogSegmentHeader.numberOffset))
        salt = word(LogSegmentHeader.saltOffset)
        segmentBytes = word(LogSegmentHeader.segmentBytesOffset)
        self.check = check
        guard version == LogSegmentHeader.version else { throw .header("version") }
        guard segmentBytes % 4096 == 0, segmentBytes >= 8192, segmentBytes <= LogSegmentHeader.segmentBytesMax else { throw .header("length") }
        let reserved = unsafe block.integer(at: LogSegmentHeader.reservedOffset, as: UInt32.self)
        let zeros = unsafe block.part(LogSegmentHeader.zerosOffset..<LogSegmentHeader.checkOffset)
        guard reserved == 0, unsafe zeros.isZero else { throw .header("reserved bytes") }
    }
}

/// The reason why a segment cannot be read.
enum LogFault: Error {
    /// A field of the header is wrong.
    case header(String)
    case newer(UInt32)
}
