extension MappingInference {
    /// The source of an attribute's values. Records obstacles to the inference.
    mutating func attributeSource(
        _ attribute: PropertyDescription, _ old: PropertyDescription?, _ entity: EntityDescription
    ) -> PropertyMapping.Source {
        guard let old else {
            if attribute.isDerived { return .derivation }
            requireDefault(attribute, "it is new, and required")
            return .defaultValue
        }
        guard old.isAttribute else {
            obstacle("It was a relationship and is an attribute now. Give it another name.", attribute.entity.name, attribute.name)
            return .defaultValue
        }
        if attribute.isDerived {
            let isSame = old.derivation == attribute.derivation && old.attributeType == attribute.attributeType
            return isSame ? .property(old.name) : .derivation
        }
        if old.attributeType != attribute.attributeType {
            obstacle(
                "Its type was \(old.attributeType) and is \(attribute.attributeType) now. Values are not converted automatically: "
                    + "give the new attribute another name, and convert in code.", attribute.entity.name, attribute.name)
        }
        if old.isOptional, !attribute.isOptional { requireDefault(attribute, "it was optional and is required now") }
        if attribute.attributeType == .composite { compareElements(attribute, old) }
        return .property(old.name)
    }

    private mutating func requireDefault(_ attribute: PropertyDescription, _ what: String) {
        guard !attribute.isOptional, attribute.defaultValue.isNull else { return }
        obstacle(
            "Existing objects may have no value for it: \(what). Give it a default value, or make it optional.",
            attribute.entity.name, attribute.name, .missingValue)
    }

    private mutating func compareElements(_ attribute: PropertyDescription, _ old: PropertyDescription) {
        for pair in CompositeMatch(from: old, to: attribute).pairs {
            let key = "\(attribute.name).\(pair.new.name)"
            if let before = pair.old, before.type != pair.new.type {
                obstacle(
                    "The element's type was \(before.type) and is \(pair.new.type) now. Give the new element another name, and convert "
                        + "in code.", attribute.entity.name, key)
            } else if !pair.new.isOptional, pair.old?.isOptional ?? true, pair.new.defaultValue.isNull {
                obstacle(
                    "The element is required, and existing values may not have it. Give it a default value, or make it optional.",
                    attribute.entity.name, key, .missingValue)
            }
        }
    }
}

/// The elements of a composite attribute in two versions.
package struct CompositeMatch {
    package var pairs: [(new: AttributeDescription, old: AttributeDescription?)]

    package init(from old: PropertyDescription, to new: PropertyDescription) {
        let before = old.compositeElements
        let after = new.compositeElements
        let match = RenameMatch(old: before.map(\.renamePart), new: after.map(\.renamePart))
        pairs = zip(after, match.matches).map { ($0, $1.map { before[$0] }) }
    }

    /// True when stored values must be rewritten: an element has another name, or needs its default value.
    package var changesValues: Bool {
        pairs.contains { pair in
            guard let old = pair.old else { return !pair.new.isOptional }
            return old.name != pair.new.name || (old.isOptional && !pair.new.isOptional)
        }
    }

    /// A stored value with the new names of its elements, and with default values for missing required elements.
    package func converted(_ parts: [String: PropertyValue]) -> [String: PropertyValue] {
        var result: [String: PropertyValue] = [:]
        for pair in pairs {
            let value = pair.old.flatMap { parts[$0.name] } ?? .null
            result[pair.new.name] = value.isNull && !pair.new.isOptional ? pair.new.defaultValue : value
        }
        return result
    }
}
