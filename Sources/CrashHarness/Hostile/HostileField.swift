import HornbeamEngine

/// A number in a block of a store.
struct HostileField {
    /// The kinds of block whose fields are set to extreme values.
    enum Kind: String, CaseIterable {
        case meta, fileTable, catalogue, inner, indexLeaf, tableLeaf, blobIndex, recordHeader, segmentHeader, logFrame, redo
    }

    var name: String
    var block: StoreImage.Edit.Block
    var offset: Int
    var width: Int
    /// The value in the intact store.
    var value: UInt64

    /// The smallest and the largest value of the width and values next to these, values next to the field's value, and limits of the format.
    var extremes: [UInt64] {
        let largest = width == 8 ? UInt64.max : 1 << UInt64(8 * width) - 1
        let sign = largest / 2 + 1
        var values: [UInt64] = [0, 1, 2, sign - 1, sign, sign + 1, largest - 1, largest, value &+ 1, value &- 1]
        if width == 8 {
            values += [1 << 40, 1 << 40 + 1, 1 << 60, 1 << 62 - 1, 1 << 62, largest & ~4095, 1 << 62 - 4096, 1 << 62 - 8192]
            values += [9_999_999_999_999_999, 10_000_000_000_000_000, 1 << 35, 1 << 35 + 1 << 19, 0x7FFF_FFFF << 32, UInt64.max << 32]
        }
        if width == 4 { values += [0xFF_FFFF, 0x100_0000, 0x1_0000, 0xFFFF] }
        return Array(Set(values.map { $0 & largest })).filter { $0 != value }.sorted()
    }

    func edit(_ value: UInt64) -> StoreImage.Edit { StoreImage.Edit(block: block, offset: offset, width: width, value: value) }

    // MARK: The fields of a store

    static func fields(of kind: Kind, in image: StoreImage) -> [HostileField] {
        switch kind {
        case .meta: return meta.map { HostileField($0, .meta, in: image.metaBlock) }
        case .fileTable: return image.fileTable.map { record in fileTable.map { HostileField($0, .payload(record), in: image.payload(of: record)) } } ?? []
        case .catalogue:
            return image.catalogue.map { record in
                CatalogueLayout(image.records[record].payload).fields.map { HostileField($0, .payload(record), in: image.payload(of: record)) }
            } ?? []
        case .inner: return node(3, image)
        case .indexLeaf: return node(1, image)
        case .tableLeaf: return node(2, image)
        case .blobIndex: return record(5, image).map { words(of: image.payload(of: $0), .payload($0), from: 0) } ?? []
        case .recordHeader:
            return image.records.indices.filter { $0 % 7 == 0 || $0 > image.records.count - 4 }.flatMap { number in
                recordHeader.map { HostileField($0, .header(number), in: [UInt8](repeating: 0, count: StoreImage.recordHeaderBytes)) }
            }
        case .segmentHeader, .logFrame, .redo: return image.log.map { log(kind, $0.bytes) } ?? []
        }
    }

    private init(_ field: (name: String, offset: Int, width: Int), _ block: StoreImage.Edit.Block, in bytes: [UInt8]) {
        (name, offset, width) = field
        self.block = block
        value = offset + width <= bytes.count ? bytes.number(offset, width) : 0
    }

    private static let meta: [(name: String, offset: Int, width: Int)] = [
        ("format version", 8, 4), ("page size", 12, 4), ("compatible features", 16, 8), ("incompatible features", 24, 8), ("store", 32, 8),
        ("store", 40, 8), ("salt", 48, 8), ("checkpoint", 56, 8), ("log position", 64, 8), ("log check", 72, 8), ("transaction", 80, 8),
        ("next object key", 88, 8), ("address of the catalogue", 96, 8), ("stamp of the catalogue", 104, 8), ("count of the catalogue", 112, 8),
        ("address of the file table", 120, 8), ("stamp of the file table", 128, 8), ("count of the file table", 136, 8),
        ("oldest segment", 144, 8), ("next segment", 152, 8), ("next page file", 160, 4), ("flags", 164, 4), ("previous check", 168, 8),
        ("reserved", 176, 8),
    ]
    private static let fileTable = [("files", 0, 4), ("number of a file", 4, 4), ("live bytes", 8, 8), ("empty since", 16, 8)]
    private static let recordHeader = [
        ("magic", 0, 2), ("kind", 2, 1), ("codec", 3, 1), ("stored bytes", 4, 4), ("raw bytes", 8, 4), ("tree and level", 12, 4), ("version", 16, 8),
    ]
    private static let nodeHeader = [
        ("kind", 0, 1), ("level", 1, 1), ("count", 2, 2), ("capacity", 4, 2), ("prefix length", 6, 2), ("heap start", 8, 2), ("garbage", 10, 2),
        ("limit", 12, 2), ("zero", 14, 2), ("first key", 16, 8), ("layout version", 24, 4), ("key width", 28, 1),
    ]
    private static let segmentHeader = [
        ("format version", 8, 4), ("zero", 12, 4), ("store", 16, 8), ("number", 32, 8), ("salt", 40, 8), ("length", 48, 8),
    ]

    /// The last record of a kind. Among nodes, it is nearest to the root.
    private static func record(_ kind: UInt8, _ image: StoreImage) -> Int? { image.records.indices.last { image.records[$0].kind == kind } }

    private static func node(_ kind: UInt8, _ image: StoreImage) -> [HostileField] {
        let numbers = image.records.indices.filter { image.records[$0].kind == kind }
        guard let last = numbers.last else { return [] }
        return Set([numbers[numbers.count / 2], last]).sorted().flatMap { number in
            let payload = image.payload(of: number)
            return nodeHeader.map { HostileField($0, .payload(number), in: payload) } + words(of: payload, .payload(number), from: 32)
        }
    }

    /// Each aligned word of eight bytes, and two bytes of each such word.
    private static func words(of bytes: [UInt8], _ block: StoreImage.Edit.Block, from start: Int) -> [HostileField] {
        stride(from: start, to: bytes.count - 8, by: 8).flatMap { offset in
            [HostileField(("word", offset, 8), block, in: bytes), HostileField(("half", offset + 2 * (offset / 8 % 4), 2), block, in: bytes)]
        }
    }

    private static func log(_ kind: Kind, _ segment: [UInt8]) -> [HostileField] {
        let frames = LogChecksums.frames(of: segment)
        switch kind {
        case .segmentHeader: return segmentHeader.map { HostileField($0, .log, in: segment) }
        case .logFrame:
            return frames.flatMap { frame in
                var fields = [("kind", 0, 4), ("payload bytes", 4, 4), ("position", 8, 8), ("value", 16, 8)]
                if frame.isGroup { fields += [("bytes of the group", 40, 8), ("check before", 48, 8)] }
                return fields.map { HostileField(($0.0, frame.offset + $0.1, $0.2), .log, in: segment) }
            }
        default:
            return frames.filter { !$0.isGroup }.flatMap { frame in
                let start = frame.offset + 32
                let ends = (start..<start + min(frame.payloadBytes, 24))
                return ends.flatMap { offset in
                    [1, 2, 4, 8].filter { offset + $0 <= start + frame.payloadBytes }.map { HostileField(("redo", offset, $0), .log, in: segment) }
                }
            }
        }
    }
}
