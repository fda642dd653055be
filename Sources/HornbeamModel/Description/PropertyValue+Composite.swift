extension PropertyValue {
    /// The element of a composite value at a path of names (ATT-13); null when there is no such element.
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
    /// The value of an element by its token: `event.place[Place.latitude] = 59.9`.
    ///
    /// The getter returns zero or the empty value of its type for an element without a value, as the getters of attributes do.
    public subscript<Part: AttributeValue>(_ element: Attribute<Part>) -> Part {
        get { self[element.name].flatMap { Part(propertyValue: $0) } ?? Part.unsetValue }
        set {
            let value = newValue.propertyValue
            self[element.name] = value.isNull ? nil : value
        }
    }
}

extension ManagedObjectModel {
    /// The elements of a composite attribute; empty for other attributes.
    package func elements(of attribute: AttributeDescription) -> [AttributeDescription] {
        attribute.compositeName.flatMap { name in definition.composites.first { $0.name == name }?.elements } ?? []
    }
}

extension PropertyPath {
    /// The attribute at the path; nil for a relationship, and for an unknown element.
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
