public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// Returns the object whose unique attribute has a value, or inserts a new one.
    ///
    /// ```swift
    /// let user = try context.upsert(User.self, where: User.mail, is: "ada@example.org")
    /// user.name = "Ada"
    /// ```
    /// If another context saves such an object first, the save of this context merges both under every merge policy: the
    /// new object gets the ID of the stored one, and changes only the properties that were set on it (MRG-8).
    ///
    /// - Throws: `unsupportedRequest` if the attribute has no uniqueness constraint in the model; the store's error.
    public func upsert<Object: ManagedObject, Value: AttributeValue>(
        _ type: Object.Type, where attribute: Attribute<Value>, is value: Value
    ) throws -> Object {
        try upsert(type, [attribute.name: value.propertyValue])
    }

    /// Returns the object whose unique property has a value, or inserts a new one: `upsert(User.self, where: \.mail, is: "ada@example.org")`.
    ///
    /// - Throws: The errors of the form with a token.
    public func upsert<Object: ManagedObject, Value: AttributeValue>(
        _ type: Object.Type, where path: KeyPath<FetchPath<Object>, FetchPath<Value>>, is value: Value
    ) throws -> Object {
        try upsert(type, [path.format(): value.propertyValue])
    }

    /// Returns the object with the values of a uniqueness constraint over several properties, or inserts a new one.
    ///
    /// ```swift
    /// let book = try context.upsert(Book.self) { $0.title == "Frankenstein" && $0.author == shelley }
    /// ```
    /// - Parameters:
    ///   - type: The class of the object.
    ///   - condition: Comparisons with `==`, joined by `&&`: one for each property of the constraint.
    /// - Throws: The errors of the form with a token; `unsupportedRequest` for another condition.
    public func upsert<Object: ManagedObject>(
        _ type: Object.Type, where condition: (FetchPath<Object>) -> FetchPredicate
    ) throws -> Object {
        guard let values = condition(.root).equalValues else {
            throw HornbeamError(
                .unsupportedRequest,
                "An upsert looks up the values of a uniqueness constraint: compare each of its properties with == once, and join the "
                    + "comparisons with &&.",
                entity: type.entityName)
        }
        return try upsert(type, values)
    }

    private func upsert<Object: ManagedObject>(_ type: Object.Type, _ values: [String: PropertyValue]) throws -> Object {
        let entity = persistentStoreCoordinator.binding.entity(of: type)?.name ?? type.entityName
        let object = try upsert(entityNamed: entity, values)
        guard let typed = object as? Object else {
            throw HornbeamError(
                .unboundClass,
                "The \(entity) with these values is of class \(Swift.type(of: object)), not \(Object.self).", entity: entity)
        }
        return typed
    }

    /// Returns the object with the values of a uniqueness constraint of the entity or of a superentity, by names, or inserts a new one.
    ///
    /// - Throws: `unknownEntity`; `unknownKey`; `typeMismatch`; `unsupportedRequest` if no constraint has exactly these keys;
    ///   the store's error.
    public func upsert(entityNamed name: String, _ values: [String: PropertyValue]) throws -> ManagedObject {
        guard let entity = persistentStoreCoordinator.managedObjectModel.entitiesByName[name] else { throw unknownEntity(name) }
        var wanted: [(PropertyDescription, PropertyValue)] = []
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            let property = try entity.property(named: key)
            wanted.append((property, try property.coerced(value)))
        }
        try requireConstraint(of: entity, on: Set(values.keys))
        if let object = try object(of: entity, with: wanted) { return object }
        let object = try insert(entityNamed: name)
        for (property, value) in wanted {
            if property.isToOne, case .objectID(let id) = value {
                object.setDestination(self.object(with: id), of: property)
            } else {
                object.assign(value, to: property)
            }
        }
        tracker.upserted.insert(ObjectIdentifier(object))
        return object
    }

    /// - Throws: `unsupportedRequest` when no uniqueness constraint of the entity has these keys.
    func requireConstraint(of entity: EntityDescription, on keys: Set<String>) throws {
        guard !entity.hasConstraint(on: keys) else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "\(entity.name) has no uniqueness constraint on \(keys.sorted().joined(separator: ", ")), which an upsert "
                + "requires. Declare one, or fetch and insert.",
            entity: entity.name)
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
    func hasConstraint(on keys: Set<String>) -> Bool {
        uniquenessConstraints.contains { Set($0.elements.map(\.description)) == keys }
    }
}

extension FetchPredicate {
    /// The values that the predicate requires, by name; nil if it contains anything except equality.
    fileprivate var equalValues: [String: PropertyValue]? {
        let nodes = if case .and(let nodes) = node { nodes } else { [node] }
        var values: [String: PropertyValue] = [:]
        for node in nodes {
            guard case .comparison(let comparison) = node, comparison.comparator == .equal, comparison.modifier == .direct,
                comparison.options.isEmpty, let name = FetchExpression(node: comparison.left).plainPath,
                !name.contains("."), case .constant(let value) = comparison.right, values.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return values
    }
}
