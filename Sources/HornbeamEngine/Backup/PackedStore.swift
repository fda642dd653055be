// A store in one file, to send it or to keep it: a header, and for each file of the store an entry and its bytes in compressed blocks.
// `Docs/FileFormat.md` is normative. Each record ends with a check that is seeded with the check before it, so that the last check covers
// all bytes of the file.

/// The constants of packed stores, and the names of the files in them.
enum PackedStore {
    static let magic: [UInt8] = Array("HORNPACK".utf8)
    static let version: UInt32 = 1
    /// Magic, version, number of files, number of bytes in them. The check follows.
    static let headerBytes = 24
    static let checkBytes = 8
    static let nameBytesMax = 64
    /// The bytes of a file in one block; the last block of a file may have fewer.
    static let blockBytes = 1 << 18

    /// True for the names of files in a closed store. A name with another form could lead out of the folder.
    static func isFileName(_ name: String) -> Bool {
        name == "meta" || PageFileNumber(fileName: name) != nil || LogSegmentNumber(fileName: name) != nil
    }
}

extension Engine {
    /// Writes a backup of the store to one file; transactions may run meanwhile. The backup has all transactions that are durable at the call.
    ///
    /// The file appears at the path when it is complete and durable; after an error there is none. Temporarily needs room for an uncompressed
    /// copy beside it. `system` is the file system of the file, by default that of the store. Throws `notAStore` when the path is in use,
    /// `full`, `inputOutput`, `cancelled`.
    package func pack(
        to target: String, in system: (any FileSystem)? = nil, progress: ProgressReport? = nil
    ) throws(EngineError) -> BackupReport {
        let backup = try makeBackup(to: target, in: system)
        let draft = StoreDraft(
            path: target, fileSystem: backup.targetSystem, occupiedMessage: "There is a file or folder at this path already. Choose another path.")
        var report = BackupReport()
        try draft.fillFile { (file, folder) throws(EngineError) in
            // The first half of the work.
            report = try backup.fill(folder, draft) { (part) throws(EngineError) in
                try progress?(WorkProgress(part: part.part, done: part.done, total: part.total * 2))
            }
            var writer = PackedStoreWriter(try backup.targetSystem.open(file, .create))
            report.files = try writer.write(filesIn: folder, of: backup.targetSystem) { (done, total) throws(EngineError) in
                try progress?(WorkProgress(part: "packing", done: total + done, total: total * 2))
            }
            report.bytes = Int(writer.offset)
        }
        return report
    }

    /// Makes a store of a packed store. All checks are verified, and the store was opened once, before it appears at the path; after an error
    /// there is none.
    ///
    /// Throws `notAStore` when the file is no packed store or the path is in use, `newerFormat`, `damaged`, `full`, `inputOutput`, `cancelled`.
    package static func unpack(
        _ file: String, to target: String, fileSystem: any FileSystem = PosixFileSystem(), options: EngineOptions = EngineOptions(),
        progress: ProgressReport? = nil
    ) throws(EngineError) -> BackupReport {
        try fileSystem.requireFolderOrNothing(target)
        let draft = StoreDraft(path: target, fileSystem: fileSystem)
        if (try? fileSystem.list(file)) != nil {
            throw EngineError(.notAStore, "There is a folder at this path, and a packed store is a file. Check the path.", path: file)
        }
        var report = BackupReport()
        var reader = try PackedStoreReader(try fileSystem.open(file, .read))
        try draft.fill { (folder) throws(EngineError) in
            try reader.write(filesTo: folder, of: fileSystem) { (done, total) throws(EngineError) in
                try progress?(WorkProgress(part: "unpacking", done: done, total: total))
            }
            report.files = reader.files
            report.bytes = Int(reader.bytes)
            report.transaction = try draft.complete(folder, options) { (engine) throws(EngineError) in engine.latest }
        }
        return report
    }
}
