// Copies a store while it may be written. First all page files of one state are opened: an open file stays readable when the writer removes it.
// The log up to the durable position is read into memory, because the writer recycles its segments. Then `meta` is read again and must still
// have the state. These steps are fast. The copy itself may be slow: page files, log, and `meta`.
//
// The copy is made under a temporary name and opened there. This replays its log and proves that it can be opened. It is renamed when it is
// closed and durable, so that no partial backup exists at the target path.

internal import HornbeamThreads

/// A backup of the store at a path.
struct Backup {
    let recovery: Recovery
    let target: String
    /// The file system of the copy.
    let targetSystem: any FileSystem
    /// Returns the durable position, if the writing process makes the copy. If nil, the durable LSN hint is read.
    let durable: (@Sendable () -> LogPosition)?
    /// The number of bytes between two reports of progress.
    static let pieceBytes = 1 << 20

    private var fileSystem: any FileSystem { recovery.fileSystem }
    private var source: String { recovery.path }

    func run(_ progress: ProgressReport?) throws(EngineError) -> BackupReport {
        try targetSystem.requireFolderOrNothing(target)
        var report = BackupReport()
        let draft = StoreDraft(path: target, fileSystem: targetSystem)
        try draft.fill { (folder) throws(EngineError) in report = try fill(folder, draft, progress) }
        return report
    }

    /// Copies the store to a folder of the draft, and opens the copy once.
    func fill(_ folder: String, _ draft: StoreDraft, _ progress: ProgressReport?) throws(EngineError) -> BackupReport {
        let image = try recovery.retryingBesideWriter { () throws(EngineError) in try openImage() }
        var report = try copy(image, to: folder, progress)
        try progress?(WorkProgress(part: "opening the copy", done: report.bytes, total: report.bytes))
        report.transaction = try draft.complete(folder, recovery.options) { (copy) throws(EngineError) in
            try require(copy, reaches: image.durable)
            return copy.latest
        }
        return report
    }

    /// Throws unless the copy has all commits up to the durable position. Opening the copy does not detect an unreadable group at the
    /// end of its log, so this compares the end of its log with the durable position of the source.
    private func require(_ copy: Engine, reaches durable: LogPosition) throws(EngineError) {
        let end = copy.checkpointer.latest.log.position
        guard end < durable else { return }
        throw EngineError(
            .logDamaged,
            "The copy lacks acknowledged commits: its log ends at position \(end), and the log of the store was durable up to \(durable). "
                + "No backup was made. Make it again. If the error remains, check the store for damage.",
            path: source)
    }

    // MARK: Opening the files of one state

    /// A file to copy, and the number of its bytes that belong to the state.
    private struct Part {
        var name: String
        var file: any File
        var bytes: UInt64
        /// The length of the copy. The bytes after `bytes` are zeros.
        var length: UInt64
    }

    private struct Image {
        var state: MetaState
        var parts: [Part]
        /// The position that the log of the copy must reach.
        var durable: LogPosition
    }

    private func openImage() throws(EngineError) -> Image {
        let states = try MetaFile.open(recovery.metaPath, fileSystem: fileSystem, readOnly: true).states
        var state = states[0]
        let isWritten = durable != nil ? true : try fileSystem.isLocked(recovery.metaPath)
        let noted = if let durable { durable() } else { try recovery.durablePosition(state.store, isWritten: isWritten) }
        let durable = max(noted, state.log.position)
        var parts: [Part] = []
        for name in try fileSystem.list(source) where PageFileNumber(fileName: name) != nil {
            let file = try open(name)
            // Bytes after the last possible record do not belong to the store.
            let bytes = min(try file.size(), PageFiles.fileBytesMax)
            parts.append(Part(name: name, file: file, bytes: bytes, length: bytes))
        }
        if isWritten, durable == state.log.position {
            state.isCleanlyClosed = true
        } else {
            parts += try log(state, isWritten ? durable : nil)
        }
        try recovery.requireStateInMeta(states[0])
        if !isWritten { try recovery.requireNoWriter() }
        return Image(state: state, parts: parts, durable: durable)
    }

    /// Copies of the log segments that a state needs, in memory. With `limit`, the copies end there, because a writer may be writing the bytes
    /// after it.
    private func log(_ state: MetaState, _ limit: LogPosition?) throws(EngineError) -> [Part] {
        let reader = LogReader(directory: source, fileSystem: fileSystem, store: state.store)
        var parts: [Part] = []
        // Segments without a group are needed only if another segment follows.
        var unused: [Part] = []
        for number in try reader.segments() where number >= state.oldestLogSegment {
            let segment = try reader.open(number)
            let length = segment.header.segmentBytes
            var bytes = length
            if let limit {
                if let first = segment.start?.position, first >= limit { break }
                bytes = segment.start == nil ? UInt64(LogSegmentHeader.bytes) : min(segment.offset(of: limit), length)
            }
            let kept = MemoryFile(path: segment.file.path, content: MemoryFile.Content())
            try Backup.copy(segment.file, to: kept, bytes: bytes) { _ in }
            unused.append(Part(name: number.fileName, file: kept, bytes: bytes, length: length))
            guard limit == nil || segment.start != nil else { continue }
            parts += unused
            unused = []
        }
        return parts
    }

    private func open(_ name: String) throws(EngineError) -> any File {
        do throws(EngineError) { return try fileSystem.open(join(source, name), .read) } catch {
            throw error.errno != 0 && error.code == .full ? tooManyFiles(error) : error
        }
    }

    private func tooManyFiles(_ error: EngineError) -> EngineError {
        EngineError(
            .full, "A backup opens all files of the store at once. \(error.message)", path: error.path,
            errno: error.errno)
    }

    // MARK: Copying

    private func copy(_ image: Image, to draft: String, _ progress: ProgressReport?) throws(EngineError) -> BackupReport {
        var report = BackupReport()
        let total = Int(image.parts.reduce(0) { $0 + $1.bytes })
        for part in image.parts {
            let copy = try targetSystem.open(join(draft, part.name), .create)
            try Backup.copy(part.file, to: copy, bytes: part.bytes) { (count) throws(EngineError) in
                report.bytes += count
                try progress?(WorkProgress(part: "copying", done: report.bytes, total: total))
            }
            if part.length > part.bytes { try Backup.extend(copy, to: part.length) }
            try copy.sync(.backup)
            report.files += 1
        }
        try MetaFile.create(join(draft, "meta"), fileSystem: targetSystem, state: image.state).close()
        return report
    }

    static func copy(
        _ source: any File, to target: any File, bytes: UInt64, _ copied: (Int) throws(EngineError) -> Void
    ) throws(EngineError) {
        var buffer = [UInt8](repeating: 0, count: pieceBytes)
        var offset: UInt64 = 0
        while offset < bytes {
            let wanted = Int(min(UInt64(pieceBytes), bytes - offset))
            let count = unsafe try buffer.withMutableBytes { (memory) throws(EngineError) in
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<wanted])
                let count = unsafe try source.read(into: part, at: offset)
                unsafe try target.write(UnsafeRawBufferPointer(rebasing: part[..<count]), at: offset)
                return count
            }
            guard count > 0 else {
                throw EngineError(.inputOutput, "The file became shorter while it was copied.", path: source.path)
            }
            offset += UInt64(count)
            try copied(count)
        }
    }

    /// Extends a file with zeros to a length.
    private static func extend(_ file: any File, to length: UInt64) throws(EngineError) {
        let zero: [UInt8] = [0]
        unsafe try zero.withBytes { (bytes) throws(EngineError) in try unsafe file.write(bytes, at: length - 1) }
    }
}

/// The result of a backup.
package struct BackupReport: Sendable, Hashable {
    /// The newest transaction in the backup.
    package var transaction = TransactionNumber.zero
    package var files = 0
    /// The number of copied bytes.
    package var bytes = 0

    package init() {}
}

extension Engine {
    /// Copies one version of the store to a new folder; transactions may run meanwhile. The version includes all transactions
    /// that are durable at the call.
    ///
    /// `system` is the file system of the copy, by default the file system of the store.
    /// There must be no folder at the path, or an empty one. The copy appears there when it is complete and durable; after an error there is none.
    /// `progress` receives the number of copied bytes and may cancel the work. All files of the store are open during the backup. Throws
    /// `notAStore` when the path is in use, `full`, `inputOutput`, `cancelled`.
    @discardableResult
    package func backup(
        to target: String, in system: (any FileSystem)? = nil, progress: ProgressReport? = nil
    ) throws(EngineError) -> BackupReport {
        try makeBackup(to: target, in: system).run(progress)
    }

    /// A backup of all transactions that are durable now.
    func makeBackup(to target: String, in system: (any FileSystem)?) throws(EngineError) -> Backup {
        _ = try snapshot()
        // Makes lazy commits durable, so that the copy includes them.
        if !options.isReadOnly { try core.pipeline.syncIfNeeded() }
        let log = state.withLock { $0.log }
        return Backup(
            recovery: recovery, target: target, targetSystem: system ?? recovery.fileSystem,
            durable: log.map { log in { @Sendable in log.durable } })
    }
}
