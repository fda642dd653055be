internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

extension StoredSchema {
    /// The schema with which the store is opened; this schema when no model is given.
    ///
    /// Differences outside the version hashes are allowed: class names, defaults, validation, delete rules, notes. Fetch indexes may
    /// differ too: a migration builds new ones and drops removed ones. All other differences are a mismatch.
    func reconciled(
        with given: ManagedObjectModel?, in engine: Engine, _ options: Store.Options, _ location: Store.Location
    ) throws -> StoredSchema {
        guard let given, given !== model else { return self }
        if try given.isStored(as: modelBytes) { return StoredSchema(catalogue: catalogue, model: given, modelBytes: modelBytes) }
        let wanted = Catalogue(model: given)
        let differences = try differences(to: given, wanted)
        if !options.readOnly, options.migration != nil || differences.isEmpty {
            // Without migration options, only fetch indexes are built and dropped.
            let migration = StoreMigration(engine: engine, location: location, options: options, settings: options.migration ?? MigrationOptions())
            if let migrated = try migration.run(self, to: given, isRequired: !differences.isEmpty) {
                if migrated.model === given { return migrated }
                var rest = options
                rest.migration = nil
                return try migrated.reconciled(with: given, in: engine, rest, location)
            }
        }
        guard differences.isEmpty else { throw Self.mismatch(differences, location) }
        let result = StoredSchema(catalogue: catalogue, model: given, modelBytes: try given.encoded())
        if options.readOnly { return result }
        let transaction = try engine.begin()
        try result.write(to: transaction)
        _ = try transaction.commit(.full)
        return result
    }

    private static func mismatch(_ differences: [String], _ location: Store.Location) -> HornbeamError {
        HornbeamError(
            .modelMismatch,
            "“\(location)” was made with another model: \(differences.joined(separator: "; ")). "
                + "Open it with the model it was made with, or migrate it.")
    }
}
