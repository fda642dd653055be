/// The static type of an expression.
package indirect enum ExpressionType: Hashable, Sendable {
    /// Unknown: a variable without a value, a transformable attribute, a block.
    case unknown
    case null
    case number, string, date, data, uuid, uri
    /// An object of an entity, or an object ID of an unknown entity.
    case object(EntityDescription?)
    case collection(ExpressionType)
    /// A composite attribute with its elements, or a dictionary.
    case dictionary([String: ExpressionType]?)

    package init(_ value: PropertyValue) {
        switch value {
        case .null: self = .null
        case .bool, .int, .double, .decimal: self = .number
        case .string: self = .string
        case .date: self = .date
        case .data: self = .data
        case .uuid: self = .uuid
        case .uri: self = .uri
        case .objectID: self = .object(nil)
        case .array(let values): self = .collection(Self.common(values.lazy.map { Self($0) }))
        case .set(let values): self = .collection(Self.common(values.lazy.map { Self($0) }))
        case .dictionary: self = .dictionary(nil)
        }
    }

    package init(_ attribute: AttributeDescription, elements: [AttributeDescription] = []) {
        switch attribute.type {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: self = .number
        case .string: self = .string
        case .date: self = .date
        case .binary: self = .data
        case .uuid: self = .uuid
        case .uri: self = .uri
        case .objectID: self = .object(nil)
        case .composite:
            let types = elements.map { ($0.name, ExpressionType($0)) }
            self = .dictionary(types.isEmpty ? nil : Dictionary(types) { first, _ in first })
        case .undefined, .transformable: self = .unknown
        }
    }

    /// The type that all have in common; unknown when they differ, or the list is empty. Null is ignored.
    static func common(_ types: some Sequence<ExpressionType>) -> ExpressionType {
        var result: ExpressionType?
        for type in types where type != .null {
            if let known = result, known != type { return .unknown }
            result = type
        }
        return result ?? .unknown
    }

    /// True when values of the two types can be equal.
    func isComparable(to other: ExpressionType) -> Bool {
        switch (self, other) {
        case (.unknown, _), (_, .unknown), (.null, _), (_, .null): true
        case (.object(let a?), .object(let b?)): a.isKind(of: b) || b.isKind(of: a)
        case (.object, .object), (.dictionary, .dictionary): true
        case (.collection(let a), .collection(let b)): a.isComparable(to: b)
        default: self == other
        }
    }

    /// True when values of the type are ordered.
    var isOrdered: Bool {
        switch self {
        case .unknown, .null, .number, .string, .date, .data, .uuid, .uri: true
        case .object, .collection, .dictionary: false
        }
    }

    /// True when a value of this type can have the type `wanted`.
    func canHaveType(_ wanted: ExpressionType) -> Bool { self == wanted || self == .unknown || self == .null }

    /// The type in the text of an error.
    var words: String {
        switch self {
        case .unknown: "a value of unknown type"
        case .null: "nil"
        case .number: "a number"
        case .string: "a string"
        case .date: "a date"
        case .data: "binary data"
        case .uuid: "a UUID"
        case .uri: "a URI"
        case .object(let entity?): "an object of the entity “\(entity.name)”"
        case .object(nil): "an object"
        case .collection: "a collection"
        case .dictionary: "a dictionary"
        }
    }
}
