import HornbeamEngine

extension StoreImage {
    /// Parses an intact store: a closed one, or one with all content in the log.
    init(_ fileSystem: MemoryFileSystem, _ folder: String) throws {
        let state = try MetaFile.open("\(folder)/meta", fileSystem: fileSystem, readOnly: true).states[0]
        let block = try Self.read(fileSystem, "\(folder)/meta")
        let slot = (0..<2).max { block.number($0 * 4096 + 56, 8) < block.number($1 * 4096 + 56, 8) }!
        var meta = Array(block[slot * 4096..<(slot + 1) * 4096])
        let files = try PageFiles(directory: folder, fileSystem: fileSystem, salt: state.salt, nextFile: state.nextPageFile)
        var collected = ParsedRecords(files: files)
        if state.catalogue.isEmpty {
            (catalogue, fileTable) = (nil, nil)
        } else {
            catalogue = try collected.parseCatalogue(state.catalogue)
            fileTable = collected.makeFileTable()
        }
        records = collected.records
        if let fileTable { meta.set(136, 8, UInt64(records[fileTable].payload.count)) }
        self.meta = meta
        let name = try fileSystem.list(folder).first { $0.hasPrefix("wal-") }
        log = try name.map { ($0, try Self.read(fileSystem, "\(folder)/\($0)")) }
    }

    private static func read(_ fileSystem: MemoryFileSystem, _ path: String) throws -> [UInt8] {
        let file = try fileSystem.open(path, .read)
        var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
        _ = unsafe try bytes.withUnsafeMutableBytes { unsafe try file.read(into: $0, at: 0) }
        return bytes
    }

    /// The records that were parsed, children before parents.
    private struct ParsedRecords {
        let files: PageFiles
        var records: [Record] = []

        /// Reads the payload and the header of a record.
        private func read(_ reference: PageReference) throws -> Record {
            var payload = [UInt8](repeating: 0, count: 1 << 18)
            let info = unsafe try payload.withUnsafeMutableBytes { unsafe try files.read(reference, into: $0) }
            let heading = info.heading
            return Record(
                kind: heading.kind.rawValue, tree: heading.tree.rawValue | UInt32(heading.level) << 24, version: heading.version.rawValue,
                flags: reference.flags, payload: Array(payload.prefix(info.rawBytes)))
        }

        private mutating func add(_ record: Record) -> Int {
            records.append(record)
            return records.count - 1
        }

        /// Adds the record of a node, a large value or the index of a large value, after all records that it references. Returns its number.
        mutating func parse(_ reference: PageReference) throws -> Int {
            var record = try read(reference)
            for offset in Self.references(in: record) {
                let child = unsafe record.payload.withUnsafeBytes { unsafe PageReference(in: $0, at: offset) }
                record.links.append(Link(offset: offset, record: try parse(child)))
            }
            return add(record)
        }

        /// The positions of the references in a payload. Rows with large values are not supported; the parsed stores have none.
        private static func references(in record: Record) -> [Int] {
            let payload = record.payload
            switch record.kind {
            case 3: return (0..<Int(payload.number(2, 2))).map { 32 + Int(payload.number(4, 2)) * 8 + $0 * 32 }
            case 5: return Array(stride(from: 0, to: payload.count, by: 24))
            case 1:
                return (0..<Int(payload.number(2, 2))).compactMap { entry in
                    let slot = 32 + Int(payload.number(4, 2)) * 8 + entry * 6
                    guard payload.number(slot + 4, 2) & 0x8000 != 0 else { return nil }
                    return Int(payload.number(slot, 2)) + max(Int(payload.number(slot + 2, 2)) - 8, 0)
                }
            default: return []
            }
        }

        mutating func parseCatalogue(_ reference: PageReference) throws -> Int {
            var record = try read(reference)
            for offset in CatalogueLayout(record.payload).roots {
                let root = unsafe record.payload.withUnsafeBytes { unsafe PageReference(in: $0, at: offset) }
                if !root.isEmpty { record.links.append(Link(offset: offset, record: try parse(root))) }
            }
            return add(record)
        }

        /// Adds a file table with the single page file.
        mutating func makeFileTable() -> Int {
            var payload = [UInt8](repeating: 0, count: 24)
            payload.set(0, 4, 1)
            payload.set(4, 4, 1)
            payload.set(8, 8, UInt64(records.reduce(0) { $0 + ($1.payload.count + StoreImage.recordHeaderBytes + 7) & ~7 }))
            payload.set(16, 8, .max)
            return add(Record(kind: 4, tree: 0, version: 1, flags: 0, payload: payload))
        }
    }
}

/// The fields of a catalogue and their positions.
struct CatalogueLayout {
    private(set) var fields: [(name: String, offset: Int, width: Int)] = []
    private(set) var roots: [Int] = []

    init(_ bytes: [UInt8]) {
        var offset = 0
        func next(_ name: String, _ width: Int) -> Int {
            defer { offset += width }
            fields.append((name, offset, width))
            return Int(truncatingIfNeeded: bytes.number(offset, width))
        }
        for name in ["transaction", "next object key"] { _ = next(name, 8) }
        _ = next("next tree", 4)
        for tree in 0..<next("count of trees", 4) {
            _ = next("number of tree \(tree)", 4)
            offset += next("length of name \(tree)", 2)
            roots.append(offset)
            for part in ["address", "stamp", "count"] { _ = next("\(part) of root \(tree)", 8) }
            for _ in 0..<next("layouts of tree \(tree)", 2) {
                _ = next("version of a layout of tree \(tree)", 4)
                for column in 0..<next("columns of tree \(tree)", 2) {
                    _ = next("identifier of column \(column)", 4)
                    _ = next("kind of column \(column)", 1)
                    _ = next("fill of column \(column)", 1)
                    offset += next("length of the fill of column \(column)", 4)
                }
            }
        }
    }
}
