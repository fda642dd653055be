// Settings of tokens that their initialisers do not have as parameters.

extension Attribute {
    /// Returns the attribute with validation rules, a version hash modifier and user info.
    ///
    /// `Attribute<Int>("pages").adding(rules: [ValidationRule("SELF % 2 == 0")])`
    /// - Parameters:
    ///   - rules: Predicates over the value, in which `SELF` is the value (ATT-8).
    ///   - version: Text that makes this version differ from an otherwise equal one (MOD-12).
    ///   - userInfo: The app's own texts by key (MOD-7).
    public func adding(rules: [ValidationRule] = [], version: String? = nil, userInfo: [String: String] = [:]) -> Self {
        guard case .attribute(var description, let isUnique, let isIndexed) = part.content else { return self }
        description.rules += rules
        description.versionHashModifier = version ?? description.versionHashModifier
        description.userInfo.merge(userInfo) { $1 }
        return Self(describing: description, unique: isUnique, indexed: isIndexed)
    }
}

extension RelationshipDescription {
    func adding(version: String?, userInfo: [String: String]) -> Self {
        var copy = self
        copy.versionHashModifier = version ?? versionHashModifier
        copy.userInfo.merge(userInfo) { $1 }
        return copy
    }
}

extension Attribute {
    /// An attribute for a `Codable` value, with a default that is not wrapped in `Coded`.
    @_disfavoredOverload
    public init<Coding>(
        _ name: String, default defaultValue: Coding, unique: Bool = false, indexed: Bool = false, transient: Bool = false,
        derivation: String? = nil, merge: MergeRule? = nil, transformer: String? = nil, external: Bool = false, preserved: Bool = false,
        renamedFrom renamingIdentifier: String? = nil
    ) where Value == Coded<Coding> {
        self.init(
            name, default: Coded(defaultValue), unique: unique, indexed: indexed, transient: transient, derivation: derivation, merge: merge,
            transformer: transformer, external: external, preserved: preserved, renamedFrom: renamingIdentifier)
    }

    /// An optional attribute for a `Codable` value, with a default that is not wrapped in `Coded`.
    @_disfavoredOverload
    public init<Coding>(
        _ name: String, default defaultValue: Coding, unique: Bool = false, indexed: Bool = false, transient: Bool = false,
        derivation: String? = nil, merge: MergeRule? = nil, transformer: String? = nil, external: Bool = false, preserved: Bool = false,
        renamedFrom renamingIdentifier: String? = nil
    ) where Value == Coded<Coding>? {
        self.init(
            name, default: .some(.some(Coded(defaultValue))), unique: unique, indexed: indexed, transient: transient,
            derivation: derivation, merge: merge, transformer: transformer, external: external, preserved: preserved,
            renamedFrom: renamingIdentifier)
    }
}
