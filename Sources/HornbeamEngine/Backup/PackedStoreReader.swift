/// Reads a packed store that may be damaged or made to do harm. Uses memory for one block.
struct PackedStoreReader {
    /// The number of files, and of all their bytes.
    private(set) var files = 0
    private(set) var bytes: UInt64 = 0
    private let file: any File
    private let size: UInt64
    private var offset: UInt64 = 0
    /// The check of the last record.
    private var check: UInt64 = 0
    /// The last record and its check.
    private var record = [UInt8](repeating: 0, count: 4 + PackedStore.blockBytes + PackedStore.checkBytes)
    private var content = [UInt8](repeating: 0, count: PackedStore.blockBytes)

    /// Reads the header.
    init(_ file: any File) throws(EngineError) {
        self.file = file
        size = try file.size()
        let isPacked = try fill(PackedStore.magic.count, at: 0) && record.starts(with: PackedStore.magic)
        guard isPacked else { throw EngineError(.notAStore, "The file is no packed store. Check the path.", path: file.path) }
        try readRecord(PackedStore.headerBytes)
        let (version, count, total) = (integer(8, UInt32.self), integer(12, UInt32.self), integer(16, UInt64.self))
        guard version <= PackedStore.version else {
            throw EngineError(
                .newerFormat, "The packed store has format version \(version), and this library reads up to version \(PackedStore.version). "
                    + "Unpack it with a newer version of the library.", path: file.path)
        }
        guard version > 0, total <= UInt64(Int.max / 2) else { throw damaged("Its header is wrong") }
        (files, bytes) = (Int(count), total)
    }

    /// Verifies all records, and writes the files to a folder. Syncs each file.
    mutating func write(
        filesTo folder: String, of fileSystem: any FileSystem, _ written: (Int, Int) throws(EngineError) -> Void
    ) throws(EngineError) {
        var last = ""
        var done: UInt64 = 0
        for _ in 0..<files {
            let (name, length) = try readEntry()
            // Ascending names cannot be duplicates.
            guard PackedStore.isFileName(name), last < name else { throw damaged("It contains the file name “\(name)”, which no store has here") }
            guard length <= bytes - done else { throw damaged("Its files are longer than its header states") }
            last = name
            let target = try fileSystem.open(join(folder, name), .create)
            var position: UInt64 = 0
            while position < length {
                let count = Int(min(UInt64(PackedStore.blockBytes), length - position))
                try readBlock(count)
                unsafe try content.withBytes { (bytes) throws(EngineError) in unsafe try target.write(bytes.part(0..<count), at: position) }
                position += UInt64(count)
                done += UInt64(count)
                try written(Int(done), Int(bytes))
            }
            try target.sync(.backup)
        }
        guard done == bytes else { throw damaged("Its files are shorter than its header states") }
        guard offset == size else { throw damaged("\(size - offset) bytes follow its end") }
    }

    private mutating func readEntry() throws(EngineError) -> (name: String, length: UInt64) {
        let count = try fill(2, at: offset) ? Int(integer(0, UInt16.self)) : 0
        guard (1...PackedStore.nameBytesMax).contains(count) else { throw damaged("The name of a file in it has a wrong length") }
        try readRecord(2 + count + 8)
        guard let name = String(validating: record[2..<2 + count], as: UTF8.self) else { throw damaged("The name of a file in it is not UTF-8") }
        return (name, integer(2 + count, UInt64.self))
    }

    /// Reads a block with `count` bytes to the start of `content`.
    private mutating func readBlock(_ count: Int) throws(EngineError) {
        let stored = try fill(4, at: offset) ? Int(integer(0, UInt32.self)) : 0
        guard (1...count).contains(stored) else { throw damaged("A block has a wrong length") }
        try readRecord(4 + stored)
        if stored == count {
            content.replaceSubrange(0..<count, with: record[4..<4 + count])
            return
        }
        let isWhole = unsafe record.withBytes { record in
            unsafe content.withMutableBytes { unsafe LZ4.decompress(record.part(4..<4 + stored), into: $0.part(0..<count)) }
        }
        guard isWhole else { throw damaged("A block cannot be decompressed") }
    }

    // MARK: Records

    /// Reads a record of `count` bytes and its check.
    private mutating func readRecord(_ count: Int) throws(EngineError) {
        guard try fill(count + PackedStore.checkBytes, at: offset) else { throw damaged("It ends too early") }
        check = unsafe record.withBytes { unsafe XXH64.hash($0.part(0..<count), seed: check) }
        guard integer(count, UInt64.self) == check else { throw damaged("The check at byte \(offset + UInt64(count)) is wrong") }
        offset += UInt64(count + PackedStore.checkBytes)
    }

    /// Reads bytes to the start of `record`. Returns false if the file ends before.
    private mutating func fill(_ count: Int, at offset: UInt64) throws(EngineError) -> Bool {
        let file = file
        return unsafe try record.withMutableBytes { (memory) throws(EngineError) in
            unsafe try file.read(into: memory.part(0..<count), at: offset) == count
        }
    }

    private func integer<T: FixedWidthInteger & BitwiseCopyable>(_ place: Int, _ type: T.Type) -> T {
        unsafe record.withBytes { unsafe $0.integer(at: place, as: type) }
    }

    private func damaged(_ problem: String) -> EngineError {
        EngineError(.damaged, "The packed store is damaged. \(problem). Nothing was unpacked. Get the file again.", path: file.path)
    }
}
