/// Writes a packed store, from its first byte to its last.
struct PackedStoreWriter {
    private let file: any File
    private(set) var offset: UInt64 = 0
    /// The check of the last record.
    private var check: UInt64 = 0
    /// The record under construction.
    private var record: [UInt8] = []
    private var content = [UInt8](repeating: 0, count: PackedStore.blockBytes)
    private var compressed = [UInt8](repeating: 0, count: PackedStore.blockBytes)

    init(_ file: any File) { self.file = file }

    /// Writes the files of a closed store, and syncs. Returns their number.
    mutating func write(
        filesIn folder: String, of fileSystem: any FileSystem, _ written: (Int, Int) throws(EngineError) -> Void
    ) throws(EngineError) -> Int {
        var files: [(name: String, file: any File, bytes: UInt64)] = []
        for name in try fileSystem.list(folder) {
            let file = try fileSystem.open(join(folder, name), .read)
            files.append((name, file, try file.size()))
        }
        let total = files.reduce(0) { $0 + $1.bytes }
        record = PackedStore.magic
        record.appendInteger(PackedStore.version)
        record.appendInteger(UInt32(files.count))
        record.appendInteger(total)
        try finishRecord()
        var done = 0
        for part in files {
            record.appendText(part.name)
            record.appendInteger(part.bytes)
            try finishRecord()
            var position: UInt64 = 0
            while position < part.bytes {
                let count = try writeBlock(of: part.file, at: position, Int(min(UInt64(PackedStore.blockBytes), part.bytes - position)))
                position += UInt64(count)
                done += count
                try written(done, Int(total))
            }
        }
        try file.sync(.backup)
        return files.count
    }

    private mutating func writeBlock(of source: any File, at position: UInt64, _ count: Int) throws(EngineError) -> Int {
        let read = unsafe try content.withMutableBytes { (memory) throws(EngineError) in unsafe try source.read(into: memory.part(0..<count), at: position) }
        guard read == count else { throw EngineError(.inputOutput, "The file became shorter while it was packed.", path: source.path) }
        // A block that does not become smaller is stored as it is.
        let used = unsafe content.withBytes { content in
            unsafe compressed.withMutableBytes { unsafe LZ4.compress(content.part(0..<count), into: $0.part(0..<count - 1)) }
        }
        record.appendInteger(UInt32(used ?? count))
        record.append(contentsOf: used.map { compressed[..<$0] } ?? content[..<count])
        try finishRecord()
        return count
    }

    /// Appends the check to the record, and writes it.
    private mutating func finishRecord() throws(EngineError) {
        check = unsafe record.withBytes { unsafe XXH64.hash($0, seed: check) }
        record.appendInteger(check)
        unsafe try record.withBytes { (bytes) throws(EngineError) in unsafe try file.write(bytes, at: offset) }
        offset += UInt64(record.count)
        record.removeAll(keepingCapacity: true)
    }
}
