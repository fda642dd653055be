extension PropertyDescription {
    /// All errors of a value of this attribute; empty for a valid value (ATT-3, ATT-5 … ATT-8).
    ///
    /// For a value of the wrong type, only the type is reported. `error(forCount:)` checks relationships.
    package func errors(for value: PropertyValue) -> [HornbeamError] {
        rules?.errors(for: value) { place } ?? []
    }

    /// Validates a value of this attribute as a save does (VAL-1).
    ///
    /// - Throws: `HornbeamError`; code `multipleErrors` when the value violates several rules.
    public func validate(_ value: PropertyValue) throws {
        if let error = HornbeamError.combining(errors(for: value)) { throw error }
    }

    /// The value converted to the attribute's type, elements of a composite included.
    ///
    /// - Throws: `HornbeamError` with code `typeMismatch`, `numberTooLarge`, `numberTooSmall` or, for an
    ///   element that the composite does not have, `unknownKey`.
    package func coerced(_ value: PropertyValue) throws -> PropertyValue {
        guard let rules else { return try value.coerced(to: .objectID, entity: entity.name, key: name) }
        return rules.storesUnconverted(value) ? value : try rules.coerced(value, entity: entity.name, key: name)
    }

    /// The value of a stored composite without the elements that were removed from the model.
    package func withoutRemovedElements(_ parts: [String: PropertyValue]) -> [String: PropertyValue] { rules?.withoutRemovedElements(parts) ?? parts }

    /// The error for a number of objects in this relationship; nil when the number is valid (REL-2).
    ///
    /// An empty relationship is valid if it is optional, or if it is a to-many without a minimum.
    package func error(forCount count: Int) -> HornbeamError? {
        guard let relationship else { return nil }
        if count == 0 {
            if relationship.isOptional { return nil }
            if !relationship.isToMany { return place.missingValue }
        }
        if count < relationship.minCount {
            return place.failure(
                .tooFewObjects, "has \(counted(count, "object")) and needs at least \(relationship.minCount).", .int(Int64(count)))
        }
        if relationship.isToMany, relationship.maxCount > 0, count > relationship.maxCount {
            return place.failure(
                .tooManyObjects, "has \(counted(count, "object")) and may have at most \(relationship.maxCount).",
                .int(Int64(count)))
        }
        return nil
    }

    /// The error for a deletion that the deny rule of this relationship prevents (REL-6).
    package func denial(count: Int) -> HornbeamError {
        HornbeamError(
            .deleteDenied,
            "The object cannot be deleted while “\(place.name)” leads to \(counted(count, "object")): "
                + "remove or delete them first.",
            entity: entity.name, key: name)
    }

    private var place: ValueLocation {
        let model = entity.managedObjectModel
        return ValueLocation(
            entity: entity.name, key: name,
            name: model.localizedName(ofProperty: name, entity: entity.name) ?? "\(entity.name).\(name)", model: model)
    }
}
