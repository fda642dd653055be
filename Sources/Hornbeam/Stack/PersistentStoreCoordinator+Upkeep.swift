public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// Maintenance of stores: size, check, compaction, backup, salvage. Most of these methods read or write much data and block: call them
/// outside the main actor. Saves and fetches can run at the same time. If `progress` throws, the method stops, throws that
/// error, and has changed nothing.
extension PersistentStoreCoordinator {
    /// The size of a store, and the snapshots that prevent it from shrinking. Fast: counts files and reads no page.
    ///
    /// - Throws: `closed` if the coordinator does not have the store, like the methods below.
    public func space(of store: PersistentStore) throws -> StoreSpace { try files(of: store).space() }

    /// Checks each page, each row against its indexes, each index against its rows, and relationships against
    /// their inverses. Reads the whole store.
    ///
    /// - Throws: Errors that prevent the check; `unsupportedRequest` for a custom store. The report contains the damage that was found.
    public func check(
        _ store: PersistentStore, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreCheckReport {
        try files(of: store).check(progress: progress)
    }

    /// Rewrites a store's pages without gaps, and frees all space that no snapshot in use needs.
    ///
    /// Never necessary, because saves limit the store's size. Temporarily needs as much free space as the store's live pages.
    /// - Throws: `readOnly`; `full`, in which case nothing is lost; `unsupportedRequest` for a custom store.
    public func compact(_ store: PersistentStore, progress: ((StoreProgress) throws -> Void)? = nil) throws {
        try files(of: store).compact(progress: progress)
    }

    /// Copies a store to a new folder while it is in use. The copy has the state after one save, which is the newest at the call or a later one.
    ///
    /// The target path exists only after the copy is complete, verified and durable. The copy can be opened as a store, and IDs
    /// identify the same objects in it. Not for stores in memory and custom stores (`unsupportedRequest`).
    /// - Throws: `notAStore` if a file or folder exists at the path; `full`.
    @discardableResult
    public func backUp(
        _ store: PersistentStore, to url: URL, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreBackupReport {
        try files(of: store).backup(to: url.path, progress: progress)
    }

    /// Describes the commits that are missing because a store was opened at an older version; nil if none are missing.
    public func openingLoss(of store: PersistentStore) throws -> String? { try open(store).openingLoss }

    /// Makes a new store of all readable objects of a damaged one, and reports the losses. The damaged store is not changed.
    ///
    /// IDs stay valid. Indexes are rebuilt; references to lost objects become null. If an older version is sufficient, first try
    /// `PersistentStoreDescription.startingPoint`.
    ///
    /// ```swift
    /// let report = try PersistentStoreCoordinator.salvageStore(at: damaged, to: rescued)
    /// print(report)
    /// ```
    /// - Parameters:
    ///   - url: The damaged store.
    ///   - target: The URL of the new store, which must not exist.
    ///   - managedObjectModel: Needed only if the stored model is unreadable.
    ///   - progress: Called regularly. If it throws, the salvage stops.
    /// - Throws: `damaged` if no version is readable; `notAStore` if a file or folder exists at the target's path; `full`.
    public static func salvageStore(
        at url: URL, to target: URL, managedObjectModel: ManagedObjectModel? = nil,
        progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> SalvageReport {
        try Store.salvage(url.path, to: target.path, model: managedObjectModel, progress: progress)
    }
}
