/// An element of the block of a model: an entity, composite, configuration or fetch request template.
public struct ModelPart: Sendable {
    enum Content: Sendable {
        case entity(Entity)
        case composite(CompositeDescription)
        case configuration(Configuration)
        case template(FetchRequestTemplate)
    }
    let content: Content

    func add(to model: inout ModelDefinition) {
        switch content {
        case .entity(let entity): model.entities.append(entity)
        case .composite(let composite): model.composites.append(composite)
        case .configuration(let configuration): model.configurations[configuration.name, default: []] += configuration.entities
        case .template(let template): model.fetchRequestTemplates.append(template)
        }
    }
}

/// A named subset of a model's entities (MDL-2): `Configuration("Cloud", ["Book", "Author"])`.
public struct Configuration: Hashable, Sendable {
    /// The name, to which the description of a store refers.
    public var name: String
    /// The names of the entities.
    public var entities: [String]

    /// A configuration of the named entities.
    public init(_ name: String, _ entities: [String]) {
        self.name = name
        self.entities = entities
    }
}

/// Collects the parts of a model.
@resultBuilder
public enum ModelBuilder {
    /// An entity.
    public static func buildExpression(_ entity: Entity) -> [ModelPart] { [ModelPart(content: .entity(entity))] }
    /// Several entities.
    public static func buildExpression(_ entities: [Entity]) -> [ModelPart] { entities.map { ModelPart(content: .entity($0)) } }
    /// A composite.
    public static func buildExpression(_ composite: CompositeDescription) -> [ModelPart] {
        [ModelPart(content: .composite(composite))]
    }
    /// A configuration.
    public static func buildExpression(_ configuration: Configuration) -> [ModelPart] {
        [ModelPart(content: .configuration(configuration))]
    }
    /// A request template.
    public static func buildExpression(_ template: FetchRequestTemplate) -> [ModelPart] {
        [ModelPart(content: .template(template))]
    }
    /// The parts of a block.
    public static func buildBlock(_ parts: [ModelPart]...) -> [ModelPart] { parts.flatMap(\.self) }
    /// The parts of an `if` without `else`.
    public static func buildOptional(_ parts: [ModelPart]?) -> [ModelPart] { parts ?? [] }
    /// The parts of an `if`.
    public static func buildEither(first: [ModelPart]) -> [ModelPart] { first }
    /// The parts of an `else`.
    public static func buildEither(second: [ModelPart]) -> [ModelPart] { second }
    /// The parts of a `for`.
    public static func buildArray(_ parts: [[ModelPart]]) -> [ModelPart] { parts.flatMap(\.self) }
}
