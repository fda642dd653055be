public import HornbeamModel
internal import HornbeamStore

extension ManagedObject {
    /// The object's ID. It is temporary until the object is saved or gets a permanent ID (PSC-11).
    public final var objectID: ManagedObjectID {
        ManagedObjectID(
            origin: state.contains(.temporary) ? scope.shape.temporaryOrigin : scope.origin, reference: key)
    }

    /// The object's reference in the store stack. With a temporary ID, its key is the number of the ID.
    final var reference: ObjectReference { ObjectReference(scope.entity, registryKey) }

    /// The object's key in the registry of its context.
    final var registryKey: UInt64 { key >> 63 == 0 ? key | scope.keyBits : key }

    /// The object's entity.
    public final var entity: EntityDescription { scope.entity }

    /// The context; nil if the object is detached or the context was released (OBJ-19).
    ///
    /// An object is detached after a save of its deletion, after it was deleted or rolled back before its first save, after a reset of its
    /// context, and after the removal of its store. It is also detached if its ID belongs to an unsaved object of another context. It has its last
    /// known values, or zeros after a reset, and no related objects. Setting its properties has no effect, and it cannot be added to
    /// relationships; throwing methods throw `objectNotFound`.
    public final var managedObjectContext: ManagedObjectContext? { unsafe isDetached ? nil : scope.livingContext }

    /// True for an object that was detached from its context, or was never in it.
    final var isDetached: Bool { state.contains(.detached) || state.isSuperset(of: [.temporary, .gone]) }

    /// True until a value is read (MOC-12).
    public final var isFault: Bool { state.contains(.fault) }

    /// True if the next save inserts the object (OBJ-13).
    public final var isInserted: Bool { state.contains(.inserted) }

    /// True if the next save updates the object (OBJ-13).
    public final var isUpdated: Bool { state.contains(.updated) && !isInserted && !isDeleted }

    /// True if the row is deleted and this context changed attributes of the object. The save then has a conflict. Changes through
    /// the other end of a relationship make no conflict.
    final var isChangedAfterRowDeletion: Bool {
        guard state.contains(.gone), state.contains(.updated), let record else { return false }
        return record.changed.contains(where: { index in
            let property = scope.properties[index]
            return property.isAttribute && !property.isTransient && !property.isDerived
        })
    }

    /// True if the next save deletes the object, or another context's save has deleted it (OBJ-13, DEL-7).
    public final var isDeleted: Bool {
        !state.contains(.detached) && !state.isDisjoint(with: [.deleted, .gone])
    }

    /// True if the object is inserted, updated or deleted (OBJ-13).
    public final var hasChanges: Bool { !state.isDisjoint(with: .changes) }

    /// True if reading the object failed. The context's next fetch, count or save throws the error.
    public final var isFailed: Bool { state.contains(.failed) }

    /// True if a persistent value differs from the stored one (OBJ-14).
    public final var hasPersistentChangedValues: Bool {
        guard let record else { return false }
        return record.changedBySetters.contains { !scope.shape.transient.contains($0) }
    }

    /// The properties that setters changed, with their new values. To-many relationships are sets or arrays of IDs (OBJ-10).
    ///
    /// Does not include transient properties, defaults of a new object, and primitive values.
    public final var changedValues: [String: PropertyValue] {
        guard let record else { return [:] }
        return values(of: record.changedBySetters)
    }

    /// The changed properties, like `changedValues`, but only of changes since the context last processed its pending changes (OBJ-11).
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

    /// The values last fetched or saved; `.null` for missing ones. If `keys` is nil, the values of all properties (OBJ-12).
    ///
    /// For a new object, every value is `.null`.
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
