public import Foundation
public import HornbeamModel

/// Options of an import: when it saves, how it treats rows that it cannot import, and which objects it deletes at the end.
public struct ImportOptions {
    /// When an import saves.
    public enum Saving: Hashable, Sendable {
        /// Once, at its end: all or nothing. After an error, the context has no changes.
        case once
        /// Each time after this number of rows, which limits memory. After an error, the rows saved so far stay, and the context has no changes.
        case every(Int)
        /// Never: the caller saves. After an error, the changes so far remain in the context.
        case byCaller
    }

    /// The effect of a row that cannot be imported.
    public enum Refusal: Hashable, Sendable {
        /// Ends the import with the row's error.
        case stop
        /// Changes nothing, reports the row and continues.
        case skip
    }

    /// When the import saves. `once` and `every` need a context without changes.
    public var saving = Saving.once
    /// The effect of a row that cannot be imported.
    public var onRefusal = Refusal.stop
    /// The number of refused rows whose errors the report keeps; all are counted.
    public var refusedRowsMax = 1000
    /// Deletes the objects of a scope that no row named; nil deletes nothing.
    public var cleaning: ImportCleaning?
    /// Receives the progress: rows if their number is known, else bytes of the file. Cancelling it ends the import with `CancellationError`.
    public var progress: Progress?

    /// Options of an import.
    public init(
        saving: Saving = .once, onRefusal: Refusal = .stop, cleaning: ImportCleaning? = nil, progress: Progress? = nil
    ) {
        self.saving = saving
        self.onRefusal = onRefusal
        self.cleaning = cleaning
        self.progress = progress
    }
}

/// The deletion of the objects that no row of an import named (SEED-5).
///
/// It happens after the last row. Objects whose rows were refused are kept. If a row was refused before its object was known, nothing is deleted.
public struct ImportCleaning {
    /// The objects that may be deleted.
    public enum Scope {
        /// All objects of the class; with an owner, its members.
        case all
        /// The objects that satisfy a predicate; with an owner, those of its members.
        case matching(FetchPredicate)
    }

    /// The objects that may be deleted.
    public var scope: Scope
    /// True to report the objects and delete none.
    public var isDryRun: Bool
    /// Called before the deletion with the objects to delete; false stops it, and the rows are imported nevertheless. An error ends the import.
    public var allows: ([ManagedObjectID]) throws -> Bool

    /// A deletion after an import.
    public init(
        _ scope: Scope = .all, isDryRun: Bool = false, allows: @escaping ([ManagedObjectID]) throws -> Bool = { _ in true }
    ) {
        self.scope = scope
        self.isDryRun = isDryRun
        self.allows = allows
    }
}

/// The result of an import.
public struct ImportReport: Sendable {
    /// The number of rows that made a new object.
    public var inserted = 0
    /// The number of rows that changed an object.
    public var updated = 0
    /// The number of rows whose object had these values already.
    public var unchanged = 0
    /// The number of objects that related rows made.
    public var relatedInserted = 0
    /// The number of objects that related rows changed.
    public var relatedUpdated = 0
    /// The number of objects that the cleaning deleted.
    public var deleted = 0
    /// The objects that the cleaning deleted, or would have deleted in a dry run or if it had not been stopped.
    public var cleaned: [ManagedObjectID] = []
    /// The outcome of the cleaning.
    public var cleaning = Cleaning.none
    /// The number of rows that were not imported.
    public var refusedCount = 0
    /// The first rows that were not imported, with their errors.
    public var refused: [RefusedRow] = []

    /// A row that was not imported.
    public struct RefusedRow: Sendable {
        /// The position of the row from 1; in a file of lines, the number of the line.
        public var number: Int
        /// The reason.
        public var error: HornbeamError
    }

    /// The outcome of a cleaning.
    public enum Cleaning: Hashable, Sendable {
        /// The import had no cleaning.
        case none
        /// The objects in `cleaned` were deleted.
        case done
        /// A dry run: nothing was deleted.
        case dryRun
        /// The closure of the cleaning refused.
        case stopped
        /// Nothing was deleted, because the object of a refused row is unknown.
        case unsafe
    }

    /// A report of nothing.
    public init() {}

    /// The number of rows read.
    public var rows: Int { inserted + updated + unchanged + refusedCount }
}
