public import Foundation

/// Autosaves at the end of the process.
extension PersistentDocument {
    /// Autosaves when the process exits normally, and when it receives one of the signals. See `DataStack.saveAtShutdown`.
    public func autosaveAtShutdown(
        signals: [Int32] = [SIGTERM, SIGINT], patience: Duration = .seconds(5),
        onFailure: @escaping @Sendable (any Error) -> Void = { error in
            FileHandle.standardError.write(Data("Autosaving at shutdown failed: \(error)\n".utf8))
        }
    ) {
        let entry = ShutdownSaving.Entry(owner: self, patience: patience, onFailure: onFailure) { [weak self] in try self?.autosave() }
        ShutdownSaving.add(entry, signals)
    }

    /// Reverts `autosaveAtShutdown`.
    public func stopAutosavingAtShutdown() { ShutdownSaving.remove(self) }
}
