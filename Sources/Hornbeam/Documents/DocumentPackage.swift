internal import Foundation
internal import HornbeamModel

/// The folder of a document, locked for one document object of all processes.
///
/// ```
/// Plan.document/
///   lock                 locked while the document is open
///   saved.hornbeam       the state of the last explicit save
///   working.hornbeam     the state that the context reads and autosaves write; absent in a closed document without unsaved changes
///   next.hornbeam        a complete copy that replaces saved.hornbeam
///   previous.hornbeam    the state before it, until the replacement is complete
/// ```
/// Invariants:
/// - `saved.hornbeam`, or after a crash `next.hornbeam` or `previous.hornbeam`, is a complete store at each moment.
/// - Only the owner of the lock changes files of the folder.
final class DocumentPackage: Sendable {
    let url: URL
    private let descriptor: Int32

    /// Locks an existing document.
    init(locking url: URL) throws {
        self.url = url
        let name = url.lastPathComponent
        guard ["saved", "next", "previous"].contains(where: { Self.exists(Self.store($0, in: url)) }) else {
            throw HornbeamError(.notAStore, "There is no document at \(name). Check the path, or create the document.")
        }
        descriptor = unsafe open(url.appending(path: "lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw HornbeamError(
                .openFailed, "The document \(name) cannot be locked. Check the permissions of its folder.", cause: "errno \(errno)")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isLocked = errno == EWOULDBLOCK
            close(descriptor)
            throw isLocked
                ? HornbeamError(.storeInUse, "The document \(name) is open already, in this or another process. Close it there first.")
                : HornbeamError(.openFailed, "The file system of the document \(name) has no file locks. Move it to a local disk.")
        }
    }

    deinit { close(descriptor) }

    /// Lets other documents open the folder.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

    var saved: URL { Self.store("saved", in: url) }
    var working: URL { Self.store("working", in: url) }
    var next: URL { Self.store("next", in: url) }
    private var previous: URL { Self.store("previous", in: url) }
    var hasWorkingStore: Bool { Self.exists(working) }

    static func store(_ name: String, in url: URL) -> URL { url.appending(path: name + ".hornbeam") }
    static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    /// Completes or reverts a replacement that a crash interrupted.
    func repair() throws {
        try files {
            if !Self.exists(saved) {
                try FileManager.default.moveItem(at: Self.exists(next) ? next : previous, to: saved)
                try Self.sync(url)
            }
            try remove(next)
            try remove(previous)
        }
    }

    /// Makes the copy `next` the saved state.
    func replaceSaved() throws {
        try files {
            try remove(previous)
            try FileManager.default.moveItem(at: saved, to: previous)
            do {
                try FileManager.default.moveItem(at: next, to: saved)
            } catch {
                try FileManager.default.moveItem(at: previous, to: saved)
                throw error
            }
            try Self.sync(url)
        }
        // The new state is durable. The next opening removes the old one if this fails.
        try? remove(previous)
    }

    func removeNext() throws { try files { try remove(next) } }

    private func remove(_ store: URL) throws {
        if Self.exists(store) { try FileManager.default.removeItem(at: store) }
    }

    private func files(_ body: () throws -> Void) throws { try Self.files(of: url, body) }

    private static func files(of url: URL, _ body: () throws -> Void) throws {
        do { try body() } catch let error as HornbeamError { throw error } catch {
            throw HornbeamError(
                .inputOutput, "The files of the document \(url.lastPathComponent) cannot be written. Check its disk and its permissions.",
                cause: "\(error)")
        }
    }

    /// Makes a new document: `fill` writes the saved store. The document exists only when it is complete and durable.
    static func make(at url: URL, _ fill: (URL) throws -> Void) throws {
        guard !exists(url) else {
            throw HornbeamError(
                .notAStore, "\(url.lastPathComponent) exists already. Remove it, or choose another name for the document.")
        }
        let parent = url.deletingLastPathComponent()
        let draft = parent.appending(path: ".\(url.lastPathComponent).\(UUID().uuidString)")
        do {
            try files(of: url) { try FileManager.default.createDirectory(at: draft, withIntermediateDirectories: true) }
            try fill(store("saved", in: draft))
            try files(of: url) {
                try sync(draft)
                try FileManager.default.moveItem(at: draft, to: url)
                try sync(parent)
            }
        } catch {
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
    }

    /// Makes the names in a folder durable.
    private static func sync(_ folder: URL) throws {
        let descriptor = unsafe open(folder.path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw HornbeamError(
                .inputOutput, "The folder \(folder.lastPathComponent) cannot be synced. Check its disk.", cause: "errno \(errno)")
        }
    }
}
