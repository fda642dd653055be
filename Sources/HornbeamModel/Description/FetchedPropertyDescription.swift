/// A fetch request template of a model (MDL-1), or the request of a fetched property (REL-9).
public struct FetchRequestTemplate: Hashable, Sendable {
    /// The kinds of results. Raw values are those of Xcode's files.
    public enum ResultKind: Int, Hashable, Sendable, Codable {
        /// Managed objects.
        case objects = 0
        /// IDs of objects.
        case objectIDs = 1
        /// Dictionaries of the selected columns.
        case dictionaries = 2
    }

    /// The name, unique within the model.
    public var name: String
    /// The entity to fetch.
    public var entityName: String
    /// The format of the predicate, with `$VARIABLES`; nil for all objects.
    public var predicate: String?
    /// The order of the results, the first criterion first.
    public var sortDescriptors: [FetchSort]
    /// The largest number of results; 0 for all.
    public var fetchLimit: Int
    /// The number of rows to read at once as results are accessed; 0 for all.
    public var fetchBatchSize: Int
    /// The kind of results.
    public var resultKind: ResultKind
    /// True to fetch objects of subentities too.
    public var includesSubentities: Bool
    /// False to fetch IDs without values.
    public var includesPropertyValues: Bool
    /// True to include unsaved changes of the context.
    public var includesPendingChanges: Bool
    /// True to read the values of the results at first access.
    public var returnsObjectsAsFaults: Bool
    /// True to return equal dictionaries only once.
    public var returnsDistinctResults: Bool

    /// A request for objects of an entity; the other settings have their defaults.
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

/// A one-way relationship to the results of a request, evaluated when it is read (REL-9).
///
/// In the predicate, `$FETCH_SOURCE` is the object and `$FETCHED_PROPERTY` this description.
public struct FetchedPropertyDescription: Hashable, Sendable {
    /// The name, unique within the entity.
    public var name: String
    /// The request whose results are the value.
    public var request: FetchRequestTemplate
    /// True if the result may be empty.
    public var isOptional: Bool
    /// The name of the property in older versions of the model; nil means `name` (MOD-13).
    public var renamingIdentifier: String?
    /// Text that makes this version differ from an otherwise equal one (MOD-12).
    public var versionHashModifier: String?
    /// The app's own texts by key; not part of the version hash (MOD-7).
    public var userInfo: [String: String]

    /// A fetched property for objects of an entity.
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
    /// The name, unique within the model.
    public var name: String
    /// The attributes that form the composite.
    public var elements: [AttributeDescription]

    /// A composite of the given attributes.
    public init(_ name: String, _ elements: [AttributeDescription]) {
        self.name = name
        self.elements = elements
    }
    /// A composite whose attributes are listed in a block: `CompositeDescription("Point") { Attribute<Double>("x") }`.
    public init(_ name: String, @EntityBuilder _ elements: () -> [EntityPart]) {
        self.name = name
        var entity = Entity(name)
        for part in elements() { part.add(to: &entity) }
        self.elements = entity.attributes
    }
}
