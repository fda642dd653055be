public import Foundation

/// A description of the migration of one entity's objects (MIG-6).
public struct EntityMapping: Hashable, Sendable {
    /// The kinds of mapping. Raw values are Core Data's.
    public enum Kind: Int, Hashable, Sendable {
        /// No mapping was chosen.
        case undefined = 0
        /// Code migrates the objects.
        case custom = 1
        /// The entity is new.
        case add = 2
        /// The entity is removed with its objects.
        case remove = 3
        /// The objects do not change.
        case copy = 4
        /// The objects remain with their IDs; properties are added, removed, renamed or moved.
        case transform = 5
    }

    /// `Source->Destination`.
    public var name: String
    /// The kind of mapping.
    public var kind: Kind
    /// The entity in the old version; nil for a new entity.
    public var sourceEntityName: String?
    /// The entity in the new version; nil for a removed entity.
    public var destinationEntityName: String?
    /// The version hash of the old entity, 32 bytes.
    public var sourceEntityVersionHash: Data?
    /// The version hash of the new entity, 32 bytes.
    public var destinationEntityVersionHash: Data?
    /// One for each stored attribute of the destination entity, inherited ones included.
    public var attributeMappings: [PropertyMapping]
    /// One for each stored relationship of the destination entity, inherited ones included.
    public var relationshipMappings: [PropertyMapping]
    /// The stored properties of the source entity without a counterpart in the destination entity.
    public var removedProperties: [String]
    /// Selects the objects that are migrated; nil for all.
    public var sourcePredicate: FetchPredicate?
    /// The app's own texts by key.
    public var userInfo: [String: String]

    /// A mapping between two entities; one of them is nil for an entity that is new or removed.
    public init(
        _ kind: Kind, from source: EntityDescription?, to destination: EntityDescription?,
        attributeMappings: [PropertyMapping] = [], relationshipMappings: [PropertyMapping] = [],
        removedProperties: [String] = [], userInfo: [String: String] = [:]
    ) {
        name = "\(source?.name ?? "")->\(destination?.name ?? "")"
        self.kind = kind
        sourceEntityName = source?.name
        destinationEntityName = destination?.name
        sourceEntityVersionHash = source?.versionHash
        destinationEntityVersionHash = destination?.versionHash
        self.attributeMappings = attributeMappings
        self.relationshipMappings = relationshipMappings
        self.removedProperties = removedProperties
        self.userInfo = userInfo
    }

    /// A mapping for `MappingModel.init(from:to:changing:)`. Properties without a mapping are inferred.
    ///
    /// - Parameters:
    ///   - destination: The entity of the new version.
    ///   - source: The entity of the old version; nil for the predecessor of the destination.
    ///   - kind: With `.transform`, the objects remain with their IDs; with `.custom`, a policy creates and fills objects. A custom mapping
    ///     from an entity that is not the predecessor creates new objects, to split and merge entities.
    ///   - predicate: Selects the old objects that are migrated.
    public init(
        to destination: String, from source: String? = nil, kind: Kind = .transform, where predicate: FetchPredicate? = nil,
        _ properties: [PropertyMapping] = []
    ) {
        self.init(kind, from: nil, to: nil, attributeMappings: properties)
        name = "\(source ?? destination)->\(destination)"
        sourceEntityName = source
        destinationEntityName = destination
        sourcePredicate = predicate
    }

    /// True when old objects are read and new objects written one by one.
    package var migratesObjectByObject: Bool {
        kind == .custom || sourcePredicate != nil
            || relationshipMappings.contains { if case .expression = $0.source { true } else { false } }
    }

    /// The mapping of a property of the destination entity; nil for a transient property.
    public func mapping(ofPropertyNamed name: String) -> PropertyMapping? {
        attributeMappings.first { $0.name == name } ?? relationshipMappings.first { $0.name == name }
    }

    /// The mappings that change values.
    var changes: [PropertyMapping] {
        (attributeMappings + relationshipMappings).filter { $0.source != .property($0.name) }
    }
}

extension EntityMapping: CustomStringConvertible {
    /// The entity on one line, then each property that changes.
    public var description: String {
        let destination = destinationEntityName ?? ""
        var title: String =
            switch kind {
            case .add: "\(destination): added"
            case .remove: "\(sourceEntityName ?? ""): removed with its objects"
            case .copy: "\(destination): unchanged"
            case .transform, .custom, .undefined:
                sourceEntityName == destinationEntityName
                    ? "\(destination): changed" : "\(destination): renamed from \(sourceEntityName ?? "")"
            }
        guard kind != .add else { return title }
        if kind == .custom { title += ", by code" }
        if let sourcePredicate { title += ", where \(sourcePredicate)" }
        let lines = changes.map { change in
            switch change.source {
            case .property, .converted: "  ~ \(change)"
            default: "  + \(change)"
            }
        }
        return ([title] + lines + removedProperties.map { "  - \($0), removed" }).joined(separator: "\n")
    }
}
