public import HornbeamModel

/// The values of an object at one moment: a value that may go to any actor.
///
/// ```swift
/// let frozen = FrozenObject(employee)
/// await printer.print(frozen[Employee.name], boss: frozen[Employee.manager])
/// ```
/// To-one relationships are IDs; to-many relationships are IDs too, where they were asked for. Changes after the making do not show.
public struct FrozenObject<Object: ManagedObject>: Hashable, Sendable, Identifiable {
    /// The ID of the object; temporary when it was not saved yet.
    public let objectID: ManagedObjectID
    /// The object's own entity.
    public let entity: EntityDescription
    /// By property index.
    private let values: [PropertyValue]
    /// The to-many relationships that were asked for, by index.
    private let frozenMembers: Set<Int>

    public var id: ManagedObjectID { objectID }

    /// Copies an object's values, unsaved changes included.
    ///
    /// A fault is filled; where that fails, values are those that the getters show. Traps for a name that is no to-many relationship.
    /// - Parameters:
    ///   - object: The object to copy.
    ///   - relationships: The to-many relationships to copy the members' IDs of.
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
        // Another version of the program may have stored a value that this one does not know.
        require(
            property.attribute.map { Value.attributeType == .transformable || Value.attributeType.fits($0.type) } ?? false,
            "“\(entity.name).\(token.name)” is of another type than the token that reads it.")
        return Value(propertyValue: property.defaultValue) ?? Value.unsetValue
    }

    /// The object that a to-one relationship leads to.
    public subscript<Destination>(_ token: ToOne<Destination>) -> ManagedObjectID? {
        guard case .objectID(let id) = values[property(token.name).index] else { return nil }
        return id
    }

    /// The members of a to-many relationship. Traps where the making did not ask for it.
    public subscript<Destination>(_ token: ToMany<Destination>) -> Set<ManagedObjectID> { Set(members(token.name)) }

    /// The members of an ordered relationship in their order. Traps where the making did not ask for it.
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

    /// The value of a property by name; IDs for relationships, `.null` for to-many ones that were not frozen.
    ///
    /// - Throws: `unknownKey`.
    public func value(forKey key: String) throws -> PropertyValue { values[try entity.property(named: key).index] }
}

/// Frozen objects can be asked by predicates; relationships answer with IDs.
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
