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

    /// The name of a draft proves that it is one: it ends with a random number and the check of the store's name, seeded with
    /// the number. No folder that somebody copied or named has such a name.
    static func draftPath(of path: String, number: UInt64) -> String { path + suffix(of: name(of: path), number) }

    private static func suffix(of name: String, _ number: UInt64) -> String {
        let check = unsafe Array(name.utf8).withBytes { unsafe XXH64.hash($0, seed: number) }
        return mark + hexadecimal(number) + hexadecimal(check)
    }

    private static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Removes the drafts of the path that a crash left. A process that still fills one is too late: the path is taken.
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
