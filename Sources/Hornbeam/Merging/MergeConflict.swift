public import HornbeamModel

/// An object that this context and others changed since this one read it (section 1.15).
///
/// Values are those of attributes and of to-ones, as IDs; never of to-many relationships.
public struct MergeConflict: Sendable {
    public let objectID: ManagedObjectID
    public let entityName: String
    /// The values as this context read them.
    public let base: [String: PropertyValue]
    /// The values that this context wants to save; nil when it deletes the object.
    public let mine: [String: PropertyValue]?
    /// The values that are stored now, or that the parent has; nil when the object is deleted there.
    public let theirs: [String: PropertyValue]?
    /// The version that was read.
    public let oldVersion: Int
    /// The version that is stored; 0 when the row is gone.
    public let newVersion: Int

    /// The properties that both sides changed, in the order of their names.
    public var properties: [PropertyConflict] {
        guard let mine, let theirs else { return [] }
        return base.keys.sorted().compactMap { key in
            guard let old = base[key], let mine = mine[key], let theirs = theirs[key], mine != old, theirs != old
            else { return nil }
            return PropertyConflict(
                objectID: objectID, entityName: entityName, key: key, base: old, mine: mine, theirs: theirs)
        }
    }
}

/// One property that both sides changed.
public struct PropertyConflict: Hashable, Sendable {
    public let objectID: ManagedObjectID
    public let entityName: String
    public let key: String
    /// The value before either change.
    public let base: PropertyValue
    public let mine: PropertyValue
    public let theirs: PropertyValue
}
