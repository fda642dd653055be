// The 32 bytes before the payload of every page record, little-endian, 8-byte aligned in the file:
//
//      0        2      3       4              8           12          15      16                    24          32
//      +--------+------+-------+--------------+-----------+-----------+-------+---------------------+-----------+
//      | magic  | kind | codec | stored bytes | raw bytes | tree (24) | level | version             | check     |
//      +--------+------+-------+--------------+-----------+-----------+-------+---------------------+-----------+
//
// The check is XXH64 over bytes 0 ..< 24 and the stored payload, seeded with the store's salt and the record's
// address, so that a record is valid only in this store and at this address.

/// The kinds of page records.
package enum PageKind: UInt8, Sendable, Hashable, CaseIterable {
    case indexLeaf = 1
    case tableLeaf = 2
    case inner = 3
    case blobChunk = 4
    case blobIndex = 5
    case catalogue = 6
    case fileTable = 7
}

/// The part of a page record's header that describes the page.
package struct PageHeading: Hashable, Sendable {
    package var kind: PageKind
    package var tree: TreeID
    /// 0 for leaves; at most 255.
    package var level: Int
    /// The number of a version that has the page: the one that was written, or that of the transaction that writes early. Of two leaves of a tree with
    /// common keys, the one with the lower number is the older, and in the same version the one at the lower address.
    package var version: TransactionNumber

    package init(kind: PageKind, tree: TreeID, level: Int = 0, version: TransactionNumber) {
        self.kind = kind
        self.tree = tree
        self.level = level
        self.version = version
    }
}

/// A page that was read and verified.
package struct PageInfo: Hashable, Sendable {
    package var heading: PageHeading
    package var rawBytes: Int
}

/// How a payload is stored.
enum PageCodec: UInt8 {
    case raw = 0
    case lz4 = 1
    /// Segments of a leaf, perhaps in an LZ4 block.
    case segments = 2
}

/// The header of a page record.
package struct PageHeader {
    static let bytes = 32
    static let magic: UInt16 = 0x4248

    // Offsets of the fields.
    static let kindOffset = 2
    static let codecOffset = 3
    static let storedOffset = 4
    static let rawOffset = 8
    static let treeOffset = 12
    static let versionOffset = 16
    static let checkOffset = 24

    var heading: PageHeading
    var codec: PageCodec
    var storedBytes: Int
    var rawBytes: Int

    /// The length of the record: header, payload and padding.
    var recordBytes: Int { (PageHeader.bytes + storedBytes + 7) & ~7 }

    /// Writes all fields except the check.
    func encode(into buffer: UnsafeMutableRawBufferPointer) {
        unsafe buffer.storeBytes(of: PageHeader.magic.littleEndian, as: UInt16.self)
        unsafe buffer.storeBytes(of: heading.kind.rawValue, toByteOffset: PageHeader.kindOffset, as: UInt8.self)
        unsafe buffer.storeBytes(of: codec.rawValue, toByteOffset: PageHeader.codecOffset, as: UInt8.self)
        unsafe buffer.storeBytes(of: UInt32(storedBytes).littleEndian, toByteOffset: PageHeader.storedOffset, as: UInt32.self)
        unsafe buffer.storeBytes(of: UInt32(rawBytes).littleEndian, toByteOffset: PageHeader.rawOffset, as: UInt32.self)
        let tree = heading.tree.rawValue | UInt32(heading.level) << 24
        unsafe buffer.storeBytes(of: tree.littleEndian, toByteOffset: PageHeader.treeOffset, as: UInt32.self)
        unsafe buffer.storeBytes(
            of: heading.version.rawValue.littleEndian, toByteOffset: PageHeader.versionOffset, as: UInt64.self)
    }

    /// The header in untrusted bytes, or the fault of its first bad field.
    static func decode(_ buffer: UnsafeRawBufferPointer) -> Result<PageHeader, PageFault> {
        guard unsafe UInt16(littleEndian: buffer.load(as: UInt16.self)) == magic else { return .failure(.magic) }
        guard let kind = unsafe PageKind(rawValue: buffer[kindOffset]) else { return .failure(.kind) }
        guard let codec = unsafe PageCodec(rawValue: buffer[codecOffset]) else { return .failure(.codec) }
        let stored = unsafe UInt32(littleEndian: buffer.load(fromByteOffset: storedOffset, as: UInt32.self))
        let raw = unsafe UInt32(littleEndian: buffer.load(fromByteOffset: rawOffset, as: UInt32.self))
        let tree = unsafe UInt32(littleEndian: buffer.load(fromByteOffset: treeOffset, as: UInt32.self))
        let version = unsafe UInt64(littleEndian: buffer.load(fromByteOffset: versionOffset, as: UInt64.self))
        let heading = PageHeading(
            kind: kind, tree: TreeID(tree & 0xFF_FFFF), level: Int(tree >> 24), version: TransactionNumber(version))
        return .success(PageHeader(heading: heading, codec: codec, storedBytes: Int(stored), rawBytes: Int(raw)))
    }

    /// The check of a record with the given payload. The bytes of the header before its check must be filled.
    static func check(
        header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, salt: UInt64, address: UInt64
    ) -> UInt64 {
        let fields = unsafe UnsafeRawBufferPointer(rebasing: header[..<checkOffset])
        return unsafe XXH64.hash(fields, payload, seed: salt ^ mixed(address))
    }

    /// Spreads an address over 64 bits (the finalizer of SplitMix64).
    package static func mixed(_ address: UInt64) -> UInt64 {
        var value = address &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// The faults of a record, with their texts in error messages.
enum PageFault: String, Error {
    case address = "the reference's address names no page"
    case short = "the file ends before the record does"
    case magic = "the magic number is wrong"
    case kind = "the kind is unknown"
    case codec = "the codec is unknown"
    case size = "the stored size differs from the size in its reference"
    case raw = "the raw size is wrong"
    case check = "the checksum does not match"
    case stamp = "the checksum differs from the checksum in its reference"
    case compression = "the payload cannot be unpacked"
    case unexpected = "the kind is not the expected one"
    case blob = "the blob's chunks do not add up"
}
