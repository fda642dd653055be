internal import Foundation
internal import HornbeamEngine
package import HornbeamModel
internal import HornbeamThreads

/// One use of an open store. Coordinators of this process that add the same store share it (PSC-22).
///
/// The store closes when its last lease ends. Until then, opening it for writing in another process throws `storeInUse`.
package final class StoreLease: Sendable {
    package let store: Store
    private let key: OpenStoreKey?
    private let hasEnded = Guarded(false)

    fileprivate init(_ store: Store, _ key: OpenStoreKey?) {
        self.store = store
        self.key = key
    }

    /// A lease of a store that is not shared.
    package convenience init(ofOwn store: Store) { self.init(store, nil) }

    /// Ends the lease. A second call does nothing.
    ///
    /// - Throws: The error of closing the store, if this was its last lease.
    package func end() throws {
        let hadEnded = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return hasEnded
        }
        guard !hadEnded else { return }
        guard let key else { return try store.close() }
        try OpenStores.release(key)
    }

    /// Ends the lease of a failed store, and opens the store again with the same options.
    ///
    /// - Throws: `storeInUse` while another coordinator of this process uses the store; the errors of `open`.
    package func reopened() throws -> StoreLease {
        // Closing a failed store throws the error of the failure again, which is ignored.
        try? end()
        let lease = try Store.lease(store.location, model: store.model, options: store.options)
        guard lease.store === store else { return lease }
        try lease.end()
        throw HornbeamError(
            .storeInUse,
            "“\(store.location)” failed, and another container of this process still has it open. Close it there, then open it again.")
    }

    /// A coordinator that is released without `close` skips the final checkpoint. The next opening replays the log.
    deinit {
        if let key, !hasEnded.withLock({ $0 }) { OpenStores.releaseWithoutClosing(key) }
    }
}

/// The location and mode of an open store. A store that is open for reading takes no lock, so a store can be open in both modes.
private struct OpenStoreKey: Hashable, Sendable {
    let location: Store.Location
    let isReadOnly: Bool

    init(_ location: Store.Location, isReadOnly: Bool) {
        self.location = location
        self.isReadOnly = isReadOnly
    }
}

/// The open stores of this process.
private enum OpenStores {
    private enum Entry {
        /// The store is being opened or closed; other threads wait.
        case changing
        case open(Store, uses: Int)
        /// The last lease was released without closing the store. A thread at work keeps the engine until it is done.
        case released(ReleasedEngine)
    }

    private struct ReleasedEngine: Sendable {
        weak let engine: Engine?
    }

    private static let entries = Guarded<[OpenStoreKey: Entry]>([:])

    /// Adds a use of an open store and returns it. Returns nil when the store is not open; the caller must then open it and call `setOpened`.
    static func use(_ key: OpenStoreKey, _ check: (Store) throws -> Void) throws -> Store? {
        let result: Result<(store: Store?, released: Engine?), any Error> = entries.wait { entries in
            switch entries[key] {
            case .changing: return nil
            case nil:
                entries[key] = .changing
                return .success((nil, nil))
            case .released(let released):
                entries[key] = .changing
                return .success((nil, released.engine))
            case .open(let store, let uses):
                return Result {
                    try check(store)
                    entries[key] = .open(store, uses: uses + 1)
                    return (store, nil)
                }
            }
        }
        entries.signal()
        let (store, released) = try result.get()
        // As long as a thread keeps the engine, the opening would be refused.
        released?.endUpkeep()
        return store
    }

    /// Adds a use of an open store and returns it. Returns nil when the store is not open, or is being opened or closed.
    static func useIfOpen(_ key: OpenStoreKey, _ check: (Store) throws -> Void) throws -> Store? {
        try entries.withLock { entries in
            guard case .open(let store, let uses) = entries[key] else { return nil }
            try check(store)
            entries[key] = .open(store, uses: uses + 1)
            return store
        }
    }

    static func setOpened(_ store: Store?, at key: OpenStoreKey) {
        entries.withLock { $0[key] = store.map { .open($0, uses: 1) } }
        entries.signal()
    }

    static func release(_ key: OpenStoreKey) throws {
        let last: Store? = entries.withLock { entries in
            guard case .open(let store, let uses) = entries[key] else { return nil }
            entries[key] = uses > 1 ? .open(store, uses: uses - 1) : .changing
            return uses > 1 ? nil : store
        }
        guard let last else { return }
        defer { setOpened(nil, at: key) }
        try last.close()
    }

    static func releaseWithoutClosing(_ key: OpenStoreKey) {
        entries.withLock { entries in
            guard case .open(let store, let uses) = entries[key] else { return }
            entries[key] = uses > 1 ? .open(store, uses: uses - 1) : .released(ReleasedEngine(engine: store.engine))
        }
    }

    static func isOpen(_ key: OpenStoreKey) -> Bool {
        entries.withLock { entries in
            switch entries[key] {
            case nil, .released: false
            case .changing, .open: true
            }
        }
    }
}

extension Store {
    /// Opens a store, or shares the open store of this process, which has the options of its first opening. Readers share a writer's store
    /// if there is one.
    ///
    /// - Throws: The errors of `open`; `modelMismatch` when the store is open with another model.
    package static func lease(_ location: Location, model: ManagedObjectModel, options: Options) throws -> StoreLease {
        guard options.fileSystem == nil else {
            return StoreLease(ofOwn: try open(location, model: model, options: options))
        }
        let resolved = location.resolved
        let writer = OpenStoreKey(resolved, isReadOnly: false)
        if options.readOnly, let store = try OpenStores.useIfOpen(writer, { try $0.checkCompatible(model) }) {
            return StoreLease(store, writer)
        }
        let key = OpenStoreKey(resolved, isReadOnly: options.readOnly)
        if let store = try OpenStores.use(key, { try $0.checkCompatible(model) }) { return StoreLease(store, key) }
        do {
            let store = try open(location, model: model, options: options)
            OpenStores.setOpened(store, at: key)
            return StoreLease(store, key)
        } catch {
            OpenStores.setOpened(nil, at: key)
            throw error
        }
    }

    /// Opens a custom store, or leases it if another coordinator has it open. The coordinators share the cached rows.
    ///
    /// - Parameters:
    ///   - history: The limits of the history that the custom store keeps; nil for no history.
    ///   - migration: How the rows of a `MigratingStore` are migrated; nil if they must not be.
    package static func lease(
        _ custom: any CustomStore, model: ManagedObjectModel, history: HistoryTracking? = nil, migration: MigrationOptions? = nil
    ) throws -> StoreLease {
        let key = OpenStoreKey(Location(custom), isReadOnly: false)
        if let store = try OpenStores.use(key, { try $0.checkCompatible(model) }) { return StoreLease(store, key) }
        do {
            (custom as? any HistoryKeepingStore)?.setHistoryTracking(history)
            let store = try open(StoreBacking(custom), model: model, migration: migration)
            OpenStores.setOpened(store, at: key)
            return StoreLease(store, key)
        } catch {
            OpenStores.setOpened(nil, at: key)
            throw error
        }
    }

    /// True while a coordinator of this process uses the store.
    package static func isLeased(_ location: Location) -> Bool {
        [false, true].contains { OpenStores.isOpen(OpenStoreKey(location.resolved, isReadOnly: $0)) }
    }

    private func checkCompatible(_ model: ManagedObjectModel) throws {
        guard self.model === model || self.model.definition == model.definition else {
            throw HornbeamError(
                .modelMismatch,
                "“\(location)” is open in this process with another model. Use one model for all containers of a store.")
        }
    }
}

extension Store.Location {
    /// The location with a resolved path, which is equal for all spellings of the path.
    fileprivate var resolved: Self {
        switch self {
        case .memory: self
        case .directory(let path): .directory(Self.resolved(path))
        }
    }

    /// The path with symbolic links resolved. For a missing store, the folder is resolved and the name appended.
    private static func resolved(_ path: String) -> String {
        if let real = real(path) { return real }
        let url = URL(filePath: path).standardizedFileURL
        guard let parent = real(url.deletingLastPathComponent().path) else { return url.resolvingSymlinksInPath().path }
        return (parent == "/" ? "" : parent) + "/" + url.lastPathComponent
    }

    /// Resolves a path with the C library, in a tenth of the time of `URL`; nil if the path does not exist.
    private static func real(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}
