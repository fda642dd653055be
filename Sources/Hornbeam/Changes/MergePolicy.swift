public import HornbeamModel

/// Resolves conflicts between a save and other saves of the same objects (section 1.15, MRG-1 … MRG-6).
///
/// The policy applies to properties that both sides changed, to deletions, and to unique values. It does not apply to a property with a
/// `MergeRule`. While the context merges remote changes, it does not apply to a property that only one side changed.
/// The decisions of the policy are in `lastMergeReport`.
public struct MergePolicy: Hashable, Sendable {
    package enum Kind: Int, Hashable, Sendable {
        case error = 0
        case mergeByPropertyStoreTrump = 1
        case mergeByPropertyObjectTrump = 2
        case overwrite = 3
        case rollback = 4
    }
    package let kind: Kind
    let resolver: Resolver?

    /// The closures of a custom policy. Two custom policies are equal if they have the same instance.
    final class Resolver: Sendable {
        let resolve: @Sendable (MergeConflict) throws -> [String: PropertyValue]
        let resolveConstraint: (@Sendable (ConstraintConflict) throws -> ConstraintResolution)?

        init(
            _ resolve: @escaping @Sendable (MergeConflict) throws -> [String: PropertyValue],
            _ resolveConstraint: (@Sendable (ConstraintConflict) throws -> ConstraintResolution)?
        ) {
            self.resolve = resolve
            self.resolveConstraint = resolveConstraint
        }
    }

    private init(_ kind: Kind, _ resolver: Resolver? = nil) {
        self.kind = kind
        self.resolver = resolver
    }

    /// The save throws and nothing is written (MRG-1). The default.
    public static let error = MergePolicy(.error)
    /// The store's value wins for a property that both sides changed. A new object with the unique values of a stored object is merged
    /// into it, and the stored values win (MRG-2).
    public static let mergeByPropertyStoreTrump = MergePolicy(.mergeByPropertyStoreTrump)
    /// This context's value wins for a property that both sides changed. A new object with the unique values of a stored object is merged
    /// into it, and the new values win (MRG-3, MRG-8).
    public static let mergeByPropertyObjectTrump = MergePolicy(.mergeByPropertyObjectTrump)
    /// The object in memory replaces the whole stored object (MRG-4).
    public static let overwrite = MergePolicy(.overwrite)
    /// This context's changes of the object are discarded (MRG-5).
    public static let rollback = MergePolicy(.rollback)

    /// A custom policy (MRG-6): a closure that returns values for some properties, and a base policy for the other
    /// properties.
    ///
    /// ```swift
    /// context.mergePolicy = .custom(over: .mergeByPropertyStoreTrump) { conflict in
    ///     guard conflict.entityName == "Player", let best = conflict.mine["best"] else { return [:] }
    ///     return ["best": best]
    /// }
    /// ```
    /// Called on the thread of the save, once for each conflicting object at each attempt to save. Also called if the object was deleted in
    /// the store: `theirs` is nil then, and the returned values have no effect. To-many relationships are merged member by member.
    ///
    /// - Parameters:
    ///   - base: The policy for the properties that `resolve` does not return, and for constraints if `constraints` is nil.
    ///   - resolve: Returns the values by property name. If it throws, the save throws the error and writes nothing.
    ///   - constraints: Decides about new objects that have a unique value of another object. If a change gives a stored object
    ///     the unique value of another object, the save always throws.
    public static func custom(
        over base: MergePolicy,
        _ resolve: @escaping @Sendable (MergeConflict) throws -> [String: PropertyValue],
        constraints: (@Sendable (ConstraintConflict) throws -> ConstraintResolution)? = nil
    ) -> MergePolicy {
        MergePolicy(base.kind, Resolver(resolve, constraints))
    }

    public static func == (a: Self, b: Self) -> Bool { a.kind == b.kind && a.resolver === b.resolver }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(resolver.map { ObjectIdentifier($0) })
    }
}

extension MergePolicy: CustomStringConvertible {
    public var description: String { resolver == nil ? "\(kind)" : "custom over \(kind)" }
}
