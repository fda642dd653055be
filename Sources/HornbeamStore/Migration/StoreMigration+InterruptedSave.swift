internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// A save over several stores that a crash interrupted (`TwoPhaseCommit`), completed before the migration of a participant.
///
/// The prepared part has the names of the old model, so it can be applied only to the old version.
extension StoreMigration {
    /// Applies or drops the prepared part of the store. Returns false when there is none.
    ///
    /// - Throws: `incompleteSave` when the store with the outcome cannot be read.
    func completeInterruptedSave(_ stored: StoredSchema) throws -> Bool {
        let snapshot = try engine.snapshot()
        guard try snapshot.value(StoredValue.preparedPart) != nil else { return false }
        let reader = try RowReader(stored.catalogue, stored.model, engine) { snapshot.tree(named: $0) }
        let store = Store(
            location: location, identifier: UUID(engine.storeIdentifier), engine: engine, reader: reader, options: options,
            metadata: [:], storedCatalogue: nil, openedTransaction: snapshot.transaction.rawValue,
            history: try HistoryLog.prepared(engine, options, reader), memory: nil)
        guard let prepared = try store.preparedPart() else { return false }
        if try isCommitted(prepared) {
            _ = try store.applyPreparedPart(prepared.changeSet(for: store))
        } else {
            try store.setPreparedPart(nil, .full)
        }
        return true
    }

    /// True when the coordinating store has the commit record.
    private func isCommitted(_ prepared: PreparedChanges) throws -> Bool {
        var failure: (any Error)?
        for path in coordinatingPaths(prepared) {
            do {
                let found: Bool? = try EngineError.translated { () throws(EngineError) in
                    let other = try openCoordinating(path)
                    let isThere = try other.snapshot().value(StoredValue.decision(prepared.decision)) != nil
                    let isSame = UUID(other.storeIdentifier) == prepared.decider
                    try other.close()
                    return isSame ? isThere : nil
                }
                if let found { return found }
            } catch { failure = failure ?? error }
        }
        throw HornbeamError(
            .incompleteSave,
            "“\(location)” has a part of an interrupted save over several stores, which must be completed before the store is migrated. Only "
                + "the store “\(prepared.deciderLocation)” contains its outcome, and it cannot be read. Put it back, and open the store again. "
                + "The store is unchanged.", cause: failure.map { "\($0)" })
    }

    /// The recorded location, and the one beside the store, since an app's folder can be moved as a whole.
    private func coordinatingPaths(_ prepared: PreparedChanges) -> [String] {
        guard case .directory(let path) = location else { return [prepared.deciderLocation] }
        let name = URL(filePath: prepared.deciderLocation).lastPathComponent
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        let beside = folder + name
        return beside == prepared.deciderLocation ? [beside] : [prepared.deciderLocation, beside]
    }

    /// Opens the coordinating store for writing, so that its commit record is durable before the part is applied. If other processes write it in turns,
    /// takes the turn: the process that saved may have logged the record and died, and none of the others has recovered it. For reading when one
    /// process writes it alone, because that process has recovered it.
    private func openCoordinating(_ path: String) throws(EngineError) -> Engine {
        var settings = options.engineOptions
        settings.createIfMissing = false
        settings.startingPoint = .newest
        let fileSystem: any FileSystem = options.fileSystem ?? PosixFileSystem()
        for isShared in options.isShared ? [true] : [false, true] {
            settings.isShared = isShared
            settings.usesBackgroundThread = isShared && options.backgroundCheckpoints
            do throws(EngineError) {
                let engine = try Engine.open(path, fileSystem: fileSystem, options: settings)
                if isShared { try takeTurn(engine) }
                return engine
            } catch {
                guard error.code == .storeInUse else { throw error }
            }
        }
        settings.isShared = false
        settings.isReadOnly = true
        return try Engine.open(path, fileSystem: fileSystem, options: settings)
    }

    private func takeTurn(_ engine: Engine) throws(EngineError) {
        do throws(EngineError) { try engine.begin().abort() } catch {
            try? engine.close()
            throw error
        }
    }
}
