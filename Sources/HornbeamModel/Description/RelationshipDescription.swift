/// The effect of a deletion on the objects at the other end. Raw values are Core Data's (REL-6).
public enum DeleteRule: Int, Hashable, Sendable, CaseIterable {
    /// None: the objects at the other end still refer to the deleted object.
    case noAction = 0
    /// The reference at the other end is removed. The default.
    case nullify = 1
    /// The objects at the other end are deleted too.
    case cascade = 2
    /// The object cannot be deleted while there are objects at the other end.
    case deny = 3
}

/// A relationship as declared in a model.
///
/// ```swift
/// RelationshipDescription("books", to: "Book", inverse: "author", toMany: true, deleteRule: .cascade)
/// ```
public struct RelationshipDescription: Hashable, Sendable {
    /// The name, unique within the entity.
    public var name: String
    /// The name of the entity at the other end.
    public var destinationEntityName: String
    /// The name of the inverse relationship at the destination; nil for a one-way relationship (REL-4).
    public var inverseName: String?
    /// True for a to-many relationship, false for a to-one (REL-1).
    public var isToMany: Bool
    /// True for an ordered to-many relationship (REL-5).
    public var isOrdered: Bool
    /// True when the relationship may be empty at save.
    public var isOptional: Bool
    /// True when the relationship is tracked but never stored (REL-7).
    public var isTransient: Bool
    /// The minimum number of objects of a to-many at save; not enforced on an empty optional relationship (REL-2).
    public var minCount: Int
    /// The maximum number of objects of a to-many at save; 0 for no limit (REL-2).
    public var maxCount: Int
    /// The effect of an object's deletion on the objects at the other end.
    public var deleteRule: DeleteRule
    /// The merge rule for a to-one that two contexts changed: `mine`, `theirs` or `custom`; nil applies the
    /// merge policy (MRG-6). To-many relationships are always merged member by member (MRG-11).
    public var mergeRule: MergeRule?
    /// The name of this relationship in older versions of the model; nil means `name` (MOD-13).
    public var renamingIdentifier: String?
    /// Text that makes this version differ from an otherwise equal one (MOD-12).
    public var versionHashModifier: String?
    /// The app's own texts by key; not part of the version hash (MOD-7).
    public var userInfo: [String: String]

    /// A relationship to the named entity; a to-one unless `toMany` is true.
    public init(
        _ name: String, to destination: String, inverse: String? = nil, toMany: Bool = false,
        ordered: Bool = false, optional: Bool = true, transient: Bool = false,
        minCount: Int = 0, maxCount: Int? = nil, deleteRule: DeleteRule = .nullify,
        renamedFrom renamingIdentifier: String? = nil, userInfo: [String: String] = [:]
    ) {
        self.name = name
        destinationEntityName = destination
        inverseName = inverse
        isToMany = toMany
        isOrdered = ordered
        isOptional = optional
        isTransient = transient
        self.minCount = minCount
        self.maxCount = maxCount ?? (toMany ? 0 : 1)
        self.deleteRule = deleteRule
        mergeRule = nil
        self.renamingIdentifier = renamingIdentifier
        versionHashModifier = nil
        self.userInfo = userInfo
    }
}

/// Encoded as the name of Xcode in camel case (`"noAction"`).
extension DeleteRule: Codable, CustomStringConvertible {
    public var description: String {
        switch self {
        case .noAction: "noAction"
        case .nullify: "nullify"
        case .cascade: "cascade"
        case .deny: "deny"
        }
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let rule = Self.allCases.first(where: { $0.description == name }) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "“\(name)” is not a delete rule"
                    + suggestion(for: name, among: Self.allCases.map(\.description)) + ".")
        }
        self = rule
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
