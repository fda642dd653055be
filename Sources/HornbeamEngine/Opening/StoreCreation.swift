// Making a new store: complete under another name first, so that no crash leaves half of one.

/// The creation of a store at a path.
struct StoreCreation {
    let path: String
    let fileSystem: any FileSystem
    let pageSize: Int

    func run() throws(EngineError) {
        let occupied = "The folder holds files but no store; choose another path for a new store."
        try StoreDraft(path: path, fileSystem: fileSystem, occupied: occupied).fill { (draft) throws(EngineError) in
            try writeMeta(in: draft, .random())
        }
    }

    /// Makes a folder a store without content.
    func writeMeta(in folder: String, _ store: StoreIdentifier) throws(EngineError) {
        let state = MetaState(
            store: store, salt: .random(in: 1 ... .max), pageSize: pageSize, checkpoint: 1, log: .origin,
            transaction: .zero, nextObjectKey: 1, catalogue: .empty, fileTable: .empty,
            oldestLogSegment: LogSegmentNumber(1), nextLogSegment: LogSegmentNumber(1),
            nextPageFile: PageFileNumber(1), isCleanlyClosed: true)
        try MetaFile.create(join(folder, "meta"), fileSystem: fileSystem, state: state).close()
    }
}

/// A store's folder that is filled under another name and takes its own when it is complete and durable.
struct StoreDraft {
    let path: String
    let fileSystem: any FileSystem
    /// What is said when there is something at the path already.
    var occupied = "The folder holds files already; choose a path where there is nothing yet."

    /// Calls `body` with the folder to fill. Whatever fails leaves nothing at the path; throws `notAStore` when there is
    /// something already.
    func fill(_ body: (String) throws(EngineError) -> Void) throws(EngineError) {
        if try fileSystem.exists(path), try !fileSystem.list(path).isEmpty {
            throw EngineError(.notAStore, occupied, path: path)
        }
        let draft = path + StoreDraft.mark + String(UInt64.random(in: 0 ... .max), radix: 16)
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

    /// Opens what was put into a draft as a store, which replays its log and removes it; proves that it can be opened.
    func complete<R>(
        _ draft: String, _ options: EngineOptions, _ body: (Engine) throws(EngineError) -> R
    ) throws(EngineError) -> R {
        var options = options
        options.isReadOnly = false
        options.usesBackgroundThread = false
        options.createIfMissing = false
        options.startingPoint = .newest
        let engine = try Engine.open(draft, fileSystem: fileSystem, options: options)
        let result = try body(engine)
        try engine.close()
        if try fileSystem.exists(join(draft, "lock")) { try fileSystem.remove(join(draft, "lock")) }
        return result
    }

    /// A draft that stays behind takes room and is no store; the error that ended it is the one to tell.
    private func discard(_ draft: String) {
        for name in (try? fileSystem.list(draft)) ?? [] { try? fileSystem.remove(join(draft, name)) }
        try? fileSystem.remove(draft)
    }

    // MARK: What crashes left

    private static let mark = ".new-"

    /// Removes the drafts of the path that a crash left. Whoever still fills one is too late: the path is taken.
    private func discardOthers() {
        let start = (path.split(separator: "/").last.map(String.init) ?? path) + StoreDraft.mark
        let folder = parent(ofPath: path)
        for name in (try? fileSystem.list(folder)) ?? [] where name.hasPrefix(start) {
            let rest = name.dropFirst(start.count)
            guard !rest.isEmpty, rest.allSatisfy(\.isHexDigit) else { continue }
            discard(folder == "." ? name : join(folder, name))
        }
    }
}

extension Engine {
    /// Makes a store with the identity of another and fills it; nothing is at the path before it is complete and durable.
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
