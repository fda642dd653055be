public import HornbeamModel

/// An object that this context and another save changed (section 1.15).
///
/// Contains the values of attributes and, as IDs, of to-ones, but not of to-many relationships.
public struct MergeConflict: Sendable {
    /// The object in conflict.
    public let objectID: ManagedObjectID
    /// The entity of the object.
    public let entityName: String
    /// The values that this context had read before its changes.
    public let base: [String: PropertyValue]
    /// The values of this context; nil if it deletes the object.
    public let mine: [String: PropertyValue]?
    /// The current values in the store or the parent; nil if the object is deleted there.
    public let theirs: [String: PropertyValue]?
    /// The version that was read.
    public let oldVersion: Int
    /// The version that is stored; 0 if the row is deleted.
    public let newVersion: Int

    /// The properties that both sides changed, sorted by name.
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

/// A duplicate unique value: several objects of a save have it, or one of them and a stored object (MRG-7).
public struct ConstraintConflict: Sendable {
    /// The entity that declares the constraint.
    public let entityName: String
    /// The properties of the constraint.
    public let keys: [String]
    /// The values of `keys`, in the same order.
    public let values: [PropertyValue]
    /// The objects of this save with the values.
    public let objectIDs: [ManagedObjectID]
    /// For each of `objectIDs`, in the same order: its attributes and to-one relationships by name.
    public let mine: [[String: PropertyValue]]
    /// The stored object with the values; nil if only objects of this save conflict.
    public let storedID: ManagedObjectID?
    /// The attributes and to-one relationships of the stored object, by name; nil without a stored object.
    public let theirs: [String: PropertyValue]?
}

/// A custom policy's resolution of a duplicate unique value (MRG-6). The new objects and the stored object become one object. Without a
/// stored object, the first of the new objects remains.
public enum ConstraintResolution: Sendable {
    /// The base policy decides.
    case base
    /// The object has the stored values.
    case stored
    /// The object has the values of the new object.
    case new
    /// The object has the stored values, except for these.
    case merged([String: PropertyValue])
}

extension HornbeamError {
    /// The objects that both sides changed, with the values before and on both sides. Empty unless this is a `mergeConflict` error of a save.
    public var mergeConflicts: [MergeConflict] { (underlyingError as? RefusedConflicts)?.merges ?? [] }

    /// The duplicate unique values. Empty unless this is a `constraintConflict` error of a save.
    public var constraintConflicts: [ConstraintConflict] { (underlyingError as? RefusedConflicts)?.constraints ?? [] }
}

/// The conflicts of a refused save.
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
    /// The value before both changes.
    public let base: PropertyValue
    /// The value of this context's save.
    public let mine: PropertyValue
    /// The stored value.
    public let theirs: PropertyValue
}
