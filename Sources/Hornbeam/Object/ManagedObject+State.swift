public import HornbeamModel
internal import HornbeamStore

extension ManagedObject {
    /// The object's identity; temporary until it is saved or gets a permanent one (PSC-11).
    public final var objectID: ManagedObjectID {
        ManagedObjectID(
            origin: state.contains(.temporary) ? scope.shape.temporaryOrigin : scope.origin, reference: key)
    }

    /// The row among those of all stores; of a temporary ID just its number.
    final var reference: ObjectReference { ObjectReference(scope.entity, registryKey) }

    /// The key by which the context knows the object.
    final var registryKey: UInt64 { key >> 63 == 0 ? key | scope.keyBits : key }

    /// The object's entity.
    public final var entity: EntityDescription { scope.entity }

    /// The context; nil once the object is detached, and when the context is gone (OBJ-19).
    ///
    /// An object is detached when its deletion was saved, when it was deleted or rolled back before it was ever saved, when the context
    /// was reset, when its store was removed, and where its ID is of an unsaved object of another context. It shows its last known
    /// values, or zeros after a reset, and has no related objects. Setting a property of it changes nothing, and no relationship takes
    /// it; calls that can throw throw `objectNotFound`.
    public final var managedObjectContext: ManagedObjectContext? { isDetached ? nil : scope.livingContext }

    /// True for an object that left its context, or never was in it.
    final var isDetached: Bool { state.contains(.detached) || state.isSuperset(of: [.temporary, .gone]) }

    /// True while no value was read (MOC-12).
    public final var isFault: Bool { state.contains(.fault) }

    /// True when the next save writes the object for the first time (OBJ-13).
    public final var isInserted: Bool { state.contains(.inserted) }

    /// True when the next save writes changes of an object that the store has (OBJ-13).
    public final var isUpdated: Bool { state.contains(.updated) && !isInserted && !isDeleted }

    /// True when attributes were changed after the row was known to be gone: a conflict for the save. What the other end of a
    /// relationship changed here is none.
    final var isChangedThoughGone: Bool {
        guard state.contains(.gone), state.contains(.updated), let record else { return false }
        return record.changed.contains(where: { index in
            let property = scope.properties[index]
            return property.isAttribute && !property.isTransient && !property.isDerived
        })
    }

    /// True when the next save deletes the object, or another context's save did (OBJ-13, DEL-7).
    public final var isDeleted: Bool {
        !state.contains(.detached) && !state.isDisjoint(with: [.deleted, .gone])
    }

    /// True when the object is inserted, updated or deleted (OBJ-13).
    public final var hasChanges: Bool { !state.isDisjoint(with: .changes) }

    /// True when reading the object failed; `save()` throws the reason.
    public final var isFailed: Bool { state.contains(.failed) }

    /// True when a value to be stored differs from the stored one (OBJ-14).
    public final var hasPersistentChangedValues: Bool {
        guard let record else { return false }
        return record.changedBySetters.contains { !scope.shape.transient.contains($0) }
    }

    /// The properties that setters changed, with their new values; to-many relationships as sets or arrays of IDs (OBJ-10).
    ///
    /// Left out are transient properties, what a new object has by default, and primitive values.
    public final var changedValues: [String: PropertyValue] {
        guard let record else { return [:] }
        return values(of: record.changedBySetters)
    }

    /// As `changedValues`, for the changes since the context last processed them: new values (OBJ-11).
    public final var changedValuesForCurrentEvent: [String: PropertyValue] {
        guard let record else { return [:] }
        return values(of: record.changedInEvent)
    }

    private func values(of changed: PropertySet) -> [String: PropertyValue] {
        var result: [String: PropertyValue] = [:]
        for index in changed {
            let property = scope.properties[index]
            if !property.isTransient { result[property.name] = propertyValue(of: property) }
        }
        return result
    }

    /// The values last fetched or saved, `.null` for none; of all properties when `keys` is nil (OBJ-12).
    ///
    /// A new object has none and answers its current values' absence: `.null` for each key.
    public final func committedValues(forKeys keys: [String]? = nil) -> [String: PropertyValue] {
        var result: [String: PropertyValue] = [:]
        for property in scope.properties where keys?.contains(property.name) ?? true {
            result[property.name] = committedValue(of: property)
        }
        return result
    }

    private func committedValue(of property: PropertyDescription) -> PropertyValue {
        if property.isToMany { return collectionValue(storedMembers(of: property), of: property) }
        if let original = record?.originals[property.index] { return original }
        return isInserted ? .null : storedValue(of: property)
    }
}
