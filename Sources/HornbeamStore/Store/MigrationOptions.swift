package import HornbeamModel

/// Whether and how a store of another model is migrated when it is opened.
package struct MigrationOptions: Sendable {
    /// True when the mapping may be inferred; false leaves a store that needs one as it is.
    package var infersMapping = true
    /// The versions that lead to the model, the oldest first; empty to go there in one step.
    package var versions: [ManagedObjectModel] = []
    /// How to go from one of the versions to the next, where that does not follow from them.
    package var stages: [MigrationStep] = []
    /// The names of the versions, for messages, by checksum.
    package var versionNames: [String: String] = [:]
    /// Where a copy of the store is put before anything changes.
    package var backupDirectory: String?
    /// Told how far the migration is; what it throws ends the migration and leaves the store as it was.
    package var progress: (@Sendable (StoreProgress) throws -> Void)?
    /// Rows and entries that one transaction writes before the store switches to the new version.
    package var batchSize = 32_768

    package init() {}

    func stage(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> MigrationStep? {
        stages.first {
            $0.mapping.source.versionChecksum == source.versionChecksum && $0.mapping.destination.versionChecksum == destination.versionChecksum
        }
    }

    /// Takes the versions that lead to the current one.
    package mutating func take(_ versions: VersionedModel) {
        self.versions = versions.versions
        versionNames = Dictionary(zip(versions.versions.map(\.versionChecksum), versions.names), uniquingKeysWith: { first, _ in first })
    }

    /// What messages call a version: `version “Shop 2”`, or the checksum of a model that has no name.
    func name(of model: ManagedObjectModel) -> String {
        versionNames[model.versionChecksum].map { "version “\($0)”" } ?? model.versionName
    }
}

/// One stage of a migration plan: from a version to the next.
package struct MigrationStep: Sendable {
    package var mapping: MappingModel
    /// A name for errors, progress and history.
    package var label: String?
    /// Changes the objects of the old version, in a store that nobody else sees.
    package var prepare: (@Sendable (Store) throws -> Void)?
    /// Reads the old version and writes the new one, which nobody else sees. The last parameter takes the progress, and throws when the
    /// migration is cancelled.
    package var convert: (@Sendable (Store, Store, @escaping @Sendable (StoreProgress) throws -> Void) throws -> Void)?

    package init(_ mapping: MappingModel) { self.mapping = mapping }

    /// True when code writes objects, which takes trees of their own.
    package var runsCode: Bool { prepare != nil || convert != nil }
}
