extension Entity: Codable {
    private enum Key: String, CodingKey, CaseIterable {
        case name, className = "class", parent, abstract, attributes, relationships, fetchedProperties, unique, indexes
        case renamedFrom, versionHashModifier, spotlightDisplayName, userInfo
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(name, forKey: .name)
        try members.encodeIfPresent(className, forKey: .className)
        try members.encodeIfPresent(superentityName, forKey: .parent)
        try members.encode(isAbstract, forKey: .abstract, unless: false)
        try members.encode(attributes, forKey: .attributes, unless: [])
        try members.encode(relationships, forKey: .relationships, unless: [])
        try members.encode(fetchedProperties, forKey: .fetchedProperties, unless: [])
        try members.encode(uniquenessConstraints, forKey: .unique, unless: [])
        try members.encode(fetchIndexes, forKey: .indexes, unless: [])
        try members.encodeIfPresent(renamingIdentifier, forKey: .renamedFrom)
        try members.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
        try members.encodeIfPresent(coreSpotlightDisplayNameExpression, forKey: .spotlightDisplayName)
        try members.encodeSorted(userInfo, forKey: .userInfo)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(
            try members.decode(String.self, forKey: .name),
            className: try members.decodeIfPresent(String.self, forKey: .className),
            parent: try members.decodeIfPresent(String.self, forKey: .parent),
            abstract: try members.decode(forKey: .abstract, default: false),
            attributes: try members.decode(forKey: .attributes, default: []),
            relationships: try members.decode(forKey: .relationships, default: []),
            uniquenessConstraints: try members.decode(forKey: .unique, default: []),
            fetchIndexes: try members.decode(forKey: .indexes, default: []),
            renamedFrom: try members.decodeIfPresent(String.self, forKey: .renamedFrom),
            userInfo: try members.decode(forKey: .userInfo, default: [:]))
        fetchedProperties = try members.decode(forKey: .fetchedProperties, default: [])
        versionHashModifier = try members.decodeIfPresent(String.self, forKey: .versionHashModifier)
        coreSpotlightDisplayNameExpression = try members.decodeIfPresent(String.self, forKey: .spotlightDisplayName)
    }
}

extension FetchIndexDescription: Codable {
    private enum Key: String, CodingKey, CaseIterable { case name, elements, `where` }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(name, forKey: .name)
        try members.encode(elements, forKey: .elements)
        try members.encodeIfPresent(partialPredicate, forKey: .where)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(
            try members.decode(String.self, forKey: .name),
            try members.decode([FetchIndexElement].self, forKey: .elements),
            where: try members.decodeIfPresent(String.self, forKey: .where))
    }
}

/// An ascending element with binary collation is encoded as the property's name, other elements as an object.
extension FetchIndexElement: Codable {
    private enum Key: String, CodingKey, CaseIterable { case property, expression, descending, collation, kind }

    public func encode(to encoder: any Encoder) throws {
        if self == FetchIndexElement(property) {
            var single = encoder.singleValueContainer()
            try single.encode(property)
            return
        }
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(property, forKey: isExpression ? .expression : .property)
        try members.encode(!isAscending, forKey: .descending, unless: false)
        try members.encode(collation, forKey: .collation, unless: .binary)
        try members.encode(kind, forKey: .kind, unless: .binary)
    }

    public init(from decoder: any Decoder) throws {
        if let name = try? decoder.singleValueContainer().decode(String.self) {
            self.init(name)
            return
        }
        let members = try decoder.strictContainer(keyedBy: Key.self)
        let expression = try members.decodeIfPresent(String.self, forKey: .expression)
        self.init(
            try expression ?? members.decode(String.self, forKey: .property),
            ascending: !(try members.decode(forKey: .descending, default: false)),
            collation: try members.decode(forKey: .collation, default: .binary),
            kind: try members.decode(forKey: .kind, default: .binary),
            isExpression: expression != nil)
    }
}

extension CompositeDescription: Codable {
    private enum Key: String, CodingKey, CaseIterable { case name, elements }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(name, forKey: .name)
        try members.encode(elements, forKey: .elements)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(
            try members.decode(String.self, forKey: .name),
            try members.decode([AttributeDescription].self, forKey: .elements))
    }
}
