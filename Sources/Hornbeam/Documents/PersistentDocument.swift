public import Foundation
public import HornbeamModel
public import Observation

/// A document: one folder with one store and one context, with explicit saves, autosaves and undo (DOC-1).
///
/// ```swift
/// let document = try PersistentDocument.create(at: url, for: Author.self, Book.self)
/// Book(in: document.context, title: "Emma")
/// try document.save()
/// ```
/// Changes are autosaved beside the saved state: a crash loses only the changes since the last autosave, and an autosave never replaces
/// the state of an explicit save. A `save()` of the context is an autosave.
@MainActor @Observable
public final class PersistentDocument {
    /// The container of the document's store. Its view context is the context of the document.
    @ObservationIgnored let container: PersistentContainer
    @ObservationIgnored private(set) var package: DocumentPackage
    @ObservationIgnored private var record = AutosaveRecord()
    @ObservationIgnored private var savedNumber: Int64 = 0
    @ObservationIgnored private var changes = DocumentChanges()
    @ObservationIgnored private var pendingAutosave: Task<Void, Never>?
    @ObservationIgnored private var editListeners: [UUID: AsyncStream<Bool>.Continuation] = [:]
    @ObservationIgnored private var isOpen = true

    /// True if the document has changes that no explicit save contains. Updated when the context processes its changes, at the end of each
    /// turn of the main actor.
    public private(set) var isEdited = false
    /// The autosaved changes of an earlier session, until `recover()`, `revert()` or a save.
    public private(set) var recovery: DocumentRecovery?
    /// The error of the last autosave after a pause; nil after a successful one. The changes stay in the context.
    public private(set) var autosaveError: (any Error)?
    /// The pause after a change before it is autosaved; nil for no autosaves after a pause.
    @ObservationIgnored public var autosaveDelay: Duration? = .seconds(5)
    // 100 years: `Task.sleep` of Swift 6.3 traps for the longest durations.
    private static let autosaveDelayMax = Duration.seconds(100 * 365 * 86_400)

    /// Opens a document. If `recovery` is not nil, the context shows the autosaved changes of the earlier session: keep them with `recover()`,
    /// or return to the saved state with `revert()`.
    ///
    /// - Throws: `storeInUse` if the document is open in this or another process; `notAStore` if there is none; the errors of
    ///   opening a store. If only the autosaved changes are damaged, `discardAutosavedChanges(at:)` leaves the saved state.
    public convenience init(opening url: URL, model: ManagedObjectModel, classes: [ManagedObject.Type] = []) throws {
        try self.init(DocumentPackage(locking: url), model: model, classes: classes)
    }

    init(_ package: DocumentPackage, model: ManagedObjectModel, classes: [ManagedObject.Type]) throws {
        self.package = package
        container = try PersistentContainer(name: package.url.deletingPathExtension().lastPathComponent, model: model, classes: classes)
        do { try openStores() } catch {
            try? container.close()
            throw error
        }
        let context = container.viewContext
        context.undoStack = UndoStack()
        context.saving.beforeWrite = { [weak self] in try self?.recordAutosave() }
        context.observers.listeners.append { [weak self] _ in
            self?.contextChanged()
            return self != nil
        }
    }

    /// The document's folder.
    public var url: URL { package.url }
    /// The context of the document, with an undo stack.
    public var context: ManagedObjectContext { container.viewContext }
    /// The undo stack of the context.
    public var undoStack: UndoStack? { context.undoStack }

    // MARK: Stores

    private func openStores() throws {
        try package.repair()
        savedNumber = try prepareWorkingStore()
        try DocumentFiles.step("open the working store")
        let working = try openWorkingStore()
        record = AutosaveRecord(try coordinator.metadata(for: working))
        recovery = record.number == savedNumber ? nil : record.recovery
        changes = DocumentChanges(after: recovery)
        setEdited()
    }

    /// Migrates the saved store to the model, and copies it if there is no working store. Returns the number of its autosave.
    private func prepareWorkingStore() throws -> Int64 {
        try DocumentFiles.step("open the saved store")
        let saved = try coordinator.addPersistentStore(Self.description(package.saved))
        do {
            let number = AutosaveRecord(try coordinator.metadata(for: saved)).number
            if !package.hasWorkingStore { try copy(saved, to: package.working) }
            try coordinator.remove(saved)
            return number
        } catch {
            // The context must never write to the saved store.
            try? coordinator.remove(saved)
            throw error
        }
    }

    private func openWorkingStore() throws -> PersistentStore {
        do { return try coordinator.addPersistentStore(Self.description(package.working)) } catch let error as HornbeamError
            where [.damaged, .logDamaged, .notAStore].contains(error.code)
        {
            throw HornbeamError(
                error.code,
                "The autosaved changes of the document \(url.lastPathComponent) cannot be read; the saved state is not affected. Salvage the store "
                    + "working.hornbeam in its folder, or discard the changes with discardAutosavedChanges(at:). The error: \(error.message)",
                cause: error.cause)
        }
    }

    /// A store that must exist: an empty one is never made in its place.
    private static func description(_ url: URL) -> PersistentStoreDescription {
        var description = PersistentStoreDescription(url: url)
        description.createsIfMissing = false
        return description
    }

    private func copy(_ store: PersistentStore, to url: URL) throws {
        try DocumentFiles.step("copy to \(url.lastPathComponent)")
        try coordinator.backUp(store, to: url)
    }

    var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

    /// The working store.
    func store() throws -> PersistentStore {
        if let store = coordinator.persistentStores.first { return store }
        let name = url.lastPathComponent
        throw HornbeamError(
            .closed,
            isOpen
                ? "The document \(name) shows no store, because it could not be reverted. Revert it again, or close it."
                : "The document \(name) is closed. Open it again.")
    }

    /// Writes the number of the autosave that follows, so that a crash after it offers a recovery. A crash between the two offers a recovery
    /// without the changes of this autosave.
    private func recordAutosave() throws {
        try DocumentFiles.step("write the number of the autosave")
        try changes.add(context)
        // Numbers are only compared for equality.
        record.number &+= 1
        record.recovery = changes.recovery(at: Date())
        var metadata = try coordinator.metadata(for: store())
        record.write(to: &metadata)
        try coordinator.setMetadata(metadata, for: store())
        setEdited()
        try DocumentFiles.step("write the changes of the autosave")
    }

    // MARK: Saving

    /// Writes the changes of the context beside the saved state. Does nothing without changes.
    ///
    /// - Throws: The errors of `ManagedObjectContext.save()`; the changes stay in the context.
    public func autosave() throws {
        pendingAutosave?.cancel()
        pendingAutosave = nil
        _ = try store()
        if context.hasChanges { try context.save() }
        autosaveError = nil
        setEdited()
    }

    /// Makes the state of the context the saved state. Copies the store: O(size of the store).
    ///
    /// - Throws: The errors of `autosave()`; `full`; `inputOutput`. Then the earlier saved state stays, no change is lost, and the save can be
    ///   repeated. If the disk fails while the new state replaces the earlier one, a crash leaves either of the two.
    public func save() throws {
        try autosave()
        guard isEdited else { return }
        try package.removeNext()
        try copy(store(), to: package.next)
        try package.replaceSaved()
        markSaved()
    }

    private func markSaved() {
        savedNumber = record.number
        changes = DocumentChanges()
        recovery = nil
        setEdited()
    }

    /// Writes the state of the context to a new document; this document stays as it is.
    ///
    /// - Throws: `notAStore` if a file or folder exists at the URL; the errors of `save()`.
    public func save(to url: URL) throws {
        try autosave()
        let store = try store()
        _ = try DocumentPackage.make(at: url) { try copy(store, to: $0) }
    }

    /// Writes the state of the context to a new document and continues with it. Objects stay valid. The old document keeps its last saved state.
    ///
    /// - Throws: The errors of `save(to:)`. Then this document stays at its URL.
    public func save(as url: URL) throws {
        try autosave()
        let store = try store()
        let new = try DocumentPackage.make(at: url) { try copy(store, to: $0) }
        do {
            try DocumentFiles.step("move the store to the new document")
            try coordinator.migratePersistentStore(store, to: Self.description(new.working))
        } catch {
            new.removeDocument()
            throw error
        }
        let old = package
        package = new
        markSaved()
        // All changes are in the new document. If this fails, the old one offers them at its next opening.
        try? old.discardWorking()
        old.unlock()
    }

    /// Returns to the state of the last explicit save. Discards all later changes, autosaved or not, and the undo stack.
    ///
    /// - Throws: The errors of opening a store; `inputOutput`. Then the saved state is unchanged, and the document shows no objects until
    ///   `revert()` is repeated and succeeds.
    public func revert() throws {
        pendingAutosave?.cancel()
        guard isOpen else { _ = try store(); return }
        context.reset()
        context.undoStack?.removeAllActions()
        for store in coordinator.persistentStores { try coordinator.remove(store) }
        try package.discardWorking()
        try openStores()
    }

    /// Keeps the autosaved changes of the earlier session as unsaved changes. `revert()` discards them.
    public func recover() { recovery = nil }

    /// Autosaves, and closes the document. Unsaved changes are offered as `recovery` at the next opening.
    ///
    /// - Throws: The errors of `autosave()`; then the document stays open.
    public func close() throws {
        guard isOpen else { return }
        // A document that could not be reverted has no store and no changes.
        if !coordinator.persistentStores.isEmpty { try autosave() }
        isOpen = false
        stopAutosavingAtShutdown()
        for listener in editListeners.values { listener.finish() }
        defer { package.unlock() }
        try container.close()
        // Without unsaved changes, a working store that remains equals the saved state.
        if !isEdited { try? package.discardWorking() }
    }

    // MARK: Changes

    private func contextChanged() {
        setEdited()
        guard isOpen, context.hasChanges, let autosaveDelay else { return }
        pendingAutosave?.cancel()
        pendingAutosave = Task { [weak self] in
            do { try await Task.sleep(for: max(.zero, min(autosaveDelay, Self.autosaveDelayMax))) } catch { return }
            self?.autosaveAfterPause()
        }
    }

    private func autosaveAfterPause() {
        do { try autosave() } catch { autosaveError = error }
    }

    private func setEdited() {
        let edited = record.number != savedNumber || (isOpen && context.hasChanges)
        guard edited != isEdited else { return }
        isEdited = edited
        for listener in editListeners.values { listener.yield(edited) }
    }

    /// The values of `isEdited`, beginning with the current one, until the document is closed.
    public func editedStates() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(isEdited)
        guard isOpen else {
            continuation.finish()
            return stream
        }
        let key = UUID()
        editListeners[key] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { @MainActor in self?.editListeners[key] = nil }
        }
        return stream
    }
}
