internal import Foundation
internal import HornbeamModel
internal import HornbeamThreads

/// The folder of a document, locked for one document object of all processes.
///
/// ```
/// Plan.document/
///   lock                 locked while the document is open
///   saved.hornbeam       the state of the last explicit save
///   working.hornbeam     the state that the context reads and autosaves write; absent in a closed document without unsaved changes
///   next.hornbeam        a complete copy that replaces saved.hornbeam
///   previous.hornbeam    the state before it, until the replacement is complete
///   discarded.hornbeam   a working store that is being removed
/// ```
/// Invariants:
/// - `saved.hornbeam`, or after a crash `next.hornbeam` or `previous.hornbeam`, is a complete store at each moment.
/// - `working.hornbeam` is a complete store or absent. It gets and loses its name by a rename, never file by file.
/// - Only the owner of the lock changes files of the folder.
final class DocumentPackage: Sendable {
    let url: URL
    private let descriptor: Int32
    /// The number of forks when the document was locked. It differs in a forked child.
    private let forks = ProcessForks.watch()

    /// Locks an existing document.
    convenience init(locking url: URL) throws {
        guard ["saved", "next", "previous"].contains(where: { DocumentFiles.exists(Self.store($0, in: url)) }) else {
            throw HornbeamError(.notAStore, "There is no document at \(url.lastPathComponent). Check the path, or create the document.")
        }
        try self.init(url, locking: url)
    }

    /// Locks the document that is in a folder, and gets the name of `url` later.
    init(_ url: URL, locking folder: URL) throws {
        self.url = url
        let name = url.lastPathComponent
        descriptor = unsafe open(folder.appending(path: "lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            let isReadOnly = errno == EROFS || errno == EACCES || errno == EPERM
            throw HornbeamError(
                isReadOnly ? .readOnly : .openFailed, "The document \(name) cannot be locked. Check the permissions of its folder.",
                cause: "errno \(errno)")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isLocked = errno == EWOULDBLOCK
            close(descriptor)
            throw isLocked
                ? HornbeamError(.storeInUse, "The document \(name) is open already, in this or another process. Close it there first.")
                : HornbeamError(.openFailed, "The file system of the document \(name) has no file locks. Move it to a local disk.")
        }
    }

    deinit {
        // Closing is not enough: a child process that was just forked may not have closed its copy of the descriptor yet. A forked child shares the lock
        // with its parent, which keeps it.
        if forks == ProcessForks.count { unlock() }
        close(descriptor)
    }

    /// Lets other documents open the folder.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

    var saved: URL { Self.store("saved", in: url) }
    var working: URL { Self.store("working", in: url) }
    var next: URL { Self.store("next", in: url) }
    private var previous: URL { Self.store("previous", in: url) }
    private var discarded: URL { Self.store("discarded", in: url) }
    var hasWorkingStore: Bool { DocumentFiles.exists(working) }

    static func store(_ name: String, in url: URL) -> URL { url.appending(path: name + ".hornbeam") }

    // MARK: Opening

    /// Completes or reverts a replacement that a crash interrupted, and removes leftover files.
    ///
    /// - Throws: `notAStore` if a store of the document is a symbolic link.
    func repair() throws {
        try refuseSymbolicLinks()
        try files {
            if !DocumentFiles.exists(saved) {
                try DocumentFiles.move(DocumentFiles.exists(next) ? next : previous, to: saved)
                try DocumentFiles.sync(url)
            }
        }
        // Earlier versions removed the working store file by file. Without `meta` it is the rest of such a removal.
        if hasWorkingStore, !DocumentFiles.exists(working.appending(path: "meta")) { try discardWorking() }
        try? removeLeftovers()
    }

    /// Throws if a store of the document is a symbolic link. The document may come from an untrusted source, and autosaves and migrations must not write
    /// to a store elsewhere.
    private func refuseSymbolicLinks() throws {
        guard let link = [saved, working, next, previous, discarded].first(where: DocumentFiles.isLink) else { return }
        throw HornbeamError(
            .notAStore,
            "The document \(url.lastPathComponent) has a symbolic link in the place of its store \(link.lastPathComponent). Remove the link, or get the "
                + "document again.")
    }

    /// Removes stores that have no use any more, and incomplete copies. The next opening tries again if this fails.
    private func removeLeftovers() throws {
        let leftovers = try DocumentFiles.names(in: url).filter { name in
            ["next.hornbeam", "previous.hornbeam", "discarded.hornbeam"].contains { name == $0 }
                || ["next.hornbeam.new-", "working.hornbeam.new-"].contains { name.hasPrefix($0) }
        }
        guard !leftovers.isEmpty else { return }
        // A power failure after this must not revert the rename that made them leftovers.
        try DocumentFiles.sync(url)
        for name in leftovers { try? DocumentFiles.remove(url.appending(path: name)) }
    }

    // MARK: Saving

    /// Makes room for a new copy under the name `next`.
    func removeNext() throws { try files { try DocumentFiles.remove(next) } }

    /// Makes the copy `next` the saved state. After an error, the saved state is the earlier one; if the folder cannot be synced, it is either
    /// of the two after a power failure.
    func replaceSaved() throws {
        try files {
            if DocumentFiles.exists(saved) {
                if DocumentFiles.exists(previous) {
                    // The name of the saved state may not be durable yet, after a sync that failed.
                    try DocumentFiles.sync(url)
                    try DocumentFiles.remove(previous)
                }
                try DocumentFiles.move(saved, to: previous)
            }
            do {
                try DocumentFiles.move(next, to: saved)
            } catch {
                try? DocumentFiles.move(previous, to: saved)
                throw error
            }
            try DocumentFiles.sync(url)
        }
        // The new state is durable. The next opening removes the old one if this fails.
        try? DocumentFiles.remove(previous)
    }

    /// Removes the working store. Its name disappears by one rename, so that no crash leaves a part of it under that name.
    func discardWorking() throws {
        guard hasWorkingStore else { return }
        try files {
            try DocumentFiles.remove(discarded)
            try DocumentFiles.move(working, to: discarded)
            try DocumentFiles.sync(url)
        }
        // The next opening removes the rest if this fails.
        try? DocumentFiles.remove(discarded)
    }

    private func files(_ body: () throws -> Void) throws { try Self.files(of: url, body) }

    static func files(of url: URL, _ body: () throws -> Void) throws {
        do { try body() } catch let error as HornbeamError { throw error } catch {
            throw HornbeamError(
                .inputOutput, "The files of the document \(url.lastPathComponent) cannot be written. Check its disk and its permissions.",
                cause: "\(error)")
        }
    }
}
