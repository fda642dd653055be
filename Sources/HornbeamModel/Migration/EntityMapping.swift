public import Foundation

/// What becomes of the objects of one entity (MIG-6).
public struct EntityMapping: Hashable, Sendable {
    /// The kinds of mapping. Raw values are Core Data's.
    public enum Kind: Int, Hashable, Sendable {
        /// No mapping was chosen.
        case undefined = 0
        /// Code decides.
        case custom = 1
        /// The entity is new.
        case add = 2
        /// The entity is removed with its objects.
        case remove = 3
        /// The objects stay as they are.
        case copy = 4
        /// The objects stay; properties are added, removed, renamed or moved.
        case transform = 5
    }

    /// `Source->Destination`.
    public var name: String
    /// The treatment of the objects.
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
    /// The stored properties of the source entity that have no place in the destination entity.
    public var removedProperties: [String]
    /// Notes of the app.
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

    /// The mapping of a property of the destination entity; nil for a transient one.
    public func mapping(ofPropertyNamed name: String) -> PropertyMapping? {
        attributeMappings.first { $0.name == name } ?? relationshipMappings.first { $0.name == name }
    }

    /// The mappings that change something.
    var changes: [PropertyMapping] {
        (attributeMappings + relationshipMappings).filter { $0.source != .property($0.name) }
    }
}

extension EntityMapping: CustomStringConvertible {
    /// The entity on one line, then each property that changes.
    public var description: String {
        let destination = destinationEntityName ?? ""
        let title: String =
            switch kind {
            case .add: "\(destination): added"
            case .remove: "\(sourceEntityName ?? ""): removed with its objects"
            case .copy: "\(destination): unchanged"
            case .transform, .custom, .undefined:
                sourceEntityName == destinationEntityName
                    ? "\(destination): changed" : "\(destination): renamed from \(sourceEntityName ?? "")"
            }
        guard kind != .add else { return title }
        let lines = changes.map { change in
            change.sourceName == nil ? "  + \(change)" : "  ~ \(change)"
        }
        return ([title] + lines + removedProperties.map { "  - \($0), removed" }).joined(separator: "\n")
    }
}
