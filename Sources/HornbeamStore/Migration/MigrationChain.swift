internal import HornbeamModel

/// The versions through which a store is migrated (MIG-14), and the checks before the migration.
struct MigrationChain {
    let settings: MigrationOptions
    let location: Store.Location

    init(_ settings: MigrationOptions, _ location: Store.Location) {
        self.settings = settings
        self.location = location
    }

    /// The versions after the store's version, ending with the model.
    ///
    /// - Throws: `modelReferenceNotFound` for a store of an unknown version, `stagedMigrationBackwards` for one of a newer version.
    func versions(
        from stored: ManagedObjectModel, to model: ManagedObjectModel, isRequired: Bool
    ) throws -> [ManagedObjectModel] {
        let checksums = settings.versions.map(\.versionChecksum)
        guard let end = checksums.firstIndex(of: model.versionChecksum) else { return [model] }
        guard let start = checksums.firstIndex(of: stored.versionChecksum) else {
            if !isRequired { return [model] }
            throw HornbeamError(
                .modelReferenceNotFound,
                "“\(location)” was made with \(settings.name(of: stored)), which is none of the \(checksums.count) versions that this app "
                    + "knows; the current one of these is \(settings.name(of: model)). Open it with a newer version of the app, or for reading with "
                    + "its own stored model.")
        }
        guard start <= end else { throw backwards(stored, model) }
        return settings.versions[min(start + 1, end) ..< end] + [model]
    }

    /// Infers the mapping of each step before the first one is executed, so that a migration does not stop in the middle for lack of code.
    ///
    /// - Throws: `inferredMappingFailed` with the obstacles of all steps.
    func checkInference(from stored: ManagedObjectModel, over versions: [ManagedObjectModel]) throws {
        guard versions.count > 1 else { return }
        var problems: [any Error] = []
        for (source, destination) in zip([stored] + versions, versions) where settings.stage(from: source, to: destination) == nil {
            do { _ = try MappingModel.inferred(from: source, to: destination) } catch { problems.append(error) }
        }
        if !problems.isEmpty { throw refusal(problems, stored, versions[versions.count - 1]) }
    }

    /// Refuses a model that the store had before: an older version of the app must not remove data that a newer one has added.
    func checkDirection(_ stored: StoredSchema, _ model: ManagedObjectModel) throws {
        if model.precedesExchangedNames(of: stored.model) { throw lacksRenames(stored.model, model) }
        guard model.versionChecksum != stored.model.versionChecksum else { return }
        if stored.catalogue.pastVersions?.contains(model.versionChecksum) == true { throw backwards(stored.model, model) }
    }

    private func backwards(_ stored: ManagedObjectModel, _ model: ManagedObjectModel) -> HornbeamError {
        HornbeamError(
            .stagedMigrationBackwards,
            "“\(location)” is of \(settings.name(of: stored)), which is newer than \(settings.name(of: model)), and is not migrated backwards. Open "
                + "it with the newer model, or for reading with its own stored model.")
    }

    /// The error of a model that has the version hashes of the store's version and lacks its renaming identifiers.
    private func lacksRenames(_ stored: ManagedObjectModel, _ model: ManagedObjectModel) -> HornbeamError {
        let renames = RenamedParts(from: model, to: stored).parts.map { "\($0.subject) was \($0.formerName)" }
        return HornbeamError(
            .stagedMigrationBackwards,
            "“\(location)” is of a version in which parts have exchanged their names (\(renames.joined(separator: ", "))). The model is the version "
                + "before, or it lacks these renaming identifiers. Open the store with a model that has them, or for reading with its own stored model.")
    }

    func refusal(_ errors: [any Error], _ stored: ManagedObjectModel, _ model: ManagedObjectModel) -> HornbeamError {
        HornbeamError(
            .inferredMappingFailed,
            "“\(location)” was made with \(settings.name(of: stored)) and cannot be migrated to \(settings.name(of: model)) without code: each "
                + "obstacle is among the details. The store is unchanged; it can be opened for reading with its own stored model.",
            details: errors.flatMap { ($0 as? HornbeamError)?.details ?? [] })
    }
}
