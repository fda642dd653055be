public import HornbeamModel

extension ManagedObject {
    /// The destination of a to-one relationship: `self[Employee.department]` (REL-1).
    ///
    /// Setting it changes the inverse immediately (REL-3).
    public final subscript<Object: ManagedObject>(_ token: ToOne<Object>) -> Object? {
        get {
            let property = scope.property(token.nameID)
            guard let object = destination(of: property) else { return nil }
            return typed(object, property)
        }
        set { setDestination(newValue, of: scope.property(token.nameID)) }
    }

    /// The objects of a to-many relationship, loaded on access.
    public final subscript<Object: ManagedObject>(_ token: ToMany<Object>) -> ManagedSet<Object> {
        get { ManagedSet(owner: self, property: scope.property(token.nameID)) }
        set { newValue.assign(to: self, scope.property(token.nameID)) }
    }

    /// The objects of an ordered to-many relationship, in order (REL-5).
    public final subscript<Object: ManagedObject>(_ token: OrderedToMany<Object>) -> ManagedArray<Object> {
        get { ManagedArray(owner: self, property: scope.property(token.nameID)) }
        set { newValue.assign(to: self, scope.property(token.nameID)) }
    }

    /// The IDs of the objects in any relationship. Creates no object (MOC-12).
    ///
    /// - Throws: `unknownKey` if the entity has no relationship of that name; the store's error if the IDs cannot be read.
    public final func objectIDs(forRelationshipNamed name: String) throws -> [ManagedObjectID] {
        guard let property = scope.entity.relationshipsByName[name] else {
            throw unknownKey(name, among: scope.entity.relationshipsByName.keys.sorted())
        }
        return try reading {
            if property.isToMany { return members(of: property) }
            guard case .objectID(let id) = currentValue(of: property) else { return [] }
            return [id]
        }
    }

    final func typed<Object: ManagedObject>(
        _ object: ManagedObject, _ property: PropertyDescription
    ) -> Object {
        guard let typed = object as? Object else {
            misuse(
                "\(scope.entity.name).\(property.name) leads to an object of class \(type(of: object)), not "
                    + "\(Object.self). Bind \(Object.self) to the entity \(object.scope.entity.name) when the "
                    + "container is made.")
        }
        return typed
    }
}
