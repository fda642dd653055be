internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

extension StoredSchema {
    /// The schema with which the store is opened; this schema when no model is given.
    ///
    /// Differences outside the version hashes are allowed: class names, defaults, validation, delete rules, notes. Fetch indexes may
    /// differ too: new ones are built, removed ones are dropped. All other differences are a mismatch.
    func reconciled(
        with given: ManagedObjectModel?, in engine: Engine, _ options: Store.Options, _ location: Store.Location
    ) throws -> StoredSchema {
        guard let given, given !== model else { return self }
        if try given.isStored(as: modelBytes) { return StoredSchema(catalogue: catalogue, model: given, modelBytes: modelBytes) }
        let wanted = Catalogue(model: given)
        let differences = try differences(to: given, wanted)
        if let settings = options.migration, !options.readOnly {
            let migration = StoreMigration(engine: engine, location: location, options: options, settings: settings)
            if let migrated = try migration.run(self, to: given, isRequired: !differences.isEmpty) {
                if migrated.model === given { return migrated }
                var rest = options
                rest.migration = nil
                return try migrated.reconciled(with: given, in: engine, rest, location)
            }
        }
        guard differences.isEmpty else { throw Self.mismatch(differences, location) }
        var result = StoredSchema(catalogue: catalogue, model: given, modelBytes: try given.encoded())
        if options.readOnly { return result }
        try result.replaceFetchIndexes(of: wanted, in: engine)
        return result
    }

    private static func mismatch(_ differences: [String], _ location: Store.Location) -> HornbeamError {
        HornbeamError(
            .modelMismatch,
            "“\(location)” was made with another model: \(differences.joined(separator: "; ")). "
                + "Open it with the model it was made with, or migrate it.")
    }

    /// Drops and builds fetch indexes for the given model, and stores that model, in one commit.
    private mutating func replaceFetchIndexes(of wanted: Catalogue, in engine: Engine) throws {
        let transaction = try engine.begin()
        let kept = catalogue.indexes.filter { old in old.name == nil || wanted.indexes.contains { $0.isSame(as: old) } }
        for old in catalogue.indexes where !kept.contains(old) {
            if let tree = transaction.tree(named: old.tree) { try transaction.drop(tree) }
        }
        var fresh: [Catalogue.StoredIndex] = []
        for var index in wanted.indexes where index.name != nil && !kept.contains(where: { $0.isSame(as: index) }) {
            index.number = catalogue.nextNumber
            catalogue.nextNumber += 1
            _ = try transaction.createIndex(named: index.tree)
            fresh.append(index)
        }
        catalogue.indexes = kept + fresh
        try write(to: transaction)
        let schema = try Schema(catalogue, model: model) { transaction.tree(named: $0) }
        for index in schema.indexes where fresh.contains(where: { $0.number == index.number }) {
            try IndexBuilder.build(index, from: engine.snapshot(), in: transaction, schema: schema)
        }
        _ = try transaction.commit(.full)
    }
}

extension Catalogue.StoredIndex {
    /// True when both indexes have the same definition. Their numbers may differ.
    func isSame(as other: Catalogue.StoredIndex) -> Bool {
        entity == other.entity && name == other.name && elements == other.elements
            && isPolymorphic == other.isPolymorphic && condition == other.condition
    }
}
