/// A custom store whose rows Hornbeam migrates by the plan of the container, also with mappings and code.
///
/// The store keeps the model of its rows. If it differs from the model of the container, the store passes all rows to `StoreRowMigration` and replaces
/// them with the result, in one transaction.
public protocol MigratingStore: CustomStore {
    /// Called once instead of `open(_:)`.
    ///
    /// - Parameter migration: Migrates rows; nil if the description forbids migrations.
    func open(_ model: ManagedObjectModel, migrating migration: StoreRowMigration?) throws
}

/// Migrates the rows of a custom store to the model of its container.
public struct StoreRowMigration: Sendable {
    private let findsStages: @Sendable (ManagedObjectModel) throws -> Bool
    private let migrate: @Sendable ([CustomStoreRow], UInt64, ManagedObjectModel) throws -> [CustomStoreRow]

    package init(
        findsStages: @escaping @Sendable (ManagedObjectModel) throws -> Bool,
        migrate: @escaping @Sendable ([CustomStoreRow], UInt64, ManagedObjectModel) throws -> [CustomStoreRow]
    ) {
        self.findsStages = findsStages
        self.migrate = migrate
    }

    /// True if the plan of the container has a stage between a version and the current one.
    ///
    /// - Throws: `modelReferenceNotFound` for an unknown version; `stagedMigrationBackwards` for a newer one; `inferredMappingFailed` if a step without a
    ///   stage cannot be inferred.
    public func hasStages(from old: ManagedObjectModel) throws -> Bool { try findsStages(old) }

    /// All rows of the new version, each with all its members. Objects that remain keep their keys. The rows are in memory during the call.
    ///
    /// - Parameters:
    ///   - rows: All rows of the old version, with members.
    ///   - lastKey: The highest key that was used. New objects get higher keys.
    /// - Throws: The errors of the migration of Hornbeam's own stores; those of the code of stages.
    public func rows(_ rows: [CustomStoreRow], lastKey: UInt64, from old: ManagedObjectModel) throws -> [CustomStoreRow] {
        try migrate(rows, lastKey, old)
    }
}
