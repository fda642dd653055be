/// A checked, immutable model: the entities of an app and their relationships (MDL-7, MDL-8).
///
/// ```swift
/// let model = try ManagedObjectModel {
///     Entity("Author") {
///         Attribute<String>("name", unique: true)
///         ToMany<Book>("books", inverse: "author", deleteRule: .cascade)
///     }
///     Entity("Book") {
///         Attribute<String>("title")
///         Attribute<Int16?>("year", indexed: true)
///         ToOne<Author>("author", inverse: "books")
///     }
/// }
/// ```
/// To change a model, change a copy of its `definition` and make a new model from it.
public final class ManagedObjectModel: Sendable {
    /// The model as declared.
    public let definition: ModelDefinition
    /// All entities, in the order of their declaration, abstract ones included.
    public let entities: [EntityDescription]
    /// The entities by name.
    public let entitiesByName: [String: EntityDescription]
    /// The parts of an Xcode model file that its reader ignored or interpreted, with lines; empty for a model in Swift or JSON.
    public let notes: [ModelIssue]

    /// Makes a model of entities that were compiled from the definition.
    init(_ definition: ModelDefinition, compiled entities: [EntityDescription], notes: [ModelIssue]) {
        self.definition = definition
        self.notes = notes
        self.entities = entities
        entitiesByName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    }

    /// Makes a model of the given entities and checks it.
    ///
    /// - Throws: `invalidModel`, with every problem among its details.
    public convenience init(entities: [Entity]) throws {
        try self.init(ModelDefinition(entities: entities))
    }

    /// A model whose parts are listed in a block.
    public convenience init(@ModelBuilder _ parts: () -> [ModelPart]) throws {
        try self.init(ModelDefinition(parts))
    }

    /// The entity with the given name.
    ///
    /// - Throws: `HornbeamError` with code `unknownEntity`. The message suggests a similar name.
    public func entity(named name: String) throws -> EntityDescription {
        if let entity = entitiesByName[name] { return entity }
        guard name != "ManagedObject" else {
            throw HornbeamError(
                .unknownEntity,
                "ManagedObject is the class of the objects of every entity, and no entity was named. Name one, as in "
                    + "FetchRequest<ManagedObject>(entityName: “\(entities.first?.name ?? "Book")”), or fetch a class of your own.",
                entity: name)
        }
        throw HornbeamError(
            .unknownEntity,
            "The model has no entity “\(name)”" + suggestion(for: name, among: entities.map(\.name)) + ".",
            entity: name)
    }
}

extension ManagedObjectModel {
    /// The current names of renamed entities by their former names, so that stored URIs of IDs stay valid.
    package var formerEntityNames: [String: String] {
        let renamed = entities.filter { $0.renamingIdentifier != $0.name && entitiesByName[$0.renamingIdentifier] == nil }
        return Dictionary(renamed.map { ($0.renamingIdentifier, $0.name) }) { first, _ in first }
    }
}

extension ManagedObjectModel: CustomStringConvertible {
    public var description: String {
        "model of \(entities.count) entities: " + entities.map(\.name).joined(separator: ", ")
    }
}

/// Iterates over the entities (MOD-5).
extension ManagedObjectModel: Sequence {
    public func makeIterator() -> IndexingIterator<[EntityDescription]> { entities.makeIterator() }
}
