/// Reading values out of what keys answer.
extension EvaluatedValue {
    /// The plain value. An object answers with its identity, a collection with an array or set of plain
    /// values; nil when an object has no identity.
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

    /// A dictionary is one value on the way of a key path, a composite for instance, though it has members.
    var isDictionary: Bool {
        if case .value(.dictionary) = self { true } else { false }
    }

    /// The members, when this is a collection of any kind; a dictionary has its values as members.
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

    /// The members for an aggregate: none for nil, the value itself for what is no collection.
    var members: [EvaluatedValue] {
        isNull ? [] : (elements ?? [self])
    }

    /// What equal values have in common; others may have it too. See `MemberTable`.
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
        /// Bytes, since `String` takes canonically equivalent texts for equal.
        case text([UInt8])
        case object(ObjectIdentifier)
        /// All collections: their members tell them apart.
        case collection
    }
}

extension PropertyValue {
    /// One form for all numbers that are equal: whole ones as `int`, others as `double`.
    package var normalizedForEquality: PropertyValue {
        switch self {
        case .bool(let flag): .int(flag ? 1 : 0)
        case .double(let number): Int64(exactly: number).map(PropertyValue.int) ?? self
        case .decimal: intValue.map(PropertyValue.int) ?? doubleValue.map(PropertyValue.double) ?? self
        default: self
        }
    }
}

/// A dictionary answers for its keys; a missing key is nil.
extension Dictionary: KeyedValues where Key == String, Value == PropertyValue {
    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue { .value(self[key] ?? .null) }
    public var evaluatedKeys: [String]? { Array(keys) }
}
