/// A fetch request that a model names (MDL-1), or that a fetched property runs (REL-9).
public struct FetchRequestTemplate: Hashable, Sendable {
    /// What a fetch gives back. Raw values are those of Xcode's files.
    public enum ResultKind: Int, Hashable, Sendable, Codable { case objects = 0, objectIDs = 1, dictionaries = 2 }

    public var name: String
    public var entityName: String
    /// The format of the predicate, with `$VARIABLES`; nil for all objects.
    public var predicate: String?
    public var sortDescriptors: [FetchSort]
    public var fetchLimit: Int
    public var fetchBatchSize: Int
    public var resultKind: ResultKind
    public var includesSubentities: Bool
    public var includesPropertyValues: Bool
    public var includesPendingChanges: Bool
    public var returnsObjectsAsFaults: Bool
    public var returnsDistinctResults: Bool

    public init(
        _ name: String, entity: String, predicate: String? = nil, sortedBy sorts: [FetchSort] = [],
        limit: Int = 0
    ) {
        self.name = name
        entityName = entity
        self.predicate = predicate
        sortDescriptors = sorts
        fetchLimit = limit
        fetchBatchSize = 0
        resultKind = .objects
        includesSubentities = true
        includesPropertyValues = true
        includesPendingChanges = true
        returnsObjectsAsFaults = true
        returnsDistinctResults = false
    }
}

/// A weak, one-way relationship to whatever a request finds (REL-9).
///
/// In the predicate `$FETCH_SOURCE` is the object and `$FETCHED_PROPERTY` this description.
public struct FetchedPropertyDescription: Hashable, Sendable {
    public var name: String
    public var request: FetchRequestTemplate
    public var isOptional: Bool
    public var renamingIdentifier: String?
    public var versionHashModifier: String?
    public var userInfo: [String: String]

    public init(
        _ name: String, entity: String, where predicate: String? = nil, sortedBy sorts: [FetchSort] = [],
        userInfo: [String: String] = [:]
    ) {
        self.name = name
        request = FetchRequestTemplate(name, entity: entity, predicate: predicate, sortedBy: sorts)
        isOptional = true
        renamingIdentifier = nil
        versionHashModifier = nil
        self.userInfo = userInfo
    }
}

/// A named group of attributes, used by attributes of type `composite` (ATT-13).
public struct CompositeDescription: Hashable, Sendable {
    public var name: String
    public var elements: [AttributeDescription]

    public init(_ name: String, _ elements: [AttributeDescription]) {
        self.name = name
        self.elements = elements
    }
    /// A composite whose elements are listed in a block, attributes only: `CompositeDescription("Point") { Attribute<Double>("x") }`.
    public init(_ name: String, @EntityBuilder _ elements: () -> [EntityPart]) {
        self.name = name
        var entity = Entity(name)
        for part in elements() { part.add(to: &entity) }
        self.elements = entity.attributes
    }
}
