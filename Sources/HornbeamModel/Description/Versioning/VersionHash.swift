public import Foundation

/// The input bytes of a version hash: each field as a tag, a length and its content. Different
/// descriptions therefore have different input bytes.
private struct HashedFields {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ tag: String, _ text: String) { add(tag, Array(text.utf8)) }
    mutating func add(_ tag: String, _ flag: Bool) { add(tag, [flag ? 1 : 0]) }
    mutating func add(_ tag: String, _ number: Int) { add(tag, String(number)) }

    mutating func add(_ tag: String, _ content: [UInt8]) {
        bytes += Array("\(tag):\(content.count):".utf8) + content
    }

    var hash: [UInt8] { SHA256.hash(bytes) }
}

extension AttributeDescription {
    /// Covers name, type, optional, transient, the derivation, the hashes of the composite's elements, and the
    /// modifier (ATT-18).
    func versionHash(elements: [AttributeDescription], composites: [String: CompositeDescription]) -> [UInt8] {
        var fields = HashedFields()
        fields.add("attribute", name)
        fields.add("type", type.rawValue)
        fields.add("optional", isOptional)
        fields.add("transient", isTransient)
        fields.add("derivation", derivation ?? "")
        for element in elements {
            let inner = element.compositeName.flatMap { composites[$0]?.elements } ?? []
            fields.add("element", element.versionHash(elements: inner, composites: composites))
        }
        fields.add("modifier", versionHashModifier ?? "")
        return fields.hash
    }
}

extension RelationshipDescription {
    /// Covers name, optional, transient, destination, inverse, counts, order and the modifier (REL-10), but not the delete rule.
    var versionHash: [UInt8] {
        var fields = HashedFields()
        fields.add("relationship", name)
        fields.add("optional", isOptional)
        fields.add("transient", isTransient)
        fields.add("destination", destinationEntityName)
        fields.add("inverse", inverseName ?? "")
        fields.add("toMany", isToMany)
        fields.add("minCount", minCount)
        fields.add("maxCount", maxCount)
        fields.add("ordered", isOrdered)
        fields.add("modifier", versionHashModifier ?? "")
        return fields.hash
    }
}

extension FetchedPropertyDescription {
    /// Covers name, optional, the fetched entity, the predicate and the modifier.
    var versionHash: [UInt8] {
        var fields = HashedFields()
        fields.add("fetched", name)
        fields.add("optional", isOptional)
        fields.add("entity", request.entityName)
        fields.add("predicate", request.predicate ?? "")
        fields.add("modifier", versionHashModifier ?? "")
        return fields.hash
    }
}

extension PropertyDescription {
    /// A 32-byte hash that changes when the stored values of the property need a migration (MOD-11, ATT-18, REL-10).
    public var versionHash: Data {
        switch kind {
        case .attribute(let attribute):
            let composites = entity.managedObjectModel.definition.compositesByName
            return Data(attribute.versionHash(elements: compositeElements, composites: composites))
        case .relationship(let relationship): return Data(relationship.versionHash)
        }
    }
}

extension EntityDescription {
    /// A 32-byte hash that identifies the version of the entity (MOD-11).
    ///
    /// It covers the name, the superentity's hash, whether the entity is abstract, the hashes of the properties, the
    /// uniqueness constraints and the modifier. It does not cover indexes, default values, validation, user info,
    /// the class name, renaming identifiers, and the order of declarations.
    public var versionHash: Data {
        var fields = HashedFields()
        fields.add("entity", name)
        fields.add("parent", superentity.map { Array($0.versionHash) } ?? [])
        fields.add("abstract", isAbstract)
        let own = properties.dropFirst(superentity?.properties.count ?? 0)
        for property in own.sorted(by: { $0.name < $1.name }) { fields.add("property", Array(property.versionHash)) }
        for property in definition.fetchedProperties.sorted(by: { $0.name < $1.name }) {
            fields.add("property", property.versionHash)
        }
        let constraints = definition.uniquenessConstraints.map { $0.sorted().joined(separator: ",") }
        for constraint in constraints.sorted() { fields.add("unique", constraint) }
        fields.add("modifier", definition.versionHashModifier ?? "")
        return Data(fields.hash)
    }
}

extension ManagedObjectModel {
    /// The version hash of each entity (MDL-9).
    public var entityVersionHashesByName: [String: Data] { entitiesByName.mapValues(\.versionHash) }

    /// A 128-bit checksum over the version hashes of all entities, in Base64 (MDL-10).
    public var versionChecksum: String {
        var fields = HashedFields()
        for entity in entities.sorted(by: { $0.name < $1.name }) {
            fields.add(entity.name, Array(entity.versionHash))
        }
        return Data(fields.hash.prefix(16)).base64EncodedString()
    }

    /// The developer's own labels for this version (MDL-10).
    public var versionIdentifiers: Set<String> { definition.versionIdentifiers }

    /// True when a store with these entity hashes can be opened with this model without a migration (MDL-9).
    ///
    /// - Parameter configuration: The configuration of the store; nil for all entities.
    /// - Throws: `HornbeamError` with code `unknownName` for a configuration that the model does not have.
    public func isConfiguration(_ configuration: String?, compatibleWith hashes: [String: Data]) throws -> Bool {
        let entities = try entities(forConfigurationName: configuration)
        return Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.versionHash) }) == hashes
    }
}

extension ModelDefinition {
    var compositesByName: [String: CompositeDescription] {
        Dictionary(composites.map { ($0.name, $0) }) { first, _ in first }
    }
}
