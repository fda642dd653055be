package import HornbeamModel

/// Why a save was refused: rows changed meanwhile, or values that must be unique exist already. Nothing was written.
///
/// Version conflicts are reported alone; constraints are checked once all versions agree (SAV-10).
package struct SaveConflicts: Error, Sendable {
    package var versions: [VersionConflict] = []
    package var uniques: [UniqueConflict] = []
    /// The IDs of the objects concerned, in the same order.
    package var objectIDs: [ManagedObjectID] = []

    package var isEmpty: Bool { versions.isEmpty && uniques.isEmpty }
}

/// A row that is not as the save expected it to be.
package struct VersionConflict: Sendable {
    package var reference: ObjectReference
    package var expectedVersion: UInt32
    /// 0 when the row is gone.
    package var storedVersion: UInt32
    /// By property index; nil when the row is gone.
    package var storedValues: [PropertyValue]?

    package init(
        reference: ObjectReference, expectedVersion: UInt32, storedVersion: UInt32, storedValues: [PropertyValue]?
    ) {
        self.reference = reference
        self.expectedVersion = expectedVersion
        self.storedVersion = storedVersion
        self.storedValues = storedValues
    }
}

/// A value that must be unique and that several objects want.
package struct UniqueConflict: Sendable {
    /// The entity that declares the constraint.
    package var entity: EntityDescription
    package var properties: [PropertyDescription]
    package var values: [PropertyValue]
    /// The objects of the save that want the values, in the order in which it names them.
    package var objects: [ObjectReference]
    /// The stored object that has them; nil when only objects of this save collide.
    package var existing: ObjectReference?
    package var existingVersion: UInt32 = 0
    package var existingValues: [PropertyValue]?
}

extension SaveConflicts {
    /// What a context without a merge policy throws: 133020 for changed rows, 133021 for values that are taken.
    package var error: HornbeamError {
        let details = versions.map(\.error) + uniques.map(\.error)
        if details.count == 1 {
            var error = details[0]
            error.objectIDs = objectIDs
            return error
        }
        let code: HornbeamError.Code = versions.isEmpty ? .constraintConflict : .mergeConflict
        let what = versions.isEmpty
            ? "\(uniques.count) values that must be unique are taken"
            : "\(versions.count) objects were changed or deleted in the store since they were read"
        return HornbeamError(
            code, "The save was refused: \(what). See the details.",
            objectIDs: objectIDs, details: details)
    }
}

extension VersionConflict {
    fileprivate var error: HornbeamError {
        let what = storedVersion == 0
            ? "was deleted in the store since it was read (version \(expectedVersion) was expected)"
            : "was changed in the store since it was read (version \(expectedVersion) was expected, \(storedVersion) is stored)"
        return HornbeamError(
            .mergeConflict,
            "The object with key \(reference.key) \(what).")
    }
}

extension UniqueConflict {
    fileprivate var error: HornbeamError {
        let names = properties.map(\.name).joined(separator: ", ")
        let who = existing == nil
            ? "\(objects.count) objects of this save have the same value"
            : "another object has the same value"
        return HornbeamError(
            .constraintConflict,
            "“\(names)” of \(entity.name) must be unique, and \(who). Give it another value.",
            entity: entity.name, key: properties.first?.name, value: values.first)
    }
}
