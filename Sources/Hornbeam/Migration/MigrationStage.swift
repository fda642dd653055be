public import HornbeamModel
internal import HornbeamStore

/// One step of a migration plan: from one version of a model to the next (MIG-11).
///
/// Versions are models or schemas. Objects of a model are accessed by name; objects of a schema have the classes of that version.
public struct MigrationStage: Sendable {
    /// Changes old objects before the structure changes, for example to remove duplicates before a constraint is added.
    public typealias Preparation = @Sendable (_ old: ManagedObjectContext) throws -> Void
    /// Reads old objects and writes new ones.
    public typealias Conversion = @Sendable (_ migration: CustomMigration) throws -> Void

    /// A version of the model, with the classes of its objects.
    struct Version: Sendable {
        let model: ManagedObjectModel
        var classes: [ManagedObject.Type] = []

        init(_ model: ManagedObjectModel) { self.model = model }

        init(_ schema: any VersionedSchema.Type) throws {
            model = try schema.model()
            classes = schema.classes
        }
    }

    let from: Version
    let to: Version
    /// The name of the stage in errors, progress, and the history of the store.
    public var label: String?
    private let changes: [EntityMapping]
    private let willMigrate: Preparation?
    private let didMigrate: Conversion?
    private var given: MappingModel?
    private var policies: [String: EntityMigrationPolicy.Type] = [:]

    private init(
        _ from: Version, _ to: Version, _ label: String?, _ changes: [EntityMapping], _ willMigrate: Preparation?, _ didMigrate: Conversion?
    ) {
        self.from = from
        self.to = to
        self.label = label
        self.changes = changes
        self.willMigrate = willMigrate
        self.didMigrate = didMigrate
    }

    /// The version at which the stage begins.
    public var source: ManagedObjectModel { from.model }
    /// The version at which the stage ends.
    public var destination: ManagedObjectModel { to.model }

    // MARK: Models

    /// A stage with a mapping inferred from the two versions, except for the mappings in `changes`.
    ///
    /// - Parameters:
    ///   - source: The version at which the stage begins.
    ///   - destination: The version at which the stage ends.
    ///   - label: The name of the stage in progress, history and errors.
    ///   - changes: Mappings of entities and properties that cannot be inferred from the models.
    ///   - willMigrate: Changes the old objects before the migration, in a private copy that is saved when the closure returns.
    public static func lightweight(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, label: String? = nil, changing changes: [EntityMapping] = [],
        willMigrate: Preparation? = nil
    ) -> Self {
        Self(Version(source), Version(destination), label, changes, willMigrate, nil)
    }

    /// A stage with an explicit mapping, and with policies for its custom entity mappings, by name of the mapping (MIG-6, MIG-8).
    ///
    /// The plan checks a mapping that the app has written as a whole like an inferred one, except that the mapping names every entity and property
    /// itself: an optional property that it does not name is null or empty.
    public static func mapping(
        _ mapping: MappingModel, policies: [String: EntityMigrationPolicy.Type] = [:], label: String? = nil
    ) -> Self {
        var stage = Self(Version(mapping.source), Version(mapping.destination), label, [], nil, nil)
        stage.given = mapping
        stage.policies = policies
        return stage
    }

    /// A stage with code (MIG-11). The inferred part of the mapping is executed first. Then `didMigrate` migrates the other objects and values.
    ///
    /// - Parameters:
    ///   - source: The version at which the stage begins.
    ///   - destination: The version at which the stage ends.
    ///   - label: The name of the stage in progress, history and errors.
    ///   - changes: Mappings of entities and properties that cannot be inferred from the models.
    ///   - willMigrate: Changes the old objects in a private copy, which is saved when the closure returns.
    ///   - didMigrate: Reads the old objects and writes the new ones, which are saved when the closure returns.
    public static func custom(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, label: String? = nil, changing changes: [EntityMapping] = [],
        willMigrate: Preparation? = nil, didMigrate: @escaping Conversion
    ) -> Self {
        Self(Version(source), Version(destination), label, changes, willMigrate, didMigrate)
    }

    // MARK: Schemas

    /// A stage with a mapping inferred from two schemas, except for the mappings in `changes`.
    ///
    /// - Throws: The errors of `ManagedObjectModel(for:)`.
    public static func lightweight(
        from source: any VersionedSchema.Type, to destination: any VersionedSchema.Type, label: String? = nil,
        changing changes: [EntityMapping] = [], willMigrate: Preparation? = nil
    ) throws -> Self {
        Self(try Version(source), try Version(destination), label, changes, willMigrate, nil)
    }

    /// A stage with code, for two schemas. The objects have the classes of the two versions.
    ///
    /// - Throws: The errors of `ManagedObjectModel(for:)`.
    public static func custom(
        from source: any VersionedSchema.Type, to destination: any VersionedSchema.Type, label: String? = nil,
        changing changes: [EntityMapping] = [], willMigrate: Preparation? = nil, didMigrate: @escaping Conversion
    ) throws -> Self {
        Self(try Version(source), try Version(destination), label, changes, willMigrate, didMigrate)
    }
}

extension MigrationStage: CustomStringConvertible {
    /// The label in quotation marks, or the two versions.
    public var description: String { label.map { "“\($0)”" } ?? "from \(source.versionName) to \(destination.versionName)" }
}

extension MigrationStage {
    /// The stage in the form that the store executes.
    ///
    /// - Throws: `invalidMigrationPlan`, `inferredMappingFailed`.
    func step() throws -> MigrationStep {
        var step = MigrationStep(try mapping())
        step.label = label
        try checkPolicies(step.mapping)
        if let willMigrate {
            step.prepare = { [classes = from.classes] store in
                let context = try ManagedObjectContext(over: store, classes: classes)
                try willMigrate(context)
                if context.hasChanges { try context.save() }
            }
        }
        guard didMigrate != nil || step.mapping.migratesObjectByObject else { return step }
        step.convert = { [self, mapping = step.mapping] source, destination, report in
            let migration = try CustomMigration(source, destination, mapping, self, report)
            try PolicyPasses(migration, policies).run()
            try didMigrate?(migration)
            try migration.finish()
        }
        return step
    }

    private func mapping() throws -> MappingModel {
        if let given { return try given.checked() }
        guard didMigrate != nil else { return try MappingModel(from: source, to: destination, changing: changes) }
        return try MappingModel.forCustomStage(from: source, to: destination, changing: changes)
    }

    private func checkPolicies(_ mapping: MappingModel) throws {
        var problems = policies.keys.sorted().compactMap { name -> HornbeamError? in
            let found = mapping.entityMappings.first { $0.name == name }
            if found?.kind == .custom { return nil }
            let known = mapping.entityMappings.filter { $0.kind == .custom }.map(\.name)
            return HornbeamError(
                .invalidMigrationPlan, "There is a policy for the mapping “\(name)”, which is not custom\(suggestion(for: name, among: known)).")
        }
        for entity in mapping.entityMappings where didMigrate == nil && entity.kind != .custom {
            for property in entity.attributeMappings + entity.relationshipMappings where property.source == .code {
                problems.append(
                    HornbeamError(
                        .invalidMigrationPlan,
                        "\(entity.name), \(property.name): code must set it, and the stage has no code. Make the mapping custom, or write a custom stage.",
                        entity: entity.destinationEntityName, key: property.name))
            }
        }
        if let error = HornbeamError.combining(problems) { throw error }
    }
}
