public import HornbeamModel

/// An object that this context and others changed since this one read it (section 1.15).
///
/// Values are those of attributes and of to-ones, as IDs; never of to-many relationships.
public struct MergeConflict: Sendable {
    /// The object in conflict.
    public let objectID: ManagedObjectID
    /// The entity of the object.
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

/// A value that must be unique and that several objects want (MRG-7).
public struct ConstraintConflict: Sendable {
    /// The entity that declares the constraint.
    public let entityName: String
    /// The properties of the constraint, and the values that they may have once.
    public let keys: [String]
    /// The values of `keys`, in the same order.
    public let values: [PropertyValue]
    /// The objects of this save that want the values, and what they want to save.
    public let objectIDs: [ManagedObjectID]
    /// The attributes and to-one relationships of each of `objectIDs`, by name, in the same order.
    public let mine: [[String: PropertyValue]]
    /// The stored object that has the values, and what is stored of it; nil when only objects of this save collide.
    public let storedID: ManagedObjectID?
    /// The attributes and to-one relationships of the stored object, by name; nil without one.
    public let theirs: [String: PropertyValue]?
}

/// What a custom policy decides about a value that must be unique (MRG-6). New objects and the stored one become one object, or the
/// first of the new objects where there is no stored one.
public enum ConstraintResolution: Sendable {
    /// The policy below the custom one decides.
    case base
    /// The object has the values that are stored.
    case stored
    /// The object has the values of the new one.
    case new
    /// The object has the values that are stored, but for these.
    case merged([String: PropertyValue])
}

extension HornbeamError {
    /// The objects that both sides changed, each with the values before and on both sides: of a `mergeConflict` that a save threw.
    public var mergeConflicts: [MergeConflict] { (underlyingError as? RefusedConflicts)?.merges ?? [] }

    /// The values that several objects want, of a `constraintConflict` that a save threw.
    public var constraintConflicts: [ConstraintConflict] { (underlyingError as? RefusedConflicts)?.constraints ?? [] }
}

/// The conflicts for which a save was refused.
struct RefusedConflicts: Error {
    var merges: [MergeConflict] = []
    var constraints: [ConstraintConflict] = []
}

/// One property that both sides changed.
public struct PropertyConflict: Hashable, Sendable {
    /// The object that both sides changed.
    public let objectID: ManagedObjectID
    /// The entity of the object.
    public let entityName: String
    /// The property that both sides changed.
    public let key: String
    /// The value before either change.
    public let base: PropertyValue
    /// The value that this context wants to save.
    public let mine: PropertyValue
    /// The value that is stored now.
    public let theirs: PropertyValue
}
