public import HornbeamModel

extension ManagedObjectModel {
    /// The model that classes declare: `ManagedObjectModel(for: Author.self, Book.self)`.
    ///
    /// The entities of superclasses are added automatically. An inverse that is declared at one end is set at the other end. Two relationships
    /// without a declared inverse become inverses of each other if each is the only one in its direction between the two entities.
    ///
    /// - Throws: `invalidModel`, with each problem in its details.
    public convenience init(for classes: ManagedObject.Type...) throws {
        try self.init(for: classes)
    }

    /// The model that classes declare, with parts that classes cannot declare: composites, configurations and fetch request templates.
    public convenience init(for classes: ManagedObject.Type..., @ModelBuilder and parts: () -> [ModelPart]) throws {
        try self.init(for: classes, and: ModelDefinition(parts))
    }

    /// The model that a list of classes declares, with the parts of another definition.
    public convenience init(for classes: [ManagedObject.Type], and addition: ModelDefinition = ModelDefinition()) throws {
        var declared = DeclaredEntities()
        for type in classes { declared.add(type) }
        var definition = addition
        definition.entities = try declared.completed() + addition.entities
        try self.init(definition)
    }
}
