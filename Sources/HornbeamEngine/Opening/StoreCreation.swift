// Making a new store: complete under another name first, so that no crash leaves half of one.

/// The creation of a store at a path.
struct StoreCreation {
    let path: String
    let fileSystem: any FileSystem
    let pageSize: Int

    func run() throws(EngineError) {
        let occupied = "The folder holds files but no store; choose another path for a new store."
        try StoreDraft(path: path, fileSystem: fileSystem, occupied: occupied).fill { (draft) throws(EngineError) in
            let store = StoreIdentifier.random()
            let state = MetaState(
                store: store, salt: .random(in: 1 ... .max), pageSize: pageSize, checkpoint: 1, log: .origin,
                transaction: .zero, nextObjectKey: 1, catalogue: .empty, fileTable: .empty,
                oldestLogSegment: LogSegmentNumber(1), nextLogSegment: LogSegmentNumber(1),
                nextPageFile: PageFileNumber(1), isCleanlyClosed: true)
            try MetaFile.create(join(draft, "meta"), fileSystem: fileSystem, state: state).close()
        }
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
        let draft = path + ".new-" + String(UInt64.random(in: 0 ... .max), radix: 16)
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
    }

    /// A draft that stays behind takes room and is no store; the error that ended it is the one to tell.
    private func discard(_ draft: String) {
        for name in (try? fileSystem.list(draft)) ?? [] { try? fileSystem.remove(join(draft, name)) }
        try? fileSystem.remove(draft)
    }
}
