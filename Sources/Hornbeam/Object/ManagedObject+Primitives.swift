public import HornbeamModel
internal import HornbeamStore

// Primitive values (OBJ-8): access without undo and inverses. Such a change does not make `willSave` run again.

extension ManagedObject {
    /// The value in the object or in its row. Fires no fault and calls no hook (OBJ-8).
    public final func primitiveValue<Value: AttributeValue>(_ token: Attribute<Value>) -> Value {
        let property = scope.property(token.nameID)
        return decoded(primitive(of: property), of: property)
    }

    /// The value by name. A to-one relationship is an ID, a to-many relationship a set or array of IDs (OBJ-8).
    ///
    /// - Throws: `unknownKey`.
    public final func primitiveValue(forKey key: String) throws -> PropertyValue {
        primitive(of: try entity.property(named: key))
    }

    /// Sets a value without marking the object as changed (OBJ-8).
    ///
    /// In `awakeFromInsert`, it sets an initial value. In `willSave`, the value becomes part of the running save. Elsewhere,
    /// the next save writes it if the object has other changes. Fires a fault.
    public final func setPrimitiveValue<Value: AttributeValue>(_ value: Value, _ token: Attribute<Value>) {
        setPrimitive(value.propertyValue, of: scope.property(token.nameID))
    }

    /// Sets a primitive value by name. The value of a to-one relationship is an ID, and the inverse does not change (OBJ-8).
    ///
    /// - Throws: `unknownKey`; `typeMismatch` for a value of the wrong type, and for to-many relationships; `objectNotFound`
    ///   if the object is detached.
    public final func setPrimitiveValue(_ value: PropertyValue, forKey key: String) throws {
        let property = try entity.property(named: key)
        try requireContext()
        guard !property.isToMany else {
            throw HornbeamError(
                .typeMismatch, "“\(entity.name).\(key)” is a to-many relationship, which has no primitive value to set. Change its members instead.",
                entity: entity.name, key: key)
        }
        setPrimitive(try property.coerced(value), of: property)
    }

    private func primitive(of property: PropertyDescription) -> PropertyValue {
        if property.isToMany { return collectionValue(members(of: property), of: property) }
        if let record, record.held.contains(property.index) { return record.values[property.index] }
        if let row = record?.frozenRow { return row.values[property.index] }
        guard isReadable, !property.isTransient else { return .null }
        if let parentObject { return parentObject.primitive(of: property) }
        do {
            var place = hint
            let value = try scope.readingSnapshot().value(of: property, scope.entity, key, &place)
            hint = place
            return value ?? .null
        } catch {
            markFailed(error)
            return .null
        }
    }

    private func setPrimitive(_ value: PropertyValue, of property: PropertyDescription) {
        guard !isDetached else { return }
        let index = property.index
        let old = currentValue(of: property)
        let record = writableRecord()
        record.hold(value, at: index)
        unsafe scope.livingContext?.tracker.objects.views.forget()
        // A child context sees the change.
        unsafe scope.livingContext?.tracker.countEdit()
        guard !state.contains(.silent) else { return }
        if !record.changed.contains(index), !isInserted { record.originals[index] = old }
        if !isInserted, record.originals[index] == value {
            revert(property, in: record)
        } else {
            record.changed.insert(index)
        }
    }
}
