import HornbeamEngine

/// A small store, parsed into blocks. The blocks can be changed and written again with corrected checksums.
///
/// The parser follows Docs/FileFormat.md, and uses the engine only to read intact stores. Records are written uncompressed into one page
/// file, each after the records that it references. So a change of a record's length moves only its ancestors.
struct StoreImage {
    /// A record of the page file.
    struct Record {
        var kind: UInt8
        /// The number of the tree, and in the upper byte the level of the node.
        var tree: UInt32
        var version: UInt64
        var flags: UInt16
        var payload: [UInt8]
        /// The references in the payload to other records.
        var links: [Link] = []
    }

    struct Link {
        var offset: Int
        var record: Int
    }

    /// A changed number in a block.
    struct Edit: Hashable {
        enum Block: Hashable {
            case meta
            case header(Int)
            case payload(Int)
            case log
        }

        var block: Block
        var offset: Int
        var width: Int
        var value: UInt64
    }

    static let recordHeaderBytes = 32
    static let pagesName = "pages-0000000000000001"

    /// The content of the slot of `meta` with the newest state.
    let meta: [UInt8]
    /// The records. Each comes after the records that it references.
    let records: [Record]
    /// The records that `meta` references, as indexes in `records`; nil if there is no checkpoint with content.
    let catalogue: Int?
    let fileTable: Int?
    /// The name and the bytes of the only log segment, if there is one.
    let log: (name: String, bytes: [UInt8])?

    private var salt: UInt64 { meta.number(48, 8) }

    // MARK: Writing

    /// The files of the store with changed numbers. If `block` is given, `bytes` replace its content: a record's payload, the state in
    /// `meta`, or the log after its header.
    func files(_ edits: [Edit] = [], replacing block: Edit.Block? = nil, by bytes: [UInt8] = []) -> [String: [UInt8]] {
        var pages: [UInt8] = []
        var references: [[UInt8]] = []
        for (number, record) in records.enumerated() {
            var payload = record.payload
            for link in record.links { payload.replace(link.offset, references[link.record]) }
            if block == .payload(number) { payload = bytes }
            payload.apply(edits, .payload(number))
            references.append(append(record, payload, edits.filter { $0.block == .header(number) }, to: &pages))
        }
        var files = ["meta": metaFile(references, edits, block == .meta ? bytes : nil)]
        if !pages.isEmpty { files[Self.pagesName] = pages }
        if let log {
            var content = log.bytes
            if block == .log { content = Array(content.prefix(4096)) + bytes }
            files[log.name] = LogChecksums.sealed(content, edits, length: log.bytes.count)
        }
        return files
    }

    /// A record's payload, as `files` writes it.
    func payload(of number: Int) -> [UInt8] {
        var pages: [UInt8] = []
        var references: [[UInt8]] = []
        for record in records[...number] {
            var payload = record.payload
            for link in record.links { payload.replace(link.offset, references[link.record]) }
            if references.count == number { return payload }
            references.append(append(record, payload, [], to: &pages))
        }
        return []
    }

    /// Appends a record and returns its reference, without the count of entries.
    private func append(_ record: Record, _ payload: [UInt8], _ edits: [Edit], to pages: inout [UInt8]) -> [UInt8] {
        let address = 1 << 32 | UInt64(pages.count) / 8
        var header = [UInt8](repeating: 0, count: Self.recordHeaderBytes)
        header.set(0, 2, 0x4248)
        header.set(2, 1, UInt64(record.kind))
        header.set(4, 4, UInt64(payload.count))
        header.set(8, 4, UInt64(payload.count))
        header.set(12, 4, UInt64(record.tree))
        header.set(16, 8, record.version)
        for edit in edits { header.set(edit.offset, edit.width, edit.value) }
        let check = hash(header[..<24], payload[...], seed: salt ^ mixed(address))
        header.set(24, 8, check)
        pages += header + payload
        while pages.count % 8 != 0 { pages.append(0) }
        var reference = [UInt8](repeating: 0, count: 16)
        reference.set(0, 8, address)
        let length = UInt64(Self.recordHeaderBytes + payload.count + 7) / 8
        reference.set(8, 8, length & 0xFFFF | UInt64(record.flags) << 16 | check & 0xFFFF_FFFF_0000_0000)
        return reference
    }

    /// Slot 0 with its copy. Slot 1 is empty, so that there is no older state to open.
    private func metaFile(_ references: [[UInt8]], _ edits: [Edit], _ replacement: [UInt8]?) -> [UInt8] {
        var block = meta
        if let catalogue { block.replace(96, references[catalogue]) }
        if let fileTable { block.replace(120, references[fileTable]) }
        if let replacement { block = Array((replacement + [UInt8](repeating: 0, count: 4096)).prefix(4096)) }
        block.apply(edits, .meta)
        block.set(4088, 8, hash(block[..<4088], [], seed: 0))
        let empty = [UInt8](repeating: 0, count: 4096)
        return block + empty + block + empty
    }

    /// The state in `meta`, as `files` writes it.
    var metaBlock: [UInt8] { Array(files()["meta"]!.prefix(4096)) }
}

/// The XXH64 of two concatenated parts.
func hash(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
    let bytes = first + second
    return unsafe bytes.withUnsafeBytes { unsafe XXH64.hash($0, seed: seed) }
}

/// The finalizer of SplitMix64.
func mixed(_ word: UInt64) -> UInt64 {
    var value = word &+ 0x9E37_79B9_7F4A_7C15
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
}

extension [UInt8] {
    /// Reads a little-endian number.
    func number(_ offset: Int, _ width: Int) -> UInt64 {
        self[offset..<offset + width].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func set(_ offset: Int, _ width: Int, _ value: UInt64) {
        guard offset + width <= count else { return }
        for i in 0..<width { self[offset + i] = UInt8(truncatingIfNeeded: value >> UInt64(8 * i)) }
    }

    mutating func replace(_ offset: Int, _ bytes: [UInt8]) { replaceSubrange(offset..<offset + bytes.count, with: bytes) }

    mutating func apply(_ edits: [StoreImage.Edit], _ block: StoreImage.Edit.Block) {
        for edit in edits where edit.block == block { set(edit.offset, edit.width, edit.value) }
    }
}
