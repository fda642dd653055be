public import HornbeamModel

/// Makes a class an entity: its stored properties become attributes and relationships of the model.
///
/// ```swift
/// @Entity final class Author: ManagedObject {
///     @Attribute(.unique) var name: String
///     @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: Set<Book>
/// }
/// ```
/// The types decide: `Book?` of an entity's class is a relationship to one object, `Set<Book>` and `ManagedSet<Book>` to many, `[Book]` and
/// `ManagedArray<Book>` to many in order; all other types are attributes. The macro adds a token for each property, the entity's declaration
/// and an initialiser, `Author(in: context, name: …)`. `Docs/Models.md` shows what it expands to.
///
/// - Parameters:
///   - name: The entity's name; the class's name unless given.
///   - abstract: Only subentities have objects. Write `true`, not an expression.
///   - renamedFrom: The entity's name in older versions of the model.
///   - version: Text that makes this version differ from others though nothing else does.
///   - userInfo: Notes of the app.
@attached(memberAttribute)
@attached(member, names: arbitrary)
public macro Entity(
    _ name: String? = nil, abstract: Bool = false, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "EntityMacro")

/// Says more about an attribute of an entity: `@Attribute(.unique, maximumLength: 80) var name: String`.
///
/// The parameters mean what they mean for the token `Attribute`. `default` is for a value that is made once, such as `Settings()`; an
/// initial value that is a call is made anew for each object. A property with a `derivation` can only be read.
@attached(peer)
public macro Attribute(
    _ options: AttributeOption..., default: (any Sendable)? = nil, type: AttributeType? = nil, minimum: (any Sendable)? = nil,
    maximum: (any Sendable)? = nil, minimumLength: Int? = nil, maximumLength: Int? = nil, pattern: String? = nil,
    rules: [ValidationRule] = [], derivation: String? = nil, merge: MergeRule? = nil, composite: String? = nil, transformer: String? = nil,
    renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Says more about a relationship of an entity: `@Relationship(deleteRule: .cascade, inverse: \Book.author) var books: Set<Book>`.
///
/// The inverse may be left out where only one relationship of the destination leads back. Name it at one end only; the compiler cannot
/// resolve two key paths that need each other. `nil` says that there is none.
@attached(peer)
public macro Relationship(
    optional: Bool = true, minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify, merge: MergeRule? = nil,
    inverse: AnyKeyPath? = nil, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// The same with the inverse by name: `@Relationship(inverse: "author")`.
@attached(peer)
public macro Relationship(
    optional: Bool = true, minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify, merge: MergeRule? = nil,
    inverse: String, renamedFrom: String? = nil, version: String? = nil, userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Leaves a property of an entity out of the model: it is an ordinary property in memory, gone with the object.
@attached(peer)
public macro Transient() = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Keeps an index for each list of properties: `#Index<Book>([\.year], [\.author, \.title])`.
@freestanding(declaration)
public macro Index<Object: ManagedObject>(
    _ lists: [PartialKeyPath<Object>]..., name: String? = nil, where predicate: String? = nil
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Keeps one index over elements with a direction or a collation: `#Index<Book>(.folded(\.title), .descending(\.year))`.
@freestanding(declaration)
public macro Index<Object: ManagedObject>(
    _ elements: IndexElement<Object>..., name: String? = nil, where predicate: String? = nil
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Requires that no two objects have the same values for a list of properties: `#Unique<Book>([\.title, \.year])`.
@freestanding(declaration)
public macro Unique<Object: ManagedObject>(_ lists: [PartialKeyPath<Object>]...) =
    #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Adds a fetched property: `#FetchedProperty("reviews", entity: "Review", where: "authorID == $FETCH_SOURCE.id")`.
@freestanding(declaration)
public macro FetchedProperty(
    _ name: String, entity: String, where predicate: String? = nil, sortedBy: [FetchSort] = [], userInfo: [String: String] = [:]
) = #externalMacro(module: "HornbeamMacros", type: "MarkerMacro")

/// Gives a property the accessors that read and write it by its token. `@Entity` adds this where it belongs.
@attached(accessor)
public macro ManagedProperty() = #externalMacro(module: "HornbeamMacros", type: "ManagedPropertyMacro")

/// A quality of an attribute that is there or not.
public enum AttributeOption: Sendable {
    /// No two objects have the same value.
    case unique
    /// An index is kept.
    case indexed
    /// Tracked, undone and reset as other attributes are, and never stored (ATT-10).
    case transient
    /// Large values may be kept apart from the row (ATT-14).
    case external
    /// History keeps the value of a deleted object (ATT-15).
    case preserved
}

/// One element of an index in `#Index`. The macro reads it from the source; at run time it is a `FetchIndexElement`.
public struct IndexElement<Object: ManagedObject> {
    /// The property from the smallest value to the largest.
    public static func ascending(_ property: PartialKeyPath<Object>, collation: IndexCollation = .binary) -> Self { Self() }
    /// The property from the largest value to the smallest.
    public static func descending(_ property: PartialKeyPath<Object>, collation: IndexCollation = .binary) -> Self { Self() }
    /// The property compared as `collation` says.
    public static func folded(
        _ property: PartialKeyPath<Object>, _ collation: IndexCollation = .caseAndDiacriticInsensitive
    ) -> Self { Self() }
    /// A path into a composite: `.path("place.city")`.
    public static func path(_ path: String, ascending: Bool = true, collation: IndexCollation = .binary) -> Self { Self() }
    /// The value of an expression.
    public static func expression(_ expression: String, ascending: Bool = true) -> Self { Self() }
}
