public import HornbeamModel

// Access by name, for tools, importers and entities without a class.

extension ManagedObject {
    /// The value of a property: of an attribute its value, of a to-one relationship an ID, of a to-many relationship a set or array of IDs (OBJ-9).
    ///
    /// - Throws: `unknownKey`, with a suggestion if a name is similar; the store's error if the value cannot be read.
    public final func value(forKey key: String) throws -> PropertyValue {
        let property = try entity.property(named: key)
        return try reading { propertyValue(of: property) }
    }

    /// Sets a property by name (OBJ-9). Numbers are converted to the attribute's type.
    /// The value of a to-one relationship is an ID; of a to-many relationship, a set or array of IDs.
    ///
    /// - Throws: `unknownKey`; `typeMismatch` if the value cannot be converted to the attribute's type; `objectNotFound` for
    ///   the ID of an object of another store or context, and if this object is detached or its context is released.
    public final func setValue(_ value: PropertyValue, forKey key: String) throws {
        let property = try entity.property(named: key)
        try requireContext()
        if property.isAttribute {
            assign(try property.coerced(value), to: property)
        } else {
            try setRelationship(value, property)
        }
    }

    /// Sets a property by name to a value of any Swift type that attributes can have.
    ///
    /// - Throws: The errors of `setValue(_:forKey:)`.
    public final func setValue(_ value: some AttributeValue, forKey key: String) throws {
        try setValue(value.propertyValue, forKey: key)
    }

    /// Sets a to-one relationship to an object, by name.
    ///
    /// - Throws: `unknownKey`; `typeMismatch` if the property is not a to-one relationship to the object's entity; `objectNotFound` if one of
    ///   the two objects is detached.
    public final func setValue(_ object: ManagedObject?, forKey key: String) throws {
        let property = try entity.property(named: key)
        guard property.isToOne else { throw wrongKind(property, "an object") }
        try requireContext()
        if let object {
            try checkDestination(object, property)
            if object.isDetached { throw object.withoutContext() }
        }
        setDestination(object, of: property)
    }

    /// The value of a property by name. An unknown name is a programmer error.
    ///
    /// The setter converts values like `setValue(_:forKey:)`, and has no effect on a detached object. The other errors of that method are
    /// programmer errors here: use the methods for names that come from outside the program.
    public final subscript(_ key: String) -> PropertyValue {
        get { propertyValue(of: knownProperty(key)) }
        set {
            if isDetached { return }
            do {
                try setValue(newValue, forKey: key)
            } catch {
                misuse("\(error)")
            }
        }
    }

    /// The destination of a to-one relationship, by name.
    ///
    /// - Throws: `unknownKey`; `typeMismatch` if the property is not a to-one relationship.
    public final func object(forKey key: String) throws -> ManagedObject? {
        let property = try entity.property(named: key)
        guard property.isToOne else { throw wrongKind(property, "an object") }
        return try reading { destination(of: property) }
    }

    /// The objects of a to-many relationship, by name, loaded on access.
    ///
    /// - Throws: `unknownKey`; `typeMismatch` if the property is not a to-many relationship.
    public final func objects(forKey key: String) throws -> ManagedArray<ManagedObject> {
        let property = try entity.property(named: key)
        guard property.isToMany else { throw wrongKind(property, "objects") }
        return ManagedArray(owner: self, property: property)
    }

    /// Changes a to-many relationship by name: `try shelf.changeObjects(forKey: "items") { $0.append(item) }`.
    ///
    /// - Throws: The errors of `objects(forKey:)` and of the body. Then nothing is changed.
    public final func changeObjects<Result>(
        forKey key: String, _ body: (inout ManagedArray<ManagedObject>) throws -> Result
    ) throws -> Result {
        var objects = try objects(forKey: key)
        let result = try body(&objects)
        objects.assign(to: self, try entity.property(named: key))
        return result
    }

    /// The value at a key path. The path can follow to-one relationships, `department.name`, and lead into a composite attribute,
    /// `place.latitude`. Over a to-many relationship, the result is a set or array of all values, or the result of an operator,
    /// `employees.@sum.salary` (OBJ-9, ATT-13).
    ///
    /// - Throws: `unknownKey` for an unknown component of the path; syntax errors of the path.
    public final func value(forKeyPath path: String) throws -> PropertyValue {
        let steps = path.split(separator: ".").map(String.init)
        var object = self
        for (position, step) in steps.enumerated().dropLast() {
            let property = try object.entity.property(named: step)
            if property.attributeType == .composite {
                return try object.part(Array(steps[(position + 1)...]), of: property)
            }
            guard !property.isToMany else { return try FetchExpression(format: path).value(with: self).propertyValue ?? .null }
            guard let next = try object.object(forKey: step) else { return .null }
            object = next
        }
        return try object.value(forKey: steps.last ?? path)
    }

    /// Sets the value at a key path. If the path leads into a composite attribute, its other elements stay the same (ATT-13).
    ///
    /// - Throws: The errors of `setValue(_:forKey:)`; `objectNotFound` if an object on the path is missing.
    public final func setValue(_ value: PropertyValue, forKeyPath path: String) throws {
        let steps = path.split(separator: ".").map(String.init)
        var object = self
        for (position, step) in steps.enumerated().dropLast() {
            let property = try object.entity.property(named: step)
            if property.attributeType == .composite {
                let whole = object.propertyValue(of: property).setting(value, at: steps[(position + 1)...])
                return try object.setValue(whole, forKey: step)
            }
            guard let next = try object.object(forKey: step) else {
                throw HornbeamError(
                    .objectNotFound, "“\(path)” of \(entity.name) has no object at “\(step)”: set that first.",
                    entity: entity.name, key: path, objectIDs: [objectID])
            }
            object = next
        }
        try object.setValue(value, forKey: steps.last ?? path)
    }

    private func part(_ steps: [String], of property: PropertyDescription) throws -> PropertyValue {
        var elements = property.compositeElements
        for step in steps {
            guard let element = elements.first(where: { $0.name == step }) else {
                throw unknownKey("\(property.name).\(step)", among: elements.map { "\(property.name).\($0.name)" })
            }
            elements = entity.managedObjectModel.elements(of: element)
        }
        return propertyValue(of: property).part(steps)
    }

    private func setRelationship(_ value: PropertyValue, _ property: PropertyDescription) throws {
        if property.isToOne {
            switch value {
            case .null: setDestination(nil, of: property)
            case .objectID(let id): setDestination(try destination(id, property), of: property)
            default: throw wrongKind(property, value.kindName)
            }
            return
        }
        let values: [PropertyValue]
        switch value {
        case .null: values = []
        case .array(let list): values = list
        case .set(let set): values = set.sorted { $0.sortOrder(to: $1) == .less }
        default: throw wrongKind(property, value.kindName)
        }
        replaceMembers(
            try values.map { value in
                guard case .objectID(let id) = value else { throw wrongKind(property, value.kindName) }
                return try destination(id, property)
            }, of: property)
    }

    private func destination(_ id: ManagedObjectID, _ property: PropertyDescription) throws -> ManagedObject {
        let context = scope.context
        let isHere = context.registeredObject(for: id) != nil
        let isOfStore = id.storeIdentifier == scope.origin.storeIdentifier
        guard isHere || isOfStore, managedEntity(id) != nil else {
            throw HornbeamError(
                .objectNotFound,
                "“\(property.name)” was given the ID of an object that this context cannot have: it belongs to "
                    + "another store, or is unsaved in another context.",
                entity: entity.name, key: property.name, objectIDs: [id])
        }
        let object = context.object(with: id)
        try checkDestination(object, property)
        if object.isDetached { throw object.withoutContext() }
        return object
    }

    private func managedEntity(_ id: ManagedObjectID) -> EntityDescription? {
        entity.managedObjectModel.entitiesByName[id.entityName]
    }

    private func checkDestination(_ object: ManagedObject, _ property: PropertyDescription) throws {
        guard let destination = property.destinationEntity, !object.entity.isKind(of: destination) else { return }
        throw wrongKind(property, "an object of \(object.entity.name)")
    }

    private func wrongKind(_ property: PropertyDescription, _ given: String) -> HornbeamError {
        HornbeamError(
            .typeMismatch, "\(property) does not accept or return \(given).", entity: entity.name, key: property.name)
    }

    /// - Throws: `objectNotFound` if the object has no context.
    final func requireContext() throws {
        if unsafe isDetached || scope.livingContext == nil && !state.contains(.silent) { throw withoutContext() }
    }

    final func withoutContext() -> HornbeamError {
        HornbeamError(
            .objectNotFound,
            "The \(scope.entity.name) with the ID \(objectID) no longer belongs to a context: it was deleted or rolled back, or its "
                + "context was reset or released. Fetch it in the context that uses it.",
            entity: scope.entity.name, objectIDs: [objectID])
    }

    private func knownProperty(_ key: String) -> PropertyDescription {
        guard let property = entity.propertiesByName[key] else {
            misuse(
                "\(entity.name) has no property “\(key)”. Use value(forKey:) for names that may be wrong.")
        }
        return property
    }

    final func unknownKey(_ key: String, among known: [String]) -> HornbeamError {
        HornbeamError(
            .unknownKey, "“\(entity.name)” has no “\(key)”\(suggestion(for: key, among: known)).",
            entity: entity.name, key: key)
    }
}

extension PropertyValue {
    /// The composite value with one changed element. If there was no value, the other elements are missing.
    fileprivate func setting(_ value: PropertyValue, at steps: ArraySlice<String>) -> PropertyValue {
        guard let name = steps.first else { return value }
        var parts: [String: PropertyValue] = [:]
        if case .dictionary(let known) = self { parts = known }
        parts[name] = (parts[name] ?? .null).setting(value, at: steps.dropFirst())
        return .dictionary(parts)
    }
}
