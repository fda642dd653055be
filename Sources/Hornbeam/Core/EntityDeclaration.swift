public import HornbeamModel

/// The entity that a class declares. `ManagedObjectModel(for:)` builds a model from it.
///
/// `@Entity` generates it. A class without the macro can declare it:
/// ```swift
/// override class var entityDeclaration: EntityDeclaration? {
///     EntityDeclaration(Book.self, parent: super.entityDeclaration, tokens: [title, year, author]) {
///         Indexed("year")
///     }
/// }
/// ```
public struct EntityDeclaration {
    /// The entity. The destinations of its relationships are class names.
    public let entity: Entity
    let objectClass: ManagedObject.Type
    /// The declaration of the nearest superclass that has one. An array of zero or one element, because a struct cannot contain itself.
    let parent: [EntityDeclaration]
    /// The relationships for which no inverse is inferred.
    let oneWay: Set<String>

    /// The declaration of an entity by its class.
    ///
    /// - Parameters:
    ///   - objectClass: The class, whose `entityName` is the name of the entity.
    ///   - parent: The declaration of the superclass, `super.entityDeclaration`.
    ///   - tokens: The class's own properties.
    ///   - oneWay: The names of relationships for which no inverse is inferred.
    ///   - abstract: True if only subentities have objects.
    ///   - renamedFrom: The name of the entity in older versions of the model.
    ///   - version: The version hash modifier: another text gives an otherwise unchanged entity another version hash.
    ///   - userInfo: Texts for the program's own use.
    ///   - parts: Constraints, indexes and fetched properties.
    public init(
        _ objectClass: ManagedObject.Type, parent: EntityDeclaration? = nil, tokens: [any PropertyToken], oneWay: Set<String> = [],
        abstract: Bool = false, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:],
        @EntityBuilder _ parts: () -> [EntityPart]
    ) {
        var entity = Entity(
            objectClass.entityName, parent: parent?.entity.name, abstract: abstract, renamedFrom: renamedFrom, userInfo: userInfo
        ) {
            for token in tokens { token }
            parts()
        }
        entity.versionHashModifier = version
        self.entity = entity
        self.objectClass = objectClass
        self.parent = parent.map { [$0] } ?? []
        self.oneWay = oneWay
    }

    /// A declaration without constraints and indexes.
    public init(
        _ objectClass: ManagedObject.Type, parent: EntityDeclaration? = nil, tokens: [any PropertyToken], oneWay: Set<String> = [],
        abstract: Bool = false, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
    ) {
        self.init(
            objectClass, parent: parent, tokens: tokens, oneWay: oneWay, abstract: abstract, renamedFrom: renamedFrom, version: version,
            userInfo: userInfo, { [] })
    }
}
