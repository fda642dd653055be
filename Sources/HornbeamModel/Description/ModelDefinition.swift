/// A whole model as declared: a value that can be built, changed, compared and stored in a file.
///
/// `ManagedObjectModel(definition)` checks it and compiles it; `model.definition` returns it.
public struct ModelDefinition: Hashable, Sendable {
    /// The entities, in the order of their declaration.
    public var entities: [Entity]
    /// The composites that attributes of type `composite` use (ATT-13).
    public var composites: [CompositeDescription]
    /// Named subsets of the entities' names (MDL-2).
    public var configurations: [String: [String]]
    /// The names of entities outside the model that its fetched properties may fetch. Other stores contain their objects.
    public var externalEntities: Set<String> = []
    /// The fetch request templates (MDL-1).
    public var fetchRequestTemplates: [FetchRequestTemplate]
    /// Localised texts, by keys such as `Property/name/Entity/Author` (MDL-3).
    public var localizationDictionary: [String: String]
    /// The developer's own labels for this version (MDL-10).
    public var versionIdentifiers: Set<String>

    /// A model of the given parts. `ManagedObjectModel(_:)` checks it.
    public init(
        entities: [Entity] = [], composites: [CompositeDescription] = [],
        configurations: [String: [String]] = [:], fetchRequestTemplates: [FetchRequestTemplate] = [],
        localizationDictionary: [String: String] = [:], versionIdentifiers: Set<String> = []
    ) {
        self.entities = entities
        self.composites = composites
        self.configurations = configurations
        self.fetchRequestTemplates = fetchRequestTemplates
        self.localizationDictionary = localizationDictionary
        self.versionIdentifiers = versionIdentifiers
    }

    /// A definition whose parts are listed in a block.
    public init(@ModelBuilder _ parts: () -> [ModelPart]) {
        self.init()
        for part in parts() { part.add(to: &self) }
    }
}
