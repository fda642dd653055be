public import Foundation

/// Reads one key of a type without boxing.
///
/// The closure is found once, when a predicate is compiled. Safe: only `utf8` passes a pointer, to a test that does not store it.
@safe public enum KeyedAccessor<Object> {
    /// Reads an integer.
    case int((Object) throws -> Int64?)
    /// Reads a floating-point number.
    case double((Object) throws -> Double?)
    /// Reads a Boolean.
    case bool((Object) throws -> Bool?)
    /// Reads a text.
    case string((Object) throws -> String?)
    /// Reads a date.
    case date((Object) throws -> Date?)
    /// Passes the UTF-8 bytes of a text, or nil, to a closure. For objects that store UTF-8 instead of a `String`.
    case utf8((Object, (UnsafeBufferPointer<UInt8>?) throws -> Bool) throws -> Bool)
    /// Any other plain value.
    case value((Object) throws -> PropertyValue)
    /// An object, or a collection.
    case related((Object) throws -> EvaluatedValue)
}

extension KeyedAccessor {
    /// The value of the key, in any form.
    public func evaluated(_ object: Object) throws -> EvaluatedValue {
        switch self {
        case .int(let get): return .value(try get(object).map(PropertyValue.int) ?? .null)
        case .double(let get): return .value(try get(object).map(PropertyValue.double) ?? .null)
        case .bool(let get): return .value(try get(object).map(PropertyValue.bool) ?? .null)
        case .string(let get): return .value(try get(object).map(PropertyValue.string) ?? .null)
        case .date(let get): return .value(try get(object).map(PropertyValue.date) ?? .null)
        case .utf8(let withBytes):
            var text: String?
            _ = unsafe try withBytes(object) { bytes in
                text = unsafe bytes.map { unsafe String(decoding: $0, as: UTF8.self) }
                return true
            }
            return .value(text.map(PropertyValue.string) ?? .null)
        case .value(let get): return .value(try get(object))
        case .related(let get): return try get(object)
        }
    }
}

/// A Swift type with an accessor for each key, so that predicates can be compiled for it.
///
/// ```swift
/// extension Place: TypedKeyedValues {
///     static func accessor(forKey key: String) -> KeyedAccessor<Place>? {
///         switch key {
///         case "latitude": .double { $0.latitude }
///         case "name": .string { $0.name }
///         default: nil
///         }
///     }
/// }
/// ```
public protocol TypedKeyedValues: KeyedValues {
    /// The accessor of a key; nil when there is no such key.
    static func accessor(forKey key: String) -> KeyedAccessor<Self>?
}

extension TypedKeyedValues {
    public func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        guard let accessor = Self.accessor(forKey: key) else {
            throw HornbeamError(.unknownKey, "The type \(Self.self) has no key “\(key)”.", key: key)
        }
        return try accessor.evaluated(self)
    }
}

/// Resolves keys when a predicate is compiled for objects of a type.
package struct PredicateResolver<Object> {
    /// The accessor of a key; throws when there is no such key.
    package var accessor: (String) throws -> KeyedAccessor<Object>
    /// The object in the form that the interpreter reads, for the parts that it evaluates.
    package var evaluated: (Object) -> EvaluatedValue

    package init(
        accessor: @escaping (String) throws -> KeyedAccessor<Object>,
        evaluated: @escaping (Object) -> EvaluatedValue
    ) {
        self.accessor = accessor
        self.evaluated = evaluated
    }
}
