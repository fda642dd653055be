/// Conversion of evaluated values.
extension EvaluatedValue {
    /// The plain value: the identity of an object, an array or set of plain values for a collection;
    /// nil when an object has no identity.
    public var propertyValue: PropertyValue? {
        switch self {
        case .value(let value): return value
        case .object(let object): return object.evaluatedIdentity
        case .collection(let elements, let isOrdered):
            var values: [PropertyValue] = []
            for element in elements {
                guard let value = element.propertyValue else { return nil }
                values.append(value)
            }
            return isOrdered ? .array(values) : .set(Set(values))
        }
    }

    package var isNull: Bool {
        if case .value(.null) = self { true } else { false }
    }

    /// True for a dictionary, such as a composite. Key paths treat it as one value, although it has elements.
    var isDictionary: Bool {
        if case .value(.dictionary) = self { true } else { false }
    }

    /// The elements of a collection; for a dictionary, its values.
    package var elements: [EvaluatedValue]? {
        switch self {
        case .collection(let elements, _): elements
        case .value(.array(let values)): values.map { .value($0) }
        case .value(.set(let values)): values.map { .value($0) }
        case .value(.dictionary(let pairs)): pairs.values.map { .value($0) }
        case .value, .object: nil
        }
    }

    var isOrderedCollection: Bool {
        switch self {
        case .collection(_, let isOrdered): isOrdered
        case .value(.array): true
        default: false
        }
    }

    /// The elements for an aggregate: no elements for nil, and the value itself when it is not a collection.
    var members: [EvaluatedValue] {
        isNull ? [] : (elements ?? [self])
    }

    /// A key that is the same for equal values; different values may share it. See `MemberTable`.
    var equalityKey: EqualityKey {
        switch self {
        case .value(.string(let text)): return .text(Array(text.utf8))
        case .value(let value): return .value(value.normalizedForEquality)
        case .object(let object):
            if let identity = object.evaluatedIdentity { return .value(identity) }
            return .object(ObjectIdentifier(object as AnyObject))
        case .collection: return .collection
        }
    }

    enum EqualityKey: Hashable {
        case value(PropertyValue)
        /// Bytes, because `String` compares canonically equivalent texts as equal.
        case text([UInt8])
        case object(ObjectIdentifier)
        /// All collections share one key; their elements are compared.
        case collection
    }
}

extension PropertyValue {
    /// A number in the same form as all equal numbers: `int` if it is integral, else `double`. Other values are unchanged.
    package var normalizedForEquality: PropertyValue {
        switch self {
        case .bool(let flag): .int(flag ? 1 : 0)
        case .double(let number): Int64(exactly: number).map(PropertyValue.int) ?? self
        case .decimal: intValue.map(PropertyValue.int) ?? doubleValue.map(PropertyValue.double) ?? self
        default: self
        }
    }
}

/// A dictionary has a value for each of its keys; a missing key is nil.
extension Dictionary: KeyedValues where Key == String, Value == PropertyValue {
    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue { .value(self[key] ?? .null) }
    public var evaluatedKeys: [String]? { Array(keys) }
}
