public import Foundation
public import HornbeamModel

extension ManagedObjectModel {
    /// The model that classes declare: `ManagedObjectModel(for: Author.self, Book.self)`.
    ///
    /// The entities of superclasses are added by themselves. Inverses that are named at one end are set at the other, and where only one
    /// relationship leads each way between two entities, they are each other's inverse.
    ///
    /// - Throws: `invalidModel`, with every problem as one of its details.
    public convenience init(for classes: ManagedObject.Type...) throws {
        try self.init(for: classes)
    }

    /// The same with composites, configurations and templates of requests, which no class declares.
    public convenience init(for classes: ManagedObject.Type..., @ModelBuilder and parts: () -> [ModelPart]) throws {
        try self.init(for: classes, and: ModelDefinition(parts))
    }

    /// The model that a list of classes declares, with what is added to it.
    public convenience init(for classes: [ManagedObject.Type], and addition: ModelDefinition = ModelDefinition()) throws {
        var declared = DeclaredEntities()
        for type in classes { declared.add(type) }
        var definition = addition
        definition.entities = try declared.completed() + addition.entities
        try self.init(definition)
    }
}

extension PersistentContainer {
    /// A container with an open store at a place on disk, for the model that classes declare.
    ///
    /// - Throws: As `ManagedObjectModel(for:)`, `init` and `loadPersistentStores()`.
    public static func open(at url: URL, for classes: ManagedObject.Type...) throws -> PersistentContainer {
        try open(at: url, model: ManagedObjectModel(for: classes), classes: classes)
    }

    /// A container with an open store in memory, for the model that classes declare; for tests and caches.
    ///
    /// - Throws: As `ManagedObjectModel(for:)` and `init`.
    public static func inMemory(for classes: ManagedObject.Type...) throws -> PersistentContainer {
        try inMemory(model: ManagedObjectModel(for: classes), classes: classes)
    }
}
