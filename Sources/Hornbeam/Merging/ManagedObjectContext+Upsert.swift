public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// The object whose unique attribute has a value; inserts a new one if there is none.
    ///
    /// ```swift
    /// let user = try context.upsert(User.self, where: User.mail, is: "ada@example.org")
    /// user.name = "Ada"
    /// ```
    /// If another context saves such an object first, this one's save merges both under every merge policy: the
    /// new object gets the stored one's ID, and changes only the properties that were set on it (MRG-8).
    ///
    /// - Throws: `unsupportedRequest` when the attribute is not unique by the model; the store's error.
    public func upsert<Object: ManagedObject, Value: AttributeValue>(
        _ type: Object.Type, where attribute: Attribute<Value>, is value: Value
    ) throws -> Object {
        let entity = persistentStoreCoordinator.binding.entity(of: type)?.name ?? type.entityName
        let object = try upsert(entityNamed: entity, [attribute.name: value.propertyValue])
        guard let typed = object as? Object else {
            throw HornbeamError(
                .unboundClass,
                "The \(entity) with these values is of class \(Swift.type(of: object)), not \(Object.self).", entity: entity)
        }
        return typed
    }

    /// As above, by names; the keys are those of one uniqueness constraint of the entity or of a superentity.
    ///
    /// - Throws: `unknownEntity`, `unknownKey`, `typeMismatch`; `unsupportedRequest` when no constraint has these keys;
    ///   the store's error.
    public func upsert(entityNamed name: String, _ values: [String: PropertyValue]) throws -> ManagedObject {
        guard let entity = persistentStoreCoordinator.managedObjectModel.entitiesByName[name] else { throw unknownEntity(name) }
        var wanted: [(PropertyDescription, PropertyValue)] = []
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            let property = try entity.property(named: key)
            wanted.append((property, try property.coerced(value)))
        }
        guard entity.hasConstraint(on: Set(values.keys)) else {
            throw HornbeamError(
                .unsupportedRequest,
                "\(name) has no uniqueness constraint on \(values.keys.sorted().joined(separator: ", ")), which an upsert "
                    + "goes by. Declare one, or fetch and insert.",
                entity: name)
        }
        if let object = try object(of: entity, with: wanted) { return object }
        let object = try insert(entityNamed: name)
        for (property, value) in wanted { object.assign(value, to: property) }
        tracker.upserted.insert(ObjectIdentifier(object))
        return object
    }

    private func object(
        of entity: EntityDescription, with values: [(PropertyDescription, PropertyValue)]
    ) throws -> ManagedObject? {
        if values.contains(where: \.1.isNull) { return nil }
        let predicate = FetchPredicate.all(
            try values.map { try FetchPredicate(format: "%K == %@", $0.0.name, $0.1) })
        var request = FetchDescription(entityName: entity.name, predicate: predicate)
        request.fetchLimit = 1
        return try find(request).first.map(object)
    }
}

extension EntityDescription {
    fileprivate func hasConstraint(on keys: Set<String>) -> Bool {
        uniquenessConstraints.contains { Set($0.elements.map(\.description)) == keys }
    }
}
