internal import HornbeamThreads

/// A checked, immutable model: the entities of an app and how they belong together (MDL-7, MDL-8).
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
/// To change a model, change a copy of its `definition` and make a new one.
public final class ManagedObjectModel: Sendable {
    /// The model as it was written.
    public let definition: ModelDefinition
    /// All entities, in the order in which they were written; abstract ones included.
    public let entities: [EntityDescription]
    public let entitiesByName: [String: EntityDescription]

    /// Checks the definition and resolves every name in it.
    ///
    /// - Throws: `HornbeamError` with code `invalidModel` and every problem as one of its details.
    public init(_ definition: ModelDefinition) throws {
        if let known = Self.compiledLast.withLock({ $0.first { $0.definition == definition } }) {
            self.definition = known.definition
            entities = known.entities
            entitiesByName = known.entitiesByName
            return
        }
        var compiler = ModelCompiler(definition)
        let compiled = try compiler.compile()
        self.definition = definition
        entities = compiled
        entitiesByName = Dictionary(uniqueKeysWithValues: compiled.map { ($0.name, $0) })
        compiler.resolve(compiled, in: self)
        try compiler.checkRequests(in: self)
        Self.compiledLast.withLock { last in
            if last.count == Self.compiledMost { last.removeFirst() }
            last.append(self)
        }
    }

    /// The last ones that were compiled. A model that is made anew, as for each container, has the entities of the one before: comparing
    /// takes a tenth of the time, and compiled parts are kept for good.
    private static let compiledLast = Guarded<[ManagedObjectModel]>([])
    private static let compiledMost = 8

    public convenience init(entities: [Entity]) throws {
        try self.init(ModelDefinition(entities: entities))
    }

    /// A model whose parts are listed in a block: entities, and what goes with them.
    public convenience init(@ModelBuilder _ parts: () -> [ModelPart]) throws {
        var definition = ModelDefinition()
        for part in parts() { part.add(to: &definition) }
        try self.init(definition)
    }

    /// The entity of that name.
    ///
    /// - Throws: `HornbeamError` with code `unknownEntity`, naming the entity that was perhaps meant.
    public func entity(named name: String) throws -> EntityDescription {
        if let entity = entitiesByName[name] { return entity }
        throw HornbeamError(
            .unknownEntity,
            "The model has no entity “\(name)”" + suggestion(for: name, among: entities.map(\.name)) + ".",
            entity: name)
    }
}

extension ManagedObjectModel {
    /// The names of renamed entities by their former names, so that IDs written down before still lead to their objects.
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
