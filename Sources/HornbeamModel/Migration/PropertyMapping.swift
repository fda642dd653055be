/// The source of one property of a migrated object (MIG-6).
public struct PropertyMapping: Hashable, Sendable {
    /// The kinds of source.
    public enum Source: Hashable, Sendable {
        /// A property of the source entity, by its old name.
        case property(String)
        /// An attribute of the source entity with another type, by its old name; see `PropertyValue.converted(to:)`.
        case converted(String)
        /// The value of an expression over the old object, which is `SELF` and `$source` (MIG-7).
        case expression(FetchExpression)
        /// The default value of the new attribute; null when it has none.
        case defaultValue
        /// The store computes the attribute, because its derivation is new or changed.
        case derivation
        /// The inverse relationship, which has its own source.
        case inverse
        /// A new relationship, empty in migrated objects.
        case empty
        /// A policy or the closure of a custom stage sets the property. Before, it has its default value or null.
        case code
    }

    /// The name of the property in the destination entity.
    public var name: String
    /// The source of the value.
    public var source: Source

    /// A mapping for the property with this name in the destination entity.
    public init(_ name: String, from source: Source) {
        self.name = name
        self.source = source
    }

    /// A property whose value is an expression of the predicate language: `PropertyMapping("total", "price * count")`.
    ///
    /// - Throws: `predicateSyntax`.
    public init(_ name: String, _ format: String, _ arguments: (any PredicateArgument)?...) throws {
        self.init(name, from: .expression(try FetchExpression(format: format, arguments: arguments)))
    }

    /// A property whose value a closure computes from the old object.
    public init(_ name: String, _ body: @escaping @Sendable (EvaluatedValue) throws -> PropertyValue) {
        self.init(name, from: .expression(.block { object, _ in try body(object) }))
    }

    /// The name of the source property whose values are copied unchanged; nil for other sources.
    public var sourceName: String? {
        if case .property(let name) = source { name } else { nil }
    }
}

extension PropertyMapping: CustomStringConvertible {
    public var description: String {
        switch source {
        case .property(let old): old == name ? name : "\(name), renamed from \(old)"
        case .converted(let old): old == name ? "\(name), converted" : "\(name), converted from \(old)"
        case .expression(let expression):
            if case .block = expression.node { "\(name), computed by a closure" } else { "\(name), computed: \(expression)" }
        case .defaultValue: "\(name), new, with its default value"
        case .derivation: "\(name), computed"
        case .inverse: "\(name), new, filled from its inverse"
        case .empty: "\(name), new, empty"
        case .code: "\(name), set by code"
        }
    }
}

extension PropertyMapping.Source {
    /// True when a new attribute starts with its default value.
    package var usesDefaultValue: Bool { self == .defaultValue || self == .code }

    /// True when the values of an attribute are computed one by one.
    package var isComputed: Bool {
        switch self {
        case .converted, .expression: true
        default: false
        }
    }
}
