/// An object for which predicates can be evaluated, because its values can be read by key: a managed object, a
/// dictionary or a plain Swift value.
public protocol KeyedValues {
    /// The value of one key. A key without a value returns `.value(.null)`.
    /// - Throws: `HornbeamError` when there is no such key, or the value cannot be read.
    func evaluatedValue(forKey key: String) throws -> EvaluatedValue

    /// The identity for comparisons with other objects: an object ID, if the object has one.
    var evaluatedIdentity: PropertyValue? { get }

    /// The keys of `ANYKEY`; nil when they are not known.
    var evaluatedKeys: [String]? { get }
}

extension KeyedValues {
    public var evaluatedIdentity: PropertyValue? { nil }
    public var evaluatedKeys: [String]? { nil }
}

/// The value of a key: a plain value, one object, or a collection of objects and values.
public enum EvaluatedValue {
    /// A plain value, or `.null` for none.
    case value(PropertyValue)
    /// The object at the end of a to-one relationship; no object is `.value(.null)`.
    case object(any KeyedValues)
    /// A collection. With `isOrdered` false, equality ignores the order.
    case collection([EvaluatedValue], isOrdered: Bool)
}
