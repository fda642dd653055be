public import HornbeamModel

/// A `Sendable` copy of an object's values.
///
/// ```swift
/// let frozen = FrozenObject(employee)
/// await printer.print(frozen[Employee.name], boss: frozen[Employee.manager])
/// ```
/// To-one relationships are IDs, and so are selected to-many relationships. Later changes of the object have no effect.
public struct FrozenObject<Object: ManagedObject>: Hashable, Sendable, Identifiable {
    /// The ID of the object; temporary if it is not saved.
    public let objectID: ManagedObjectID
    /// The object's own entity.
    public let entity: EntityDescription
    /// By property index.
    private let values: [PropertyValue]
    /// The copied to-many relationships, by index.
    private let frozenMembers: Set<Int>

    public var id: ManagedObjectID { objectID }

    /// Copies an object's values, unsaved changes included.
    ///
    /// Fires a fault. If this fails, the values are those of the getters. A name that is not a to-many relationship is a programmer error.
    /// - Parameters:
    ///   - object: The object to copy.
    ///   - relationships: The to-many relationships whose members' IDs are copied.
    public init(_ object: Object, including relationships: [String] = []) {
        objectID = object.objectID
        entity = object.entity
        let members = relationships.map { name in
            guard let property = object.entity.relationshipsByName[name], property.isToMany else {
                misuse("\(object.entity.name) has no to-many relationship “\(name)” to freeze.")
            }
            return property.index
        }
        frozenMembers = Set(members)
        let wanted = frozenMembers
        values = object.entity.properties.map { property in
            property.isToMany && !wanted.contains(property.index) ? .null : object.propertyValue(of: property)
        }
    }

    private func property(_ name: String) -> PropertyDescription {
        guard let property = entity.propertiesByName[name] else {
            misuse("\(entity.name) has no property “\(name)”.")
        }
        return property
    }

    /// The value of an attribute.
    public subscript<Value: AttributeValue>(_ token: Attribute<Value>) -> Value {
        let property = property(token.name)
        let value = values[property.index]
        if value.isNull { return Value.nullCell ?? Value.unsetValue }
        if let decoded = Value(propertyValue: value) { return decoded }
        // Another version of the program may have stored a value that this version cannot decode.
        require(
            property.attribute.map { Value.attributeType == .transformable || Value.attributeType.fits($0.type) } ?? false,
            "“\(entity.name).\(token.name)” is of another type than the token that reads it.")
        return Value(propertyValue: property.defaultValue) ?? Value.unsetValue
    }

    /// The ID of a to-one relationship's destination.
    public subscript<Destination>(_ token: ToOne<Destination>) -> ManagedObjectID? {
        guard case .objectID(let id) = values[property(token.name).index] else { return nil }
        return id
    }

    /// The members of a to-many relationship. A programmer error when it was not copied.
    public subscript<Destination>(_ token: ToMany<Destination>) -> Set<ManagedObjectID> { Set(members(token.name)) }

    /// The members of an ordered relationship in order. A programmer error when it was not copied.
    public subscript<Destination>(_ token: OrderedToMany<Destination>) -> [ManagedObjectID] { members(token.name) }

    private func members(_ name: String) -> [ManagedObjectID] {
        let index = property(name).index
        require(frozenMembers.contains(index), "“\(entity.name).\(name)” was not frozen: name it with `including` when freezing.")
        let elements: [PropertyValue] = switch values[index] {
        case .array(let list): list
        case .set(let set): Array(set)
        default: []
        }
        return elements.compactMap { if case .objectID(let id) = $0 { id } else { nil } }
    }

    /// The value of a property by name; IDs for relationships, `.null` for to-many ones that were not copied.
    ///
    /// - Throws: `unknownKey`.
    public func value(forKey key: String) throws -> PropertyValue { values[try entity.property(named: key).index] }
}

/// Predicates can be evaluated on frozen objects; relationships have IDs as values.
extension FrozenObject: KeyedValues {
    public var evaluatedIdentity: PropertyValue? { .objectID(objectID) }
    public var evaluatedKeys: [String]? { entity.properties.filter { !$0.isToMany }.map(\.name) }
    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        switch try value(forKey: key) {
        case .array(let list): .collection(list.map { .value($0) }, isOrdered: true)
        case .set(let set): .collection(set.map { .value($0) }, isOrdered: false)
        case let value: .value(value)
        }
    }
}
