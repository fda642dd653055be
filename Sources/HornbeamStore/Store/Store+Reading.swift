internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

// Stores that are opened for reading while another process may write.

extension Store {
    /// Switches a store that was opened for reading, or that several processes write, to the newest durable version. Returns true if that version
    /// is newer.
    ///
    /// Existing snapshots do not change. Observers receive each commit, or one change without details when history lacks the commits. A
    /// store opened for writing always shows the newest version.
    /// - Throws: `modelMismatch` when another process changed the model: the last version of the old model stays readable until the
    ///   store is opened again.
    package func refresh() throws -> Bool {
        guard isReadOnly || isShared, fixedSnapshot == nil else { return false }
        if let last = others.lastReadable { throw last.error }
        // The follower publishes the commits of a shared store.
        if isShared { return try EngineError.translated { () throws(EngineError) in try engine.refresh() } }
        let shown = try self.snapshot()
        let known = shown.transaction
        let isNew = try EngineError.translated { () throws(EngineError) in try engine.refresh() }
        guard isNew else { return false }
        let snapshot = try EngineError.translated { () throws(EngineError) in try engine.snapshot() }
        guard try snapshot.value(StoredValue.catalogue) == storedCatalogue else {
            let error = HornbeamError(
                .modelMismatch,
                "Another process changed the model of “\(location)” while it was open here for reading. It shows its last state of the old "
                    + "model. Close it and open it again with the new model.")
            others.setLastReadable(LastReadableVersion(snapshot: shown, error: error))
            throw error
        }
        try cacheMetadata(of: snapshot)
        if try !publishHistory(after: known) { publishUnknownChange(snapshot.transaction.rawValue) }
        return true
    }

    /// Describes the commits that are missing because the store was opened at an older version; nil if none are missing.
    package var openingLoss: String? { engine.loss?.description }
}

/// The last readable version of a store whose model another process changed, and the reason why the store does not switch to a newer one.
struct LastReadableVersion: Sendable {
    /// Nil if no snapshot was in use; then nothing can be read.
    let snapshot: StoreSnapshot?
    let error: HornbeamError
}

extension Store {
    /// Caches the metadata of a version, if they differ from the cached ones and no newer ones are cached.
    func cacheMetadata(of snapshot: Snapshot) throws {
        let bytes = try (options.stage == nil ? nil : snapshot.value(StoredValue.stageMetadata)) ?? snapshot.value(StoredValue.metadata)
        let transaction = snapshot.transaction
        let isNew = cachedMetadata.withLock { $0.transaction < transaction && $0.bytes != bytes }
        guard isNew else { return }
        let values = try snapshot.metadata(ofStage: options.stage != nil)
        cachedMetadata.withLock { cached in
            if cached.transaction < transaction { cached = CachedMetadata(transaction: transaction, bytes: bytes, values: values) }
        }
    }
}

/// The metadata of a version.
struct CachedMetadata {
    var transaction = TransactionNumber.zero
    /// The stored form; nil until it is compared for the first time.
    var bytes: [UInt8]?
    var values: [String: PropertyValue]
}

extension Snapshot {
    /// The metadata that the program stored. With `ofStage`, those that the code of a running stage has set.
    func metadata(ofStage: Bool = false) throws -> [String: PropertyValue] {
        let bytes = try (ofStage ? value(StoredValue.stageMetadata) : nil) ?? value(StoredValue.metadata)
        return try bytes.map { try JSONDecoder().decode([String: PropertyValue].self, from: Data($0)) } ?? [:]
    }
}
