public import Foundation
public import HornbeamModel

/// Documents in one file, usually `Name.hornbeamz`, to send them or to keep them under version control.
extension PersistentDocument {
    /// Writes the state of the context to one file; this document stays as it is. Autosaves first.
    ///
    /// The file appears at the URL only when it is complete and durable. `PersistentStoreCoordinator.unpackStore` reads it too.
    /// - Parameters:
    ///   - url: The URL of the new file, at which there must be nothing.
    ///   - progress: Called regularly. If it throws, the method stops, throws that error, and leaves no file.
    /// - Returns: The number of files in the packed store, and its size.
    /// - Throws: The errors of `autosave()`; `notAStore` if a file or folder exists at the URL; `full`; `inputOutput`.
    @discardableResult
    public func pack(to url: URL, progress: ((StoreProgress) throws -> Void)? = nil) throws -> StoreBackupReport {
        try autosave()
        return try coordinator.pack(store(), to: url, progress: progress)
    }

    /// Makes a document of a packed document or store, whose state is the saved state of the new document.
    ///
    /// The document appears at its URL only when all checksums were verified and it is durable.
    /// - Parameters:
    ///   - file: The packed document, which is not changed.
    ///   - url: The URL of the new document, at which there must be nothing.
    ///   - progress: Called regularly. If it throws, the method stops, throws that error, and leaves no document.
    /// - Throws: `notAStore` if the file is no packed store, or if a file or folder exists at the URL; `damaged` if a byte of the file is wrong or
    ///   missing; `newerFormat`; `full`; `inputOutput`.
    public nonisolated static func unpack(
        _ file: URL, to url: URL, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws {
        let package = try DocumentPackage.make(at: url) { store in
            _ = try PersistentStoreCoordinator.unpackStore(file, to: store, progress: progress)
        }
        package.unlock()
    }
}
