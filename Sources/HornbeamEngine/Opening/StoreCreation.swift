// Creates a store under a temporary name and renames it when it is complete, so that no partial store is at the path after a crash.

/// The creation of a store at a path.
struct StoreCreation {
    let path: String
    let fileSystem: any FileSystem
    let pageSize: Int
    /// The options of the log, whose first segment is made too; nil if the first commit makes it.
    var log: LogOptions?

    /// The result of a creation.
    struct NewStore {
        /// The header of the log's first segment, if it was made.
        var firstSegment: LogSegmentHeader?
    }

    func run() throws(EngineError) -> NewStore {
        let occupiedMessage = "The folder contains files but no store. Choose another path for a new store."
        var new = NewStore()
        try StoreDraft(path: path, fileSystem: fileSystem, occupiedMessage: occupiedMessage).fill { (draft) throws(EngineError) in
            let store = StoreIdentifier.random()
            var segment: PreparedSegment?
            if let log { segment = try .writeFirst(in: draft, fileSystem: fileSystem, store: store, options: log) }
            try writeMeta(in: draft, store)
            try segment?.file.sync(.segmentHeader)
            new.firstSegment = segment?.header
        }
        return new
    }

    /// Makes an empty store of a folder.
    func writeMeta(in folder: String, _ store: StoreIdentifier) throws(EngineError) {
        let state = MetaState(
            store: store, salt: .random(in: 1 ... .max), pageSize: pageSize, checkpoint: 1, log: .origin,
            transaction: .zero, nextObjectKey: 1, catalogue: .empty, fileTable: .empty,
            oldestLogSegment: LogSegmentNumber(1), nextLogSegment: LogSegmentNumber(1),
            nextPageFile: PageFileNumber(1), isCleanlyClosed: true)
        try MetaFile.create(join(folder, "meta"), fileSystem: fileSystem, state: state).close()
    }
}

/// The folder of a new store under a temporary name. It is renamed when it is complete and durable.
struct StoreDraft {
    let path: String
    let fileSystem: any FileSystem
    /// The error message for a path that is in use already.
    var occupiedMessage = "The folder contains files already. Choose another path."

    /// Calls `body` with a new folder to fill, and then renames it to the path. After an error there is no store at the path. Throws `notAStore`
    /// when the path is in use.
    func fill(_ body: (String) throws(EngineError) -> Void) throws(EngineError) {
        if try fileSystem.exists(path), try !fileSystem.list(path).isEmpty {
            throw EngineError(.notAStore, occupiedMessage, path: path)
        }
        let draft = StoreDraft.draftPath(of: path, number: .random(in: 0 ... .max))
        try fileSystem.createDirectory(draft)
        do throws(EngineError) {
            try body(draft)
            try fileSystem.syncDirectory(draft, .newStore)
            if try fileSystem.exists(path) { try fileSystem.remove(path) }
            try fileSystem.rename(draft, to: path)
        } catch {
            discard(draft)
            throw error
        }
        try fileSystem.syncDirectory(parent(ofPath: path), .newStoreName)
        discardOthers()
    }

    /// Calls `body` with the name of a new file to write and with a new folder for temporary files, and then renames the file to the path. After
    /// an error there is no file at the path. Throws `notAStore` when the path is in use.
    func fillFile(_ body: (_ file: String, _ folder: String) throws(EngineError) -> Void) throws(EngineError) {
        try requireNothing()
        let file = StoreDraft.draftPath(of: path, number: .random(in: 0 ... .max))
        let folder = StoreDraft.draftPath(of: path, number: .random(in: 0 ... .max))
        do throws(EngineError) {
            try fileSystem.createDirectory(folder)
            try body(file, folder)
            try requireNothing()
            try fileSystem.rename(file, to: path)
        } catch {
            discard(folder)
            discard(file)
            throw error
        }
        discard(folder)
        do throws(EngineError) { try fileSystem.syncDirectory(parent(ofPath: path), .newStoreName) } catch {
            discard(path)
            throw error
        }
        discardOthers()
    }

    private func requireNothing() throws(EngineError) {
        guard try !fileSystem.exists(path) else { throw EngineError(.notAStore, occupiedMessage, path: path) }
    }

    /// Opens a draft as a store, calls `body`, and closes the store. This proves that it can be opened. It replays the log and removes it.
    func complete<R>(
        _ draft: String, _ options: EngineOptions, _ body: (Engine) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        var options = options
        options.isReadOnly = false
        options.isShared = false
        options.usesBackgroundThread = false
        options.createIfMissing = false
        options.startingPoint = .newest
        let engine = try Engine.open(draft, fileSystem: fileSystem, options: options)
        let result = try body(engine)
        try engine.close()
        if try fileSystem.exists(join(draft, "lock")) { try fileSystem.remove(join(draft, "lock")) }
        return result
    }

    /// Removes a draft. Errors are ignored, since a draft is no store and the caller throws the first error.
    private func discard(_ draft: String) {
        for name in (try? fileSystem.list(draft)) ?? [] { try? fileSystem.remove(join(draft, name)) }
        try? fileSystem.remove(draft)
    }

    // MARK: Drafts from before a crash

    private static let mark = ".new-"

    /// The temporary name of a store: its name, a mark, a random number, and the check of its name with that number as the seed. The check
    /// distinguishes drafts from other folders.
    static func draftPath(of path: String, number: UInt64) -> String { path + suffix(of: name(of: path), number) }

    private static func suffix(of name: String, _ number: UInt64) -> String {
        let check = unsafe Array(name.utf8).withBytes { unsafe XXH64.hash($0, seed: number) }
        return mark + hexadecimal(number) + hexadecimal(check)
    }

    private static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Removes other drafts of the path, which remain after a crash. If another process is still filling one, its creation fails, because the
    /// path is in use.
    private func discardOthers() {
        let store = StoreDraft.name(of: path)
        let folder = parent(ofPath: path)
        for name in (try? fileSystem.list(folder)) ?? [] where name.hasPrefix(store + StoreDraft.mark) {
            let digits = name.dropFirst(store.count + StoreDraft.mark.count).prefix(16)
            guard let number = UInt64(digits, radix: 16), name == store + StoreDraft.suffix(of: store, number) else { continue }
            discard(folder == "." ? name : join(folder, name))
        }
    }
}

extension Engine {
    /// Creates a store with the identity of another one; `body` fills it. The store appears at the path when it is complete and durable.
    package static func create(
        _ path: String, as other: Engine, fileSystem: any FileSystem, options: EngineOptions,
        _ body: (Engine) throws(EngineError) -> Void
    ) throws(EngineError) {
        let draft = StoreDraft(path: path, fileSystem: fileSystem)
        try draft.fill { (folder) throws(EngineError) in
            try StoreCreation(path: folder, fileSystem: fileSystem, pageSize: other.core.pool.pageSize)
                .writeMeta(in: folder, other.storeIdentifier)
            try draft.complete(folder, options, body)
        }
    }
}
