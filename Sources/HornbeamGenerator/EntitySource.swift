import HornbeamModel

/// The source of one entity's class.
struct EntitySource {
    let entity: Entity
    let generator: ModelGenerator

    init(_ entity: Entity, in generator: ModelGenerator) {
        self.entity = entity
        self.generator = generator
    }

    var className: String { SwiftSpelling.className(of: entity) }
    var access: String { generator.access.prefix }

    private var superclass: String { entity.superentityName.map(generator.className) ?? generator.type("ManagedObject") }

    /// `public final class Book: ManagedObject`; `open` instead for a public class with subclasses.
    private var declaration: String {
        if generator.hasSubentities(entity) {
            return "\(generator.access == .public ? "open " : "")class \(className): \(superclass)"
        }
        return "\(access)final class \(className): \(superclass)"
    }

    /// The documentation comment of a declaration: the text under `documentation` or `comment` in its user info.
    static func comment(_ userInfo: [String: String], indent: String) -> String {
        guard let text = userInfo["documentation"] ?? userInfo["comment"], !text.isEmpty else { return "" }
        return text.split(whereSeparator: \.isNewline).map { "\(indent)/// \($0)\n" }.joined()
    }

    // MARK: Styles

    /// A class with `@Entity`, whose properties define the model.
    var macroClass: String {
        let properties = MacroProperties(self)
        return Self.comment(entity.userInfo, indent: "") + "\(properties.entityAttribute) \(declaration) {\n"
            + properties.lines.map { "    \($0)\n" }.joined() + "}\n"
    }

    /// A class with a token and an accessor for each property.
    var tokenClass: String {
        let list = "    \(access)override class var tokens: [any PropertyToken] {\n        \(tokenList)\n    }\n"
        return Self.comment(entity.userInfo, indent: "") + "\(declaration) {\n"
            + [tokens, nameOverride + list, accessors, fetchRequest].filter { !$0.isEmpty }.joined(separator: "\n") + "}\n"
    }

    /// An extension with the tokens and accessors of a class that developers edit.
    var propertiesExtension: String {
        let list = "    /// The properties of the entity, for `tokens` of the class.\n"
            + "    \(access)static var \(listName): [any PropertyToken] {\n        \(tokenList)\n    }\n"
        return "extension \(className) {\n" + [tokens, list, accessors, fetchRequest].filter { !$0.isEmpty }.joined(separator: "\n") + "}\n"
    }

    /// The class of the extension, which developers edit.
    var emptyClass: String {
        Self.comment(entity.userInfo, indent: "") + "\(declaration) {\n\(nameOverride)"
            + "    \(access)override class var tokens: [any PropertyToken] { \(listName) }\n}\n"
    }

    /// The name of the list of tokens. It contains the class name, so that a subclass does not hide the list of its superclass.
    private var listName: String { "propertiesOf\(className)" }

    private var nameOverride: String {
        className == entity.name
            ? "" : "    \(access)override class var entityName: String { \(SwiftSpelling.literal(entity.name)) }\n"
    }

    // MARK: Parts

    private var tokenList: String {
        let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
        let own = "[\(names.map { "Self.\(SwiftSpelling.name($0))" }.joined(separator: ", "))]"
        return entity.superentityName == nil ? own : "super.tokens + \(own)"
    }

    private var tokens: String {
        let attributes = entity.attributes.map { attribute in
            "    \(access)static let \(SwiftSpelling.name(attribute.name)) = "
                + "\(generator.type("Attribute"))<\(type(of: attribute))>(\(SwiftSpelling.literal(attribute.name)))\n"
        }
        let relationships = entity.relationships.map { relationship in
            var arguments = SwiftSpelling.literal(relationship.name)
            if generator.className(ofEntity: relationship.destinationEntityName) != relationship.destinationEntityName {
                arguments += ", to: \(SwiftSpelling.literal(relationship.destinationEntityName))"
            }
            if let inverse = relationship.inverseName { arguments += ", inverse: \(SwiftSpelling.literal(inverse))" }
            let kind = generator.type(relationship.isToMany ? (relationship.isOrdered ? "OrderedToMany" : "ToMany") : "ToOne")
            return "    \(access)static let \(SwiftSpelling.name(relationship.name)) = "
                + "\(kind)<\(generator.className(ofEntity: relationship.destinationEntityName))>(\(arguments))\n"
        }
        return (attributes + relationships).joined()
    }

    private var accessors: String {
        let attributes = entity.attributes.map { attribute in
            Self.comment(attribute.userInfo, indent: "    ")
                + accessor(attribute.name, type(of: attribute), isReadOnly: attribute.isDerived)
        }
        let relationships = entity.relationships.map { relationship in
            Self.comment(relationship.userInfo, indent: "    ") + accessor(relationship.name, type(of: relationship), isReadOnly: false)
        }
        return (attributes + relationships).joined()
    }

    private func accessor(_ name: String, _ type: String, isReadOnly: Bool) -> String {
        let swiftName = SwiftSpelling.name(name)
        let setter = isReadOnly ? "" : " set { self[Self.\(swiftName)] = newValue }"
        return "    \(access)var \(swiftName): \(type) { get { self[Self.\(swiftName)] }\(setter) }\n"
    }

    /// The method for a fetch request of the class (GEN-2).
    private var fetchRequest: String {
        "    \(access)static func fetchRequest() -> \(generator.type("FetchRequest"))<\(className)> { .init() }\n"
    }

    func type(of attribute: AttributeDescription) -> String {
        let type = generator.type(SwiftSpelling.type(of: attribute))
        return attribute.isOptional && attribute.type != .undefined ? "\(type)?" : type
    }

    func type(of relationship: RelationshipDescription) -> String {
        let destination = generator.className(ofEntity: relationship.destinationEntityName)
        guard relationship.isToMany else { return "\(destination)?" }
        return "\(generator.type(relationship.isOrdered ? "ManagedArray" : "ManagedSet"))<\(destination)>"
    }
}
