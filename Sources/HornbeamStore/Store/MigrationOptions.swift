package import HornbeamModel

/// Determines whether and how a store of another model is migrated at its opening.
package struct MigrationOptions: Sendable {
    /// True infers the mapping; false refuses a store that needs a mapping.
    package var infersMapping = true
    /// The versions of the model up to the current one, the oldest first; empty for a migration in one step.
    package var versions: [ManagedObjectModel] = []
    /// The steps from one version to the next that need code or a mapping.
    package var stages: [MigrationStep] = []
    /// The names of the versions, for messages, by checksum.
    package var versionNames: [String: String] = [:]
    /// The folder for a copy of the store, made before the migration changes it.
    package var backupDirectory: String?
    /// True refuses a migration after which values break limits, patterns or rules of the new model.
    package var checksValues = false
    /// Receives the progress. If it throws, the migration ends and the store stays unchanged.
    package var progress: (@Sendable (StoreProgress) throws -> Void)?
    /// The number of rows and entries per transaction before the store switches to the new version.
    package var batchSize = 32_768

    package init() {}

    func stage(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> MigrationStep? {
        stages.first {
            $0.mapping.source.versionChecksum == source.versionChecksum && $0.mapping.destination.versionChecksum == destination.versionChecksum
        }
    }

    /// Sets the versions of a versioned model.
    package mutating func take(_ versions: VersionedModel) {
        self.versions = versions.versions
        versionNames = Dictionary(zip(versions.versions.map(\.versionChecksum), versions.names), uniquingKeysWith: { first, _ in first })
    }

    /// The name of a version in messages: `version “Shop 2”`, or the checksum of a model without a name.
    func name(of model: ManagedObjectModel) -> String {
        versionNames[model.versionChecksum].map { "version “\($0)”" } ?? model.versionName
    }
}

/// One stage of a migration plan: from a version to the next.
package struct MigrationStep: Sendable {
    package var mapping: MappingModel
    /// A name for errors, progress and history.
    package var label: String?
    /// Changes the objects of the old version, in a store that only the migration sees.
    package var prepare: (@Sendable (Store) throws -> Void)?
    /// Reads a store of the old version and writes one of the new version, which only the migration sees. The last parameter reports the
    /// progress, and throws when the migration is cancelled.
    package var convert: (@Sendable (Store, Store, @escaping @Sendable (StoreProgress) throws -> Void) throws -> Void)?

    package init(_ mapping: MappingModel) { self.mapping = mapping }

    /// True when code writes objects, which requires copies of the trees.
    package var runsCode: Bool { prepare != nil || convert != nil }
}
