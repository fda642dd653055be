/// Anything that a predicate can be evaluated on by asking for values by key: managed objects,
/// dictionaries, plain Swift values.
public protocol KeyedValues {
    /// The value of one key. A key without a value answers `.value(.null)`.
    /// - Throws: `HornbeamError` when there is no such key, or the value cannot be read.
    func evaluatedValue(forKey key: String) throws -> EvaluatedValue

    /// What makes the object equal to another one: an object ID, where it has one.
    var evaluatedIdentity: PropertyValue? { get }

    /// The keys that `ANYKEY` stands for; nil when they are not known.
    var evaluatedKeys: [String]? { get }
}

extension KeyedValues {
    public var evaluatedIdentity: PropertyValue? { nil }
    public var evaluatedKeys: [String]? { nil }
}

/// What a key answers: a plain value, one object, or objects and values in a collection.
public enum EvaluatedValue {
    /// A plain value, or `.null` for none.
    case value(PropertyValue)
    /// The object at the end of a to-one relationship; no object is `.value(.null)`.
    case object(any KeyedValues)
    /// A collection. `isOrdered` is false where equality shall not look at the order.
    case collection([EvaluatedValue], isOrdered: Bool)
}
