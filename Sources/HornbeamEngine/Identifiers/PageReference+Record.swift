// The fields of a page reference that describe its record.

extension PageReference {
    /// The bit of `flags` for an index record, which lists the chunks of a blob.
    package static let blobIndexFlag: UInt16 = 1

    package init(file: PageFileNumber, offset: UInt64, recordBytes: Int, flags: UInt16 = 0, check: UInt64, count: UInt64) {
        precondition(offset & 7 == 0 && offset >> 35 == 0, "A page's offset is a multiple of 8 below 32 GiB.")
        precondition(recordBytes & 7 == 0 && recordBytes >> 19 == 0, "A page record is at most 512 KiB long.")
        self.init(
            address: UInt64(file.rawValue) << 32 | offset >> 3,
            stamp: UInt64(recordBytes >> 3) | UInt64(flags) << 16 | check & 0xFFFF_FFFF_0000_0000,
            count: count)
    }

    package var file: PageFileNumber { PageFileNumber(UInt32(truncatingIfNeeded: address >> 32)) }
    package var offset: UInt64 { (address & 0xFFFF_FFFF) << 3 }
    /// The length of the record in its file: header, stored payload and padding.
    package var recordBytes: Int { Int(stamp & 0xFFFF) << 3 }
    package var flags: UInt16 { UInt16(truncatingIfNeeded: stamp >> 16) }
    /// The upper half of the record's check; the lower half is zero.
    package var checkHalf: UInt64 { stamp & 0xFFFF_FFFF_0000_0000 }
    package var isEmpty: Bool { address == 0 }
    package var isBlobIndex: Bool { flags & PageReference.blobIndexFlag != 0 }

    /// A reference to the record with other flags.
    package func flagged(_ flags: UInt16) -> PageReference {
        PageReference(address: address, stamp: stamp & ~0xFFFF_0000 | UInt64(flags) << 16, count: count)
    }
}
