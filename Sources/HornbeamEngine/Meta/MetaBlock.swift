// One 4 KiB block of the meta file, little-endian:
//
//      0            8         12          16            24              32               48     56
//      +------------+---------+-----------+-------------+---------------+----------------+------+------------+
//      | "HORNBEAM" | version | page size | compatible  | incompatible  | store (2 × 64) | salt | checkpoint |
//      +------------+---------+-----------+-------------+---------------+----------------+------+------------+
//      64             72          80            88                96          120         144              152
//      +--------------+-----------+-------------+-----------------+-----------+-----------+----------------+
//      | log position | log check | transaction | next object key | catalogue | file table | oldest segment |
//      +--------------+-----------+-------------+-----------------+-----------+------------+---------------+
//      152            160              164     168              176                4088        4096
//      +--------------+----------------+-------+----------------+---- zeros ----- -+-----------+
//      | next segment | next page file | flags | previous check |                  |   check   |
//      +--------------+----------------+-------+----------------+------------------+-----------+
//
// The check is XXH64 of the 4,088 bytes before it, seeded with the number of the slot (0 or 1). Magic, version and check have the same
// offsets in every version of the format, so that an older library can distinguish a newer file from a damaged one.

/// A block of the meta file.
struct MetaBlock {
    static let bytes = 4096
    static let magic: UInt64 = 0x4D41_4542_4E52_4F48  // "HORNBEAM"
    /// Version 1 is the same without pages as segments; the next checkpoint writes the newest version.
    static let version: UInt32 = 2
    /// The incompatible feature of a store in which an index has an insert buffer.
    static let insertBuffers: UInt64 = 2
    /// The incompatible features that this version of the library supports.
    static let knownFeatures = insertBuffers
    static let cleanFlag: UInt32 = 1

    // Offsets of the fields.
    static let versionOffset = 8
    static let pageSizeOffset = versionOffset + 4
    static let compatibleOffset = pageSizeOffset + 4
    static let incompatibleOffset = compatibleOffset + 8
    static let storeOffset = incompatibleOffset + 8
    static let saltOffset = storeOffset + 16
    static let checkpointOffset = saltOffset + 8
    static let positionOffset = checkpointOffset + 8
    static let logCheckOffset = positionOffset + 8
    static let transactionOffset = logCheckOffset + 8
    static let objectKeyOffset = transactionOffset + 8
    static let catalogueOffset = objectKeyOffset + 8
    static let fileTableOffset = catalogueOffset + 24
    static let oldestSegmentOffset = fileTableOffset + 24
    static let nextSegmentOffset = oldestSegmentOffset + 8
    static let nextPageFileOffset = nextSegmentOffset + 8
    static let flagsOffset = nextPageFileOffset + 4
    static let previousCheckOffset = flagsOffset + 4
    static let reservedOffset = previousCheckOffset + 8
    static let checkOffset = bytes - 8

    var state: MetaState
    /// The check of the block with the preceding state; 0 in a store's first block.
    var previousCheck: UInt64
    var check: UInt64 = 0

    init(state: MetaState, previousCheck: UInt64) {
        self.state = state
        self.previousCheck = previousCheck
    }

    /// The reason why a block cannot be used.
    enum Fault: Error {
        case notMeta
        case newer(UInt32)
        case features(UInt64)
        case damaged(String)
    }

    /// Fills a zeroed block and returns its check.
    func encode(into block: UnsafeMutableRawBufferPointer, slot: Int) -> UInt64 {
        assert(block.count == MetaBlock.bytes && (0..<MetaFile.slotCount).contains(slot), "A state fills a block of a slot.")
        unsafe block.set(MetaBlock.magic, at: 0)
        unsafe block.set(MetaBlock.version, at: MetaBlock.versionOffset)
        unsafe block.set(UInt32(state.pageSize), at: MetaBlock.pageSizeOffset)
        unsafe block.set(state.compatibleFeatures, at: MetaBlock.compatibleOffset)
        unsafe block.set(state.hasInsertBuffers ? MetaBlock.insertBuffers : 0, at: MetaBlock.incompatibleOffset)
        unsafe block.set(state.store.high, at: MetaBlock.storeOffset)
        unsafe block.set(state.store.low, at: MetaBlock.storeOffset + 8)
        unsafe block.set(state.salt, at: MetaBlock.saltOffset)
        unsafe block.set(state.checkpoint, at: MetaBlock.checkpointOffset)
        unsafe block.set(state.log.position.rawValue, at: MetaBlock.positionOffset)
        unsafe block.set(state.log.check, at: MetaBlock.logCheckOffset)
        unsafe block.set(state.transaction.rawValue, at: MetaBlock.transactionOffset)
        unsafe block.set(state.nextObjectKey, at: MetaBlock.objectKeyOffset)
        unsafe state.catalogue.store(in: block, at: MetaBlock.catalogueOffset)
        unsafe state.fileTable.store(in: block, at: MetaBlock.fileTableOffset)
        unsafe block.set(state.oldestLogSegment.rawValue, at: MetaBlock.oldestSegmentOffset)
        unsafe block.set(state.nextLogSegment.rawValue, at: MetaBlock.nextSegmentOffset)
        unsafe block.set(state.nextPageFile.rawValue, at: MetaBlock.nextPageFileOffset)
        unsafe block.set(state.isCleanlyClosed ? MetaBlock.cleanFlag : 0, at: MetaBlock.flagsOffset)
        unsafe block.set(previousCheck, at: MetaBlock.previousCheckOffset)
        let check = unsafe MetaBlock.check(of: UnsafeRawBufferPointer(block), slot: slot)
        unsafe block.set(check, at: MetaBlock.checkOffset)
        return check
    }

    private static func check(of block: UnsafeRawBufferPointer, slot: Int) -> UInt64 {
        unsafe XXH64.hash(block.part(0..<checkOffset), seed: UInt64(slot))
    }

    /// Decodes an untrusted block of 4 KiB.
    init(decoding block: UnsafeRawBufferPointer, slot: Int) throws(Fault) {
        guard unsafe block.integer(at: 0, as: UInt64.self) == MetaBlock.magic else { throw .notMeta }
        let check = unsafe block.integer(at: MetaBlock.checkOffset, as: UInt64.self)
        guard unsafe check == MetaBlock.check(of: block, slot: slot) else { throw .damaged("the check") }
        let version = unsafe block.integer(at: MetaBlock.versionOffset, as: UInt32.self)
        if version > MetaBlock.version { throw .newer(version) }
        let features = unsafe block.integer(at: MetaBlock.incompatibleOffset, as: UInt64.self)
        let unknown = features & ~MetaBlock.knownFeatures
        if unknown != 0 { throw .features(unknown) }
        state = unsafe MetaBlock.state(in: block)
        previousCheck = unsafe block.integer(at: MetaBlock.previousCheckOffset)
        self.check = check
        guard version >= 1 else { throw .damaged("the format version") }
        let size = state.pageSize
        guard size >= 512, size <= 16384, size & (size - 1) == 0 else { throw .damaged("the page size") }
        if let field = MetaBlock.fault(in: state) { throw .damaged(field) }
        guard unsafe block.part(MetaBlock.reservedOffset..<MetaBlock.checkOffset).isZero
            || state.compatibleFeatures != 0
        else { throw .damaged("the reserved bytes") }
    }

    /// The name of the first field beyond the limits of a store; nil if all are within them. The limits ensure that later sums do not overflow.
    private static func fault(in state: MetaState) -> String? {
        guard state.checkpoint > 0, state.checkpoint < StoreLimits.numberMax else { return "the checkpoint's number" }
        guard state.log.position <= .last, state.log.position.rawValue % LogPosition.unit == 0 else { return "the log position" }
        guard state.transaction.rawValue < StoreLimits.numberMax else { return "the transaction's number" }
        guard state.nextObjectKey > 0, state.nextObjectKey < StoreLimits.numberMax else { return "the next object key" }
        guard state.oldestLogSegment.rawValue > 0, state.oldestLogSegment <= state.nextLogSegment else { return "the oldest log segment" }
        guard state.nextLogSegment <= LogSegmentNumber.last.next else { return "the next log segment" }
        guard state.nextPageFile >= .first, state.nextPageFile <= PageFileNumber.last.next else { return "the next page file" }
        guard !state.catalogue.isEmpty || state.transaction == .zero else { return "the reference of the catalogue" }
        return nil
    }

    private static func state(in block: UnsafeRawBufferPointer) -> MetaState {
        func word(_ offset: Int) -> UInt64 { unsafe block.integer(at: offset) }
        var state = MetaState(
            store: StoreIdentifier(high: word(storeOffset), low: word(storeOffset + 8)), salt: word(saltOffset),
            pageSize: unsafe Int(block.integer(at: pageSizeOffset, as: UInt32.self)), checkpoint: word(checkpointOffset),
            log: LogMark(position: LogPosition(word(positionOffset)), check: word(logCheckOffset)),
            transaction: TransactionNumber(word(transactionOffset)), nextObjectKey: word(objectKeyOffset),
            catalogue: unsafe PageReference(in: block, at: catalogueOffset),
            fileTable: unsafe PageReference(in: block, at: fileTableOffset),
            oldestLogSegment: LogSegmentNumber(word(oldestSegmentOffset)),
            nextLogSegment: LogSegmentNumber(word(nextSegmentOffset)),
            nextPageFile: PageFileNumber(unsafe block.integer(at: nextPageFileOffset)),
            isCleanlyClosed: unsafe block.integer(at: flagsOffset, as: UInt32.self) & cleanFlag != 0)
        state.compatibleFeatures = word(compatibleOffset)
        state.hasInsertBuffers = word(incompatibleOffset) & insertBuffers != 0
        return state
    }
}
