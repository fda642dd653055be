public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// Looking after stores: their room, its soundness, copies of them. Most of these read or write much and return when they are
/// done: call them off the main actor. Saves and fetches go on meanwhile. Where `progress` throws, the work ends with that
/// error and has changed nothing.
extension PersistentStoreCoordinator {
    /// How much room a store takes, and what keeps it. Cheap: counts files, reads no page.
    ///
    /// - Throws: `closed` when the store is not of this coordinator; likewise below.
    public func space(of store: PersistentStore) throws -> StoreSpace { try open(store).space() }

    /// Checks everything: each page, each row against its indexes and each index against its rows, relationships against
    /// their inverses. Reads the whole store.
    ///
    /// - Throws: Only what keeps the check from being made; what is wrong with the store is in the report.
    public func check(
        _ store: PersistentStore, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreCheckReport {
        try open(store).check(progress: progress)
    }

    /// Rewrites a store's pages without gaps, and gives back all room that no state needs which somebody still reads.
    ///
    /// Never necessary: saves keep the store's size bounded. Needs as much free room meanwhile as the store's live pages take.
    /// - Throws: `readOnly`; `full`, with nothing lost.
    public func compact(_ store: PersistentStore, progress: ((StoreProgress) throws -> Void)? = nil) throws {
        try open(store).compact(progress: progress)
    }

    /// Copies a store to a new folder while it is in use: the state of one save, not older than the newest at the call.
    ///
    /// Nothing is at the path before the copy is complete, proven and durable. It opens as a store of its own, and IDs
    /// name the same objects in it. Not for stores in memory.
    /// - Throws: `notAStore` when there is something at the path already; `full`.
    @discardableResult
    public func backUp(
        _ store: PersistentStore, to url: URL, progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> StoreBackupReport {
        try open(store).backup(to: url.path, progress: progress)
    }

    /// What is missing because a store was opened at an older state, in words; nil when nothing is.
    public func openingLoss(of store: PersistentStore) throws -> String? { try open(store).openingLoss }

    /// Makes a new store of everything that can be read of a damaged one, which stays as it is, and lists what is lost.
    ///
    /// IDs go on to name the same objects. Indexes are built anew; references to lost objects become null. Try
    /// `PersistentStoreDescription.startingPoint` first if an older state will do.
    ///
    /// ```swift
    /// let report = try PersistentStoreCoordinator.salvageStore(at: damaged, to: rescued)
    /// print(report)
    /// ```
    /// - Parameters:
    ///   - url: The damaged store.
    ///   - target: The place of the new store; nothing may be there.
    ///   - managedObjectModel: Needed only where the model inside the store cannot be read.
    ///   - progress: Called now and then; an error that it throws ends the salvage.
    /// - Throws: `damaged` when there is nothing to start from; `notAStore` when something is at the target's path; `full`.
    public static func salvageStore(
        at url: URL, to target: URL, managedObjectModel: ManagedObjectModel? = nil,
        progress: ((StoreProgress) throws -> Void)? = nil
    ) throws -> SalvageReport {
        try Store.salvage(url.path, to: target.path, model: managedObjectModel, progress: progress)
    }
}
