extension PropertyValue {
    /// An element of a composite attribute's value, by its names (ATT-13); null where there is none.
    package func part(_ steps: [String]) -> PropertyValue {
        var value = self
        for step in steps {
            guard case .dictionary(let parts) = value else { return .null }
            value = parts[step] ?? .null
        }
        return value
    }
}

/// Typed access to the elements of a composite attribute (ATT-13).
extension Dictionary where Key == String, Value == PropertyValue {
    /// An element by its token: `event.place[Place.latitude] = 59.9`.
    ///
    /// An element without a value reads as its type's zero, as attributes do.
    public subscript<Part: AttributeValue>(_ element: Attribute<Part>) -> Part {
        get { self[element.name].flatMap { Part(propertyValue: $0) } ?? Part.unsetValue }
        set {
            let value = newValue.propertyValue
            self[element.name] = value.isNull ? nil : value
        }
    }
}

extension ManagedObjectModel {
    /// The elements of an attribute that is composite; none of others.
    package func elements(of attribute: AttributeDescription) -> [AttributeDescription] {
        attribute.compositeName.flatMap { name in definition.composites.first { $0.name == name }?.elements } ?? []
    }
}

extension PropertyPath {
    /// The attribute that the path leads to; nil for a relationship, and where there is no such element.
    package var attribute: AttributeDescription? {
        var current = property.attribute
        for step in compositeSteps {
            current = current.flatMap { attribute in
                property.entity.managedObjectModel.elements(of: attribute).first { $0.name == step }
            }
        }
        return current
    }
}
