public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// Stores in one file, usually `Name.hornbeamz`, to send them, to archive them or to keep them under version control.
extension PersistentStoreCoordinator {
    /// Packs a store into one file while it is in use. The file has the state after one save, which is the newest at the call or a later one.
    ///
    /// The file appears at the URL only when it is complete, verified and durable. Temporarily needs room for an uncompressed copy of the store
    /// beside it. O(size of the store), with constant memory. Also for stores in memory.
    /// - Parameters:
    ///   - store: A store of this coordinator.
    ///   - url: The URL of the new file, at which there must be nothing.
    ///   - progress: Called regularly. If it throws, the method stops, throws that error, and leaves no file.
    /// - Returns: The number of files in the packed store, and its size.
    /// - Throws: `closed` if the coordinator does not have the store; `unsupportedRequest` for a custom store; `notAStore` if a file or folder exists at the
    ///   URL; `full`; `inputOutput`.
    @discardableResult
    public func pack(
        _ store: PersistentStore, to url: URL, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreBackupReport {
        try files(of: store).pack(to: url.path, progress: progress)
    }

    /// A store whose rows are in files or pages of Hornbeam.
    ///
    /// - Throws: `unsupportedRequest` for a custom store, of which Hornbeam has a cache of some rows.
    func files(of store: PersistentStore) throws -> Store {
        let opened = try open(store)
        guard store.type == .custom else { return opened }
        throw HornbeamError(
            .unsupportedRequest,
            "The rows of a custom store are not in files of Hornbeam, so it is not checked, compacted, copied or packed here. Use the tools of the custom "
                + "store.")
    }

    /// Packs the store at a URL into one file, also while another process has it open. Reads the store only.
    ///
    /// - Parameters:
    ///   - url: The store.
    ///   - file: The URL of the new file, at which there must be nothing.
    ///   - progress: Called regularly. If it throws, the method stops, throws that error, and leaves no file.
    /// - Returns: The number of files in the packed store, and its size.
    /// - Throws: `notAStore` if there is no store, or if a file or folder exists at the file's URL; `damaged`; `full`; `inputOutput`.
    @discardableResult
    public static func packStore(
        at url: URL, to file: URL, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreBackupReport {
        var options = Store.Options()
        options.createIfMissing = false
        options.readOnly = true
        let store = try Store.open(.directory(url.path), model: nil, options: options)
        defer { try? store.close() }
        return try store.pack(to: file.path, progress: progress)
    }

    /// Makes a store of a packed store. IDs identify the same objects in it.
    ///
    /// The store appears at its URL only when all checksums were verified and it was opened once. O(size of the store), with constant memory.
    /// - Parameters:
    ///   - file: The packed store, which is not changed.
    ///   - url: The URL of the new store, at which there must be nothing or an empty folder.
    ///   - progress: Called regularly. If it throws, the method stops, throws that error, and leaves no store.
    /// - Returns: The number and the size of the files.
    /// - Throws: `notAStore` if the file is no packed store, or if something exists at the store's URL; `damaged` if a byte of the file is wrong
    ///   or missing; `newerFormat`; `full`; `inputOutput`.
    @discardableResult
    public static func unpackStore(
        _ file: URL, to url: URL, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreBackupReport {
        try Store.unpack(file.path, to: url.path, progress: progress)
    }
}
