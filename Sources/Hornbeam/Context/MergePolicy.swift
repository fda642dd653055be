internal import HornbeamModel

/// What a save does when others saved the same objects meanwhile (section 1.15, MRG-1 … MRG-5).
///
/// Properties that only one side changed never conflict while the context merges the saves of others;
/// what is left for the policy are properties that both changed, deletions, and unique values.
public struct MergePolicy: Hashable, Sendable {
    package enum Kind: Int, Hashable, Sendable {
        case error = 0
        case mergeByPropertyStoreTrump = 1
        case mergeByPropertyObjectTrump = 2
        case overwrite = 3
        case rollback = 4
    }
    package let kind: Kind

    /// The save throws and nothing is written (MRG-1). The default.
    public static let error = MergePolicy(kind: .error)
    /// Where both changed a property, the store's value wins. A new object gives way to a stored one
    /// with the same unique values (MRG-2).
    public static let mergeByPropertyStoreTrump = MergePolicy(kind: .mergeByPropertyStoreTrump)
    /// Where both changed a property, this context's value wins. A new object takes the place of a
    /// stored one with the same unique values (MRG-3, MRG-8).
    public static let mergeByPropertyObjectTrump = MergePolicy(kind: .mergeByPropertyObjectTrump)
    /// The whole object as it is in memory replaces the stored one (MRG-4).
    public static let overwrite = MergePolicy(kind: .overwrite)
    /// This context's changes of the object are dropped (MRG-5).
    public static let rollback = MergePolicy(kind: .rollback)
}

extension MergePolicy: CustomStringConvertible {
    public var description: String { "\(kind)" }
}
