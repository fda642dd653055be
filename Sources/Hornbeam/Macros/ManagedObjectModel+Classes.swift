public import HornbeamModel

extension ManagedObjectModel {
    /// The model that classes declare: `ManagedObjectModel(for: Author.self, Book.self)`.
    ///
    /// The entities of superclasses are added automatically. An inverse that one end declares is set at the other. If two entities have
    /// only one relationship in each direction, these become inverses of each other.
    ///
    /// - Throws: `invalidModel`; each problem is one of its details.
    public convenience init(for classes: ManagedObject.Type...) throws {
        try self.init(for: classes)
    }

    /// As above, with composites, configurations and fetch request templates, which classes cannot declare.
    public convenience init(for classes: ManagedObject.Type..., @ModelBuilder and parts: () -> [ModelPart]) throws {
        try self.init(for: classes, and: ModelDefinition(parts))
    }

    /// The model that a list of classes declares, with additional parts.
    public convenience init(for classes: [ManagedObject.Type], and addition: ModelDefinition = ModelDefinition()) throws {
        var declared = DeclaredEntities()
        for type in classes { declared.add(type) }
        var definition = addition
        definition.entities = try declared.completed() + addition.entities
        try self.init(definition)
    }
}
