internal import HornbeamModel

// A node is encoded with the tokens of its object's class, because only they have the Swift types of the values.

extension SnapshotNode: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: SnapshotKey.self)
        try container.encode(objectID, forKey: .objectID)
        let tokens = objectClass.tokens
        if let key = property(missingFrom: tokens) {
            throw EncodingError.invalidValue(
                key, .init(
                    codingPath: encoder.codingPath,
                    debugDescription: "The class \(objectClass) does not list the property “\(key)” in `tokens`, so its value would be lost."))
        }
        for token in tokens {
            let key = SnapshotKey(stringValue: token.name)
            if let attribute = token as? any AttributeToken {
                let value = value(named: token.name)
                if value.isNull { try container.encodeNil(forKey: key) } else {
                    try container.encode(EncodedAttribute(value: value, type: attribute.valueType), forKey: key)
                }
            } else if let relationship = token as? any RelationshipToken {
                try encode(relationship, key, to: &container)
            }
        }
    }

    /// A property of the object's entity that the tokens lack; nil if they have all.
    private func property(missingFrom tokens: [any PropertyToken]) -> String? {
        guard let entity, entity.properties.count != tokens.count else { return nil }
        let listed = Set(tokens.map(\.name))
        return entity.properties.first { !listed.contains($0.name) }?.name
    }

    private func encode(
        _ relationship: any RelationshipToken, _ key: SnapshotKey, to container: inout KeyedEncodingContainer<SnapshotKey>
    ) throws {
        let name = relationship.name
        if relationship.isToMany {
            if let nodes = toMany[name] { try container.encode(nodes, forKey: key) }
        } else if let node = toOne[name] {
            try container.encode(node, forKey: key)
        } else if case .objectID(let id) = value(named: name) {
            try container.encode(id, forKey: key)
        } else {
            try container.encodeNil(forKey: key)
        }
    }

    init(from decoder: any Decoder, as declaredClass: ManagedObject.Type) throws {
        let container = try decoder.container(keyedBy: SnapshotKey.self)
        let objectID = try container.decode(ManagedObjectID.self, forKey: .objectID)
        let type = decoder.snapshotClass(of: objectID.entityName, as: declaredClass)
        var values: [String: PropertyValue] = [:]
        var toOne: [String: SnapshotNode] = [:]
        var toMany: [String: [SnapshotNode]] = [:]
        for token in type.tokens {
            let name = token.name
            let key = SnapshotKey(stringValue: name)
            if let attribute = token as? any AttributeToken {
                values[name] = try Self.value(of: attribute.valueType, key, in: container)
            } else if let relationship = token as? any RelationshipToken {
                let isMissing = try !container.contains(key) || container.decodeNil(forKey: key)
                if relationship.isToMany {
                    if !isMissing { toMany[name] = try Self.nodes(container.superDecoder(forKey: key), as: relationship.objectClass) }
                } else if isMissing {
                    values[name] = .null
                } else if let id = try? container.decode(ManagedObjectID.self, forKey: key) {
                    values[name] = .objectID(id)
                } else {
                    let node = try SnapshotNode(from: container.superDecoder(forKey: key), as: relationship.objectClass)
                    values[name] = .objectID(node.objectID)
                    toOne[name] = node
                }
            }
        }
        self.init(objectID: objectID, objectClass: type, values: values, toOne: toOne, toMany: toMany)
    }

    /// Decodes an attribute. An optional value may be missing. A required value may be null, because an object can lack it before its first save,
    /// unless its type has no empty value that a reader could get.
    private static func value(
        of type: any AttributeValue.Type, _ key: SnapshotKey, in container: KeyedDecodingContainer<SnapshotKey>
    ) throws -> PropertyValue {
        guard container.contains(key) else {
            if type.isOptionalValue { return .null }
            throw DecodingError.keyNotFound(
                key, .init(codingPath: container.codingPath, debugDescription: "The snapshot lacks the attribute “\(key.stringValue)”."))
        }
        guard try container.decodeNil(forKey: key) else { return try type.decode(from: container.superDecoder(forKey: key)) }
        guard (type as? any CodedType.Type)?.hasUnsetValue ?? true else {
            throw DecodingError.valueNotFound(
                type, .init(codingPath: container.codingPath + [key], debugDescription: "The attribute “\(key.stringValue)” has no value."))
        }
        return .null
    }

    private static func nodes(_ decoder: any Decoder, as type: ManagedObject.Type) throws -> [SnapshotNode] {
        var container = try decoder.unkeyedContainer()
        var nodes: [SnapshotNode] = []
        while !container.isAtEnd { nodes.append(try SnapshotNode(from: container.superDecoder(), as: type)) }
        return nodes
    }
}

extension Decoder {
    /// The class in `snapshotClasses` that has the entity and is a subclass of the declared class; otherwise the declared class.
    fileprivate func snapshotClass(of entityName: String, as declaredClass: ManagedObject.Type) -> ManagedObject.Type {
        guard let value = userInfo[.snapshotClasses] else { return declaredClass }
        guard let classes = value as? [ManagedObject.Type] else {
            misuse("The decoder's `userInfo[.snapshotClasses]` is not an array of entities' classes.")
        }
        return classes.first { $0.entityName == entityName && $0.inherits(from: declaredClass) } ?? declaredClass
    }
}

extension ManagedObject {
    fileprivate class func inherits(from type: ManagedObject.Type) -> Bool {
        // Optimised programs of Swift 6.3 answer `self is Superclass.Type` with the static type of a generic parameter.
        var candidate: AnyClass? = self
        while let known = candidate, known != type { candidate = _getSuperclass(known) }
        return candidate != nil
    }
}

extension RelationshipToken {
    /// The class of the destination; `ManagedObject` if the token names an entity without a class.
    fileprivate var objectClass: ManagedObject.Type { destinationClass as? ManagedObject.Type ?? ManagedObject.self }
}

private struct EncodedAttribute: Encodable {
    let value: PropertyValue
    let type: any AttributeValue.Type
    func encode(to encoder: any Encoder) throws { try type.encode(value, to: encoder) }
}

/// `objectID`, or the name of a property.
private struct SnapshotKey: CodingKey {
    static let objectID = SnapshotKey(stringValue: "objectID")

    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
}
