internal import HornbeamModel

/// The class of each entity's objects.
///
/// A class is bound to the entities with its name as `className`. If there are none, it is bound to the entity with the class's
/// `entityName`. A class that declares its entity binds its superclasses too. An entity without a
/// class has the class of its nearest superentity, or `ManagedObject`.
struct ClassBinding: Sendable {
    private let classes: [ManagedObject.Type]
    private let entityIndexes: [ObjectIdentifier: Int]
    private let model: ManagedObjectModel

    /// - Throws: One error with every difference between classes, their tokens and the model.
    init(_ classes: [ManagedObject.Type], model: ManagedObjectModel) throws {
        self.model = model
        var own: [Int: ManagedObject.Type] = [:]
        var problems: [HornbeamError] = []
        for type in classes {
            let entities = Self.entities(for: type, in: model)
            if entities.isEmpty { problems.append(Self.unbound(type, model)) }
            for entity in entities {
                if let other = own[entity.index], other != type {
                    problems.append(Self.mismatch("\(other) and \(type) both claim the entity.", entity, nil))
                }
                own[entity.index] = type
                problems += TokenCheck(type, entity).problems
            }
        }
        for type in classes.flatMap(Self.superclasses) {
            for entity in Self.entities(for: type, in: model) where own[entity.index] == nil { own[entity.index] = type }
        }
        for (index, type) in own.sorted(by: { $0.key < $1.key }) {
            problems += Self.unfitDestinations(of: type, model.entities[index], own)
        }
        if let error = HornbeamError.combining(problems) { throw error }
        entityIndexes = Dictionary(grouping: own) { ObjectIdentifier($0.value) }
            .compactMapValues { $0.count == 1 ? $0[0].key : nil }
        self.classes = model.entities.map { Self.nearestClass(of: $0, own) }
    }

    func objectClass(of entity: EntityDescription) -> ManagedObject.Type { classes[entity.index] }

    /// The only entity bound to the class; nil if no entity or several are bound (OBJ-16).
    func entity(of type: ManagedObject.Type) -> EntityDescription? {
        entityIndexes[ObjectIdentifier(type)].map { model.entities[$0] }
    }

    /// The superclasses that declare entities. They are bound without being listed.
    private static func superclasses(of type: ManagedObject.Type) -> [ManagedObject.Type] {
        var found: [ManagedObject.Type] = []
        var parent = type.entityDeclaration?.parent.first
        while let current = parent {
            found.append(current.objectClass)
            parent = current.parent.first
        }
        return found
    }

    private static func entities(for type: ManagedObject.Type, in model: ManagedObjectModel) -> [EntityDescription] {
        let name = String(describing: type)
        let named = model.entities.filter { plainName($0.className) == name }
        return named.isEmpty ? model.entitiesByName[type.entityName].map { [$0] } ?? [] : named
    }

    /// The class's name without its module; a leading dot means the current module (MOD-2).
    private static func plainName(_ className: String?) -> String? {
        className.flatMap { $0.split(separator: ".").last.map(String.init) }
    }

    private static func nearestClass(
        of entity: EntityDescription, _ own: [Int: ManagedObject.Type]
    ) -> ManagedObject.Type {
        var current: EntityDescription? = entity
        while let candidate = current {
            if let type = own[candidate.index] { return type }
            current = candidate.superentity
        }
        return ManagedObject.self
    }

    /// Reports typed relationships whose destination has another class than the token names. Their getters would fail.
    private static func unfitDestinations(
        of type: ManagedObject.Type, _ entity: EntityDescription, _ own: [Int: ManagedObject.Type]
    ) -> [HornbeamError] {
        type.tokens.flatMap { token -> [HornbeamError] in
            guard let typed = token as? any RelationshipToken, let wanted = typed.destinationClass as? ManagedObject.Type,
                let destination = entity.relationshipsByName[token.name]?.destinationEntity
            else { return [] }
            return destination.withSubentities.filter { !$0.isAbstract && !typed.leads(to: nearestClass(of: $0, own)) }.map { other in
                mismatch(
                    "The class \(type) does not fit: the relationship leads to objects of \(other.name), which are of class "
                        + "\(nearestClass(of: other, own)), not \(wanted). Name \(wanted) in `classes` when the container is made.",
                    entity, token.name)
            }
        }
    }

    private static func unbound(_ type: ManagedObject.Type, _ model: ManagedObjectModel) -> HornbeamError {
        let hint = suggestion(for: type.entityName, among: model.entities.map(\.name))
        return HornbeamError(
            .unboundClass,
            "The model has no entity for the class \(type)\(hint). Override `entityName` in the class, or name "
                + "the class in the entity.")
    }

    private static func mismatch(_ text: String, _ entity: EntityDescription, _ key: String?) -> HornbeamError {
        HornbeamError(.unboundClass, text, entity: entity.name, key: key)
    }
}

/// Compares a class's tokens with the bound entity.
private struct TokenCheck {
    private(set) var problems: [HornbeamError] = []
    private let type: ManagedObject.Type
    private let entity: EntityDescription

    init(_ type: ManagedObject.Type, _ entity: EntityDescription) {
        self.type = type
        self.entity = entity
        for token in type.tokens { check(token) }
    }

    private mutating func check(_ token: any PropertyToken) {
        guard let property = entity.propertiesByName[token.name] else {
            let hint = suggestion(for: token.name, among: entity.properties.map(\.name))
            return report("the entity has no property of that name\(hint)", token.name)
        }
        let written = Entity("") { token }
        if let attribute = written.attributes.first {
            check(attribute, property)
            checkUnsetValue(token, property)
        } else if let relationship = written.relationships.first {
            check(relationship, property)
        }
    }

    private mutating func check(_ written: AttributeDescription, _ property: PropertyDescription) {
        guard let attribute = property.attribute else {
            return report("it is an attribute in the class and a relationship in the model", property.name)
        }
        guard written.type != .undefined else { return }
        if !written.type.fits(attribute.type) {
            report("it is \(written.type) in the class and \(attribute.type) in the model", property.name)
        }
        if attribute.isOptional, !written.isOptional {
            report("it may be nil in the model, and the class declares a type without nil", property.name)
        } else if !attribute.isOptional, written.isOptional {
            report("it is required in the model, and the class declares an optional type", property.name)
        }
    }

    /// Reports a required attribute without a default whose type has no value for “not set”. Its getter would have nothing to return.
    private mutating func checkUnsetValue(_ token: any PropertyToken, _ property: PropertyDescription) {
        guard property.defaultValue.isNull, let value = (token as? any AttributeToken)?.valueType as? any CodedType.Type,
            !value.hasUnsetValue
        else { return }
        report("a required value of this type cannot be empty: give the property an initial value, or make it optional", property.name)
    }

    private mutating func check(_ written: RelationshipDescription, _ property: PropertyDescription) {
        guard let relationship = property.relationship else {
            return report("it is a relationship in the class and an attribute in the model", property.name)
        }
        if written.isToMany != relationship.isToMany {
            report(
                "it is to \(written.isToMany ? "many" : "one") in the class and to "
                    + "\(relationship.isToMany ? "many" : "one") in the model", property.name)
        } else if written.isOrdered != relationship.isOrdered {
            report(
                "it is \(written.isOrdered ? "ordered" : "unordered") in the class and "
                    + "\(relationship.isOrdered ? "ordered" : "unordered") in the model", property.name)
        }
    }


    private mutating func report(_ text: String, _ key: String) {
        problems.append(
            HornbeamError(
                .unboundClass, "The class \(type) does not fit: \(text).", entity: entity.name, key: key))
    }
}

extension EntityDescription {
    fileprivate var withSubentities: [EntityDescription] { [self] + subentities.flatMap(\.withSubentities) }
}

extension AttributeType {
    /// True if a token of this type can read an attribute of the type `stored`. All integer types are compatible with each other, and so are
    /// the two floating-point types.
    func fits(_ stored: AttributeType) -> Bool {
        if self == stored { return true }
        if integerRange != nil { return stored.integerRange != nil }
        return [.double, .float].contains(self) && [.double, .float].contains(stored)
    }
}
