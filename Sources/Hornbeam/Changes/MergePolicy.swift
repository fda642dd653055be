public import HornbeamModel

/// Resolves conflicts of a save with other saves of the same objects (section 1.15, MRG-1 … MRG-6).
///
/// A property that only one side changed does not conflict while the context merges the saves of others, and
/// a property with a `MergeRule` is merged by it. The policy applies to other properties that both changed,
/// to deletions and to unique values. Its decisions are in `lastMergeReport`.
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

    /// The closures of a custom policy; two policies are equal when they have the same instance.
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
    /// The store's value wins for a property that both changed. A new object becomes the stored one
    /// with the same unique values (MRG-2).
    public static let mergeByPropertyStoreTrump = MergePolicy(.mergeByPropertyStoreTrump)
    /// This context's value wins for a property that both changed. A new object replaces the stored
    /// one with the same unique values (MRG-3, MRG-8).
    public static let mergeByPropertyObjectTrump = MergePolicy(.mergeByPropertyObjectTrump)
    /// The whole object in memory replaces the stored one (MRG-4).
    public static let overwrite = MergePolicy(.overwrite)
    /// This context's changes of the object are discarded (MRG-5).
    public static let rollback = MergePolicy(.rollback)

    /// A custom policy (MRG-6): it returns values for some properties, and another
    /// policy decides about the others.
    ///
    /// ```swift
    /// context.mergePolicy = .custom(over: .mergeByPropertyStoreTrump) { conflict in
    ///     guard conflict.entityName == "Player", let best = conflict.mine["best"] else { return [:] }
    ///     return ["best": best]
    /// }
    /// ```
    /// Called once per conflicting object and attempt, on the thread of the save, also when the object was deleted in
    /// the store (`theirs` is nil, and values have no effect). To-many relationships are merged member by member.
    ///
    /// - Parameters:
    ///   - base: The policy for properties that `resolve` leaves out, and for constraints without a closure.
    ///   - resolve: The values by property name. The save throws its errors and then writes nothing.
    ///   - constraints: Decides about new objects with a unique value that is taken. A stored object that is changed to a taken
    ///     value is always an error. The base policy decides when nil.
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
