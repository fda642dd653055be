package import HornbeamModel

/// The conflicts for which a save was refused: rows changed meanwhile, or unique values that already exist. The save wrote nothing.
///
/// Version conflicts are reported alone; constraints are checked only when all versions agree (SAV-10).
package struct SaveConflicts: Error, Sendable {
    package var versions: [VersionConflict] = []
    package var uniques: [UniqueConflict] = []

    package var isEmpty: Bool { versions.isEmpty && uniques.isEmpty }
}

/// A row whose version differs from the expected one.
package struct VersionConflict: Sendable {
    package var reference: ObjectReference
    package var objectID: ManagedObjectID
    package var expectedVersion: UInt32
    /// 0 when the row is deleted.
    package var storedVersion: UInt32
    /// Indexed by property index; nil when the row is deleted.
    package var storedValues: [PropertyValue]?

    package init(
        reference: ObjectReference, objectID: ManagedObjectID, expectedVersion: UInt32, storedVersion: UInt32,
        storedValues: [PropertyValue]?
    ) {
        self.reference = reference
        self.objectID = objectID
        self.expectedVersion = expectedVersion
        self.storedVersion = storedVersion
        self.storedValues = storedValues
    }
}

/// A unique value that several objects would have after the save.
package struct UniqueConflict: Sendable {
    /// The entity that declares the constraint.
    package var entity: EntityDescription
    package var properties: [PropertyDescription]
    package var values: [PropertyValue]
    /// The objects of the save with these values, in the order of the change set.
    package var objects: [ObjectReference]
    /// The IDs of `objects`, in the same order; empty in a batch insert, because its rows have no IDs yet.
    package var objectIDs: [ManagedObjectID]
    /// The row of a batch insert with these values, counted from 1.
    package var row: Int?
    /// The stored object with the values; nil when only objects of this save conflict.
    package var existing: ObjectReference?
    package var existingID: ManagedObjectID?
    package var existingVersion: UInt32 = 0
    package var existingValues: [PropertyValue]?
}

extension SaveConflicts {
    /// The error of a context without a merge policy: 133020 for changed rows, 133021 for unique values.
    package var error: HornbeamError { error { $0 } }

    /// - Parameter named: Maps an object's ID to the ID that the error contains.
    package func error(named: (ManagedObjectID) -> ManagedObjectID) -> HornbeamError {
        let details = versions.map { $0.error(named) } + uniques.map { $0.error(named) }
        assert(!isEmpty, "A refused save has a conflict.")
        if details.count == 1 { return details[0] }
        let code: HornbeamError.Code = versions.isEmpty ? .constraintConflict : .mergeConflict
        let what = versions.isEmpty
            ? "\(uniques.count) values that must be unique are taken"
            : "\(versions.count) objects were changed or deleted in the store since they were read"
        return HornbeamError(
            code, "The save was refused: \(what). See the details.",
            objectIDs: details.flatMap(\.objectIDs), details: details)
    }
}

extension VersionConflict {
    fileprivate func error(_ named: (ManagedObjectID) -> ManagedObjectID) -> HornbeamError {
        let id = named(objectID)
        let what = storedVersion == 0
            ? "was deleted in the store since it was read (version \(expectedVersion) was expected)"
            : "was changed in the store since it was read (version \(expectedVersion) was expected, \(storedVersion) is stored)"
        return HornbeamError(
            .mergeConflict,
            "\(id.shortName) \(what).", entity: id.entityName, objectIDs: [id])
    }
}

extension UniqueConflict {
    fileprivate func error(_ named: (ManagedObjectID) -> ManagedObjectID) -> HornbeamError {
        let ids = objectIDs.map(named)
        let names = properties.map(\.name).joined(separator: ", ")
        return HornbeamError(
            .constraintConflict,
            "“\(names)” of \(entity.name) must be unique, and \(parties(ids)) the same value. "
                + "Give it another value.",
            entity: entity.name, key: properties.first?.name, value: values.first,
            objectIDs: ids.isEmpty ? existingID.map { [$0] } ?? [] : ids)
    }

    /// The subject and verb of the message, such as “Tag/t5 and Tag/p2 have” or “row 17 of the batch and Tag/p2 have”.
    private func parties(_ ids: [ManagedObjectID]) -> String {
        let most = 3
        var names = row.map { ["row \($0) of the batch"] } ?? ids.prefix(most).map(\.shortName)
        if ids.count > most { names.append("\(ids.count - most) more") }
        if let existingID { names.append("the stored \(existingID.shortName)") }
        let last = names.removeLast()
        return names.isEmpty ? "\(last) has" : "\(names.joined(separator: ", ")) and \(last) have"
    }
}

extension ManagedObjectID {
    /// `Book/p12`: the end of the URI, which identifies an object within a store. Contains no user data.
    package var shortName: String {
        // The top bit marks a temporary reference and is not part of its number.
        "\(entityName)/\(isTemporaryID ? "t" : "p")\(reference & ~(1 << 63))"
    }
}
