/// An attribute as declared in a model: its name, its type and the rules for its values.
///
/// ```swift
/// AttributeDescription("pages", .integer32, default: 1, minimum: 1, maximum: 20_000)
/// ```
/// An attribute is required by default, as in Xcode's files and in Swift: it must have a value when its object is
/// saved (ATT-3). Limits, patterns and rules are checked at save too, and are not part of the
/// version hash (MOD-11).
public struct AttributeDescription: Hashable, Sendable {
    /// The name, unique within the entity.
    public var name: String
    /// The type of the values.
    public var type: AttributeType
    /// True when the value may be missing at save.
    public var isOptional: Bool
    /// True when the value is tracked but never stored (ATT-10).
    public var isTransient: Bool
    /// The value of a new object; `.null` for none (ATT-4).
    public var defaultValue: PropertyValue
    /// The smallest value allowed: a number, or a date (ATT-5, ATT-6).
    public var minimum: PropertyValue?
    /// The largest value allowed: a number, or a date (ATT-5, ATT-6).
    public var maximum: PropertyValue?
    /// The minimum length of a string in characters, or of binary data in bytes (ATT-7).
    public var minimumLength: Int?
    /// The maximum length of a string in characters, or of binary data in bytes (ATT-7).
    public var maximumLength: Int?
    /// A pattern that the whole string must match (ATT-7).
    public var pattern: String?
    /// Predicates over the value, in which `SELF` is the value, each with its error message (ATT-8).
    public var rules: [ValidationRule]
    /// The expression that computes the value at each save: `canonical:(name)`, `books.@count`, `now()` (ATT-11).
    public var derivation: String?
    /// The name of the composite that defines the elements; for type `composite` (ATT-13).
    public var compositeName: String?
    /// The name of the transformer; for type `transformable` (ATT-12).
    public var valueTransformerName: String?
    /// The Swift type of the value; for type `transformable`, and for code generation.
    public var valueClassName: String?
    /// Allows a store to save large values outside the row (ATT-14).
    public var allowsExternalBinaryDataStorage = false
    /// The merge rule for a value that two contexts changed; nil applies the merge policy (MRG-6).
    public var mergeRule: MergeRule?
    /// Saves the value in the history's tombstone when the object is deleted (ATT-15).
    public var preservesValueInHistoryOnDeletion = false
    /// A setting for synchronisation services; no effect on the store (ATT-16).
    public var allowsCloudEncryption = false
    /// A setting for the platform's search index; no effect on the store (ATT-17).
    public var isIndexedBySpotlight = false
    /// A setting for the platform's external records; no effect on the store (ATT-17).
    public var isStoredInExternalRecord = false
    /// For code generation: a number instead of a number object (ATT-2).
    public var usesScalarValueType = false
    /// The name of this attribute in older versions of the model; nil means `name` (MOD-13).
    public var renamingIdentifier: String?
    /// Text that makes this version differ from an otherwise equal one (MOD-12).
    public var versionHashModifier: String?
    /// The app's own texts by key; not part of the version hash (MOD-7).
    public var userInfo: [String: String]

    /// An attribute with the given rules. Limits and default are converted to the attribute's type if the conversion is lossless.
    public init(
        _ name: String, _ type: AttributeType, optional: Bool = false, transient: Bool = false,
        default defaultValue: PropertyValue = .null,
        minimum: PropertyValue? = nil, maximum: PropertyValue? = nil,
        minimumLength: Int? = nil, maximumLength: Int? = nil, pattern: String? = nil,
        rules: [ValidationRule] = [], derivation: String? = nil, composite: String? = nil,
        transformer: String? = nil, renamedFrom renamingIdentifier: String? = nil,
        userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.type = type
        isOptional = optional
        isTransient = transient
        self.defaultValue = defaultValue.fitting(type)
        self.minimum = minimum?.fitting(type)
        self.maximum = maximum?.fitting(type)
        self.minimumLength = minimumLength
        self.maximumLength = maximumLength
        self.pattern = pattern
        self.rules = rules
        self.derivation = derivation
        compositeName = composite
        valueTransformerName = transformer
        self.renamingIdentifier = renamingIdentifier
        self.userInfo = userInfo
    }

    /// True when the value is computed from other properties at save (ATT-11).
    public var isDerived: Bool { derivation != nil }

    /// True when a value of the right type, or a missing value, can be invalid.
    var hasRules: Bool { !isOptional || limitsValues }

    /// True when a value of the right type can be invalid.
    var limitsValues: Bool {
        minimum != nil || maximum != nil || minimumLength != nil || maximumLength != nil
            || pattern != nil || !rules.isEmpty || type == .date
    }
}

extension PropertyValue {
    /// The value converted to the type, so that the literal `1` becomes a double for a double attribute. A value
    /// that cannot be converted is returned unchanged, and the compiler reports it.
    func fitting(_ type: AttributeType) -> PropertyValue { (try? coerced(to: type)) ?? self }
}

/// A predicate that each value of a property must satisfy, with its error message (ATT-8).
public struct ValidationRule: Hashable, Sendable {
    /// The format of the predicate. `SELF` is the value: `SELF >= 0`.
    public var predicate: String
    /// The text of the error; nil for a standard text. Localised through `ErrorString/…` (MDL-3).
    public var warning: String?

    /// A rule with the format of a predicate over `SELF` and its error message.
    public init(_ predicate: String, warning: String? = nil) {
        self.predicate = predicate
        self.warning = warning
    }
}
