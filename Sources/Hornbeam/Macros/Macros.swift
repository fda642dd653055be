public import HornbeamModel

/// Declares an entity by a class. The class's stored properties become attributes and relationships of the model.
///
/// ```swift
/// @Entity final class Author: ManagedObject {
///     @Attribute(.unique) var name: String
///     @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: Set<Book>
/// }
/// ```
/// The type determines the kind of property. `Book?`, with an entity's class, is a to-one relationship. `Set<Book>` and `ManagedSet<Book>` are
/// to-many, `[Book]` and `ManagedArray<Book>` ordered to-many relationships. All other types are attributes. The macro adds a token for each
/// property, the entity's declaration and an initialiser, `Author(in: context, name: …)`. `Docs/Models.md` shows the expansion.
///
/// - Parameters:
///   - name: The entity's name; by default the class's name.
///   - abstract: True if only subentities have objects. Write the literal `true`, not an expression.
///   - renamedFrom: The entity's name in older versions of the model.
///   - version: The version hash modifier: another text gives an otherwise unchanged entity another version hash.
///   - userInfo: Texts for the program's own use.
@attached(memberAttribute)
@attached(member, names: arbitrary)
public macro Entity(
    _ name: String? = nil, abstract: Bool = false, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "EntityMacro")

/// Declares options of an attribute: `@Attribute(.unique, maximumLength: 80) var name: String`.
///
/// The parameters are those of the token `Attribute`. `default` is a value that is created once for all new objects, such as
/// `Settings()`. If the initial value of the property is a call, it is evaluated again for each new object. A property with a `derivation` is read-only.
@attached(peer)
public macro Attribute(
    _ options: AttributeOption..., default: (any Sendable)? = nil, type: AttributeType? = nil, minimum: (any Sendable)? = nil,
    maximum: (any Sendable)? = nil, minimumLength: Int? = nil, maximumLength: Int? = nil, pattern: String? = nil,
    rules: [ValidationRule] = [], derivation: String? = nil, merge: MergeRule? = nil, composite: String? = nil, transformer: String? = nil,
    renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Declares options of a relationship: `@Relationship(deleteRule: .cascade, inverse: \Book.author) var books: Set<Book>`.
///
/// The inverse can be omitted if the destination has only one relationship to this entity. Declare it at one end only, because the
/// compiler cannot resolve two key paths that depend on each other. `nil` declares a one-way relationship.
@attached(peer)
public macro Relationship(
    optional: Bool = true, minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify, merge: MergeRule? = nil,
    inverse: AnyKeyPath? = nil, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Declares options of a relationship, with its inverse by name: `@Relationship(inverse: "author")`.
@attached(peer)
public macro Relationship(
    optional: Bool = true, minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify, merge: MergeRule? = nil,
    inverse: String, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Excludes a property of an entity from the model: it is an ordinary property in memory.
@attached(peer)
public macro Transient() = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Declares an index for each list of properties: `#Index<Book>([\.year], [\.author, \.title])`.
@freestanding(declaration)
public macro Index<Object: ManagedObject>(
    _ lists: [PartialKeyPath<Object>]..., name: String? = nil, where predicate: String? = nil
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Declares one index over elements with a direction or a collation: `#Index<Book>(.folded(\.title), .descending(\.year))`.
@freestanding(declaration)
public macro Index<Object: ManagedObject>(
    _ elements: IndexElement<Object>..., name: String? = nil, where predicate: String? = nil
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Declares a uniqueness constraint for each list of properties: `#Unique<Book>([\.title, \.year])`.
@freestanding(declaration)
public macro Unique<Object: ManagedObject>(_ lists: [PartialKeyPath<Object>]...) =
    #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Declares a fetched property: `#FetchedProperty("reviews", entity: "Review", where: "authorID == $FETCH_SOURCE.id")`.
@freestanding(declaration)
public macro FetchedProperty(
    _ name: String, entity: String, where predicate: String? = nil, sortedBy: [FetchSort] = [], userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Generates accessors that use a property's token. `@Entity` adds this macro to the properties of the model.
@attached(accessor)
public macro ManagedProperty() = #externalMacro(module: "HornbeamMacros", type: "ManagedPropertyMacro")

/// A boolean option of an attribute.
public enum AttributeOption: Sendable {
    /// Adds a uniqueness constraint.
    case unique
    /// Adds an index.
    case indexed
    /// Tracked, undone and rolled back like other attributes, but never stored (ATT-10).
    case transient
    /// A store may keep large values outside the row (ATT-14).
    case external
    /// History preserves the value of a deleted object (ATT-15).
    case preserved
}

/// One element of an index in `#Index`. The macro reads it from the source, and generates a `FetchIndexElement` from it.
public struct IndexElement<Object: ManagedObject> {
    /// The property in ascending order.
    public static func ascending(_ property: PartialKeyPath<Object>, collation: IndexCollation = .binary) -> Self { Self() }
    /// The property in descending order.
    public static func descending(_ property: PartialKeyPath<Object>, collation: IndexCollation = .binary) -> Self { Self() }
    /// The property with a collation, by default without case and diacritics.
    public static func folded(
        _ property: PartialKeyPath<Object>, _ collation: IndexCollation = .caseAndDiacriticInsensitive
    ) -> Self { Self() }
    /// A path into a composite: `.path("place.city")`.
    public static func path(_ path: String, ascending: Bool = true, collation: IndexCollation = .binary) -> Self { Self() }
    /// The value of an expression.
    public static func expression(_ expression: String, ascending: Bool = true) -> Self { Self() }
}
