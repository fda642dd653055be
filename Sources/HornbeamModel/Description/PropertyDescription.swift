/// A property of a compiled model: an attribute or a relationship with resolved references.
///
/// An inherited property is the same instance in the declaring entity and in all its descendants,
/// with the same `index`.
public final class PropertyDescription: Sendable {
    /// The kinds of property, with the declaration.
    public enum Kind: Sendable {
        /// The property is an attribute.
        case attribute(AttributeDescription)
        /// The property is a relationship.
        case relationship(RelationshipDescription)
    }

    /// The name, unique within the entity.
    public let name: String
    /// The position in `properties` of the entity, the same in all subentities.
    public let index: Int
    /// The declaration of the property.
    public let kind: Kind
    /// The value in a new object, converted to the attribute's type; `.null` for a relationship (ATT-4).
    public let defaultValue: PropertyValue
    /// The type of an attribute; `objectID` for a relationship.
    public let attributeType: AttributeType
    /// True for an attribute, false for a relationship.
    public let isAttribute: Bool
    /// True if the value may be missing at save.
    public let isOptional: Bool
    /// True when the property is tracked but never stored (ATT-10, REL-7).
    public let isTransient: Bool
    /// True for a to-many relationship.
    public let isToMany: Bool
    /// True for an ordered to-many relationship (REL-5).
    public let isOrdered: Bool
    /// The effect of a deletion on the objects at the other end; `noAction` for an attribute.
    public let deleteRule: DeleteRule
    /// The elements of a composite attribute, by name (ATT-13); empty for others.
    public let compositeElements: [AttributeDescription]
    package let nameID: PropertyNameID
    /// True when a value can be invalid: the property is required, or has limits, a pattern or rules.
    package let needsValidation: Bool
    /// True when a value of the right type can be invalid: the property is a relationship, or has limits, a pattern or rules.
    package var limitsValues: Bool { rules?.limitsValues ?? true }
    /// The rules for the values of an attribute; nil for a relationship.
    let rules: AttributeRules?
    /// The expression of a derived attribute; nil for other properties (ATT-11).
    public let derivation: Derivation?

    // Unchecked access: the compiler sets it once, before other threads can see the model, and then it is only read.
    nonisolated(unsafe) private var link: Link?

    private struct Link {
        let entity: EntityDescription
        let destination: EntityDescription?
        let inverse: PropertyDescription?
    }

    /// The model compiler has checked the derivation, pattern and predicates that are parsed here.
    init(name: String, index: Int, kind: Kind, composites: [String: CompositeDescription]) {
        self.name = name
        self.index = index
        self.kind = kind
        nameID = PropertyNameID(name)
        switch kind {
        case .attribute(let attribute):
            let rules = AttributeRules(attribute, composites: composites)
            attributeType = attribute.type
            isAttribute = true
            isOptional = attribute.isOptional
            isTransient = attribute.isTransient
            (isToMany, isOrdered, deleteRule) = (false, false, .noAction)
            compositeElements = attribute.compositeName.flatMap { composites[$0]?.elements } ?? []
            defaultValue = rules.defaultValue
            derivation = attribute.derivation.flatMap { try? Derivation($0) }
            needsValidation = rules.canBeInvalid
            self.rules = rules
        case .relationship(let relationship):
            attributeType = .objectID
            isAttribute = false
            isOptional = relationship.isOptional
            isTransient = relationship.isTransient
            isToMany = relationship.isToMany
            isOrdered = relationship.isOrdered
            deleteRule = relationship.deleteRule
            compositeElements = []
            defaultValue = .null
            derivation = nil
            needsValidation = (!relationship.isOptional && !relationship.isToMany) || relationship.minCount > 0
                || (relationship.isToMany && relationship.maxCount > 0)
            rules = nil
        }
    }

    func resolve(entity: EntityDescription, destination: EntityDescription?, inverse: PropertyDescription?) {
        unsafe precondition(link == nil, "A property is resolved once.")
        unsafe link = Link(entity: entity, destination: destination, inverse: inverse)
    }

    /// The entity that declares the property.
    public var entity: EntityDescription {
        guard let link = unsafe link else { preconditionFailure("The property is read before its model is complete.") }
        return link.entity
    }

    /// The entity at the other end of a relationship; nil for an attribute.
    public var destinationEntity: EntityDescription? { unsafe link?.destination }

    /// The inverse relationship; nil for an attribute and for a one-way relationship.
    public var inverse: PropertyDescription? { unsafe link?.inverse }
}

extension PropertyDescription {
    /// The attribute as declared; nil for a relationship.
    public var attribute: AttributeDescription? {
        if case .attribute(let attribute) = kind { attribute } else { nil }
    }

    /// The relationship as declared; nil for an attribute.
    public var relationship: RelationshipDescription? {
        if case .relationship(let relationship) = kind { relationship } else { nil }
    }

    /// True for a relationship, false for an attribute.
    public var isRelationship: Bool { !isAttribute }

    /// True for a to-one relationship.
    public var isToOne: Bool { !isAttribute && !isToMany }

    /// True when the value is computed at save (ATT-11).
    public var isDerived: Bool { derivation != nil }

    /// The name of the property in older versions of the model (MOD-13).
    public var renamingIdentifier: String {
        switch kind {
        case .attribute(let attribute): attribute.renamingIdentifier ?? name
        case .relationship(let relationship): relationship.renamingIdentifier ?? name
        }
    }

    /// The merge rule for a property that two contexts changed; nil applies the merge policy (MRG-6).
    public var mergeRule: MergeRule? {
        switch kind {
        case .attribute(let attribute): attribute.mergeRule
        case .relationship(let relationship): relationship.mergeRule
        }
    }

    /// The app's own texts by key (MOD-7).
    public var userInfo: [String: String] {
        switch kind {
        case .attribute(let attribute): attribute.userInfo
        case .relationship(let relationship): relationship.userInfo
        }
    }
}

extension PropertyDescription: Hashable, CustomStringConvertible {
    public static func == (a: PropertyDescription, b: PropertyDescription) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// `Book.title: string`, `Author.books: to many Book`.
    public var description: String {
        switch kind {
        case .attribute(let attribute):
            "\(entity.name).\(name): \(attribute.type)\(attribute.isOptional ? "?" : "")"
        case .relationship(let relationship):
            "\(entity.name).\(name): to \(relationship.isToMany ? "many" : "one") "
                + relationship.destinationEntityName
        }
    }
}
