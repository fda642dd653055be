/// One column of a fetch with dictionary results (FET-12, FET-16).
public enum FetchColumn: Hashable, Sendable, Codable, ExpressibleByStringLiteral {
    /// A key path to an attribute or a to-one relationship.
    case property(String)
    /// A computed value, with its name in the dictionary. A nil type means the type of the value.
    case expression(name: String, FetchExpression, type: AttributeType?)

    public init(stringLiteral keyPath: String) { self = .property(keyPath) }

    /// A computed value with a format: `.expression("total", "lines.@sum.price")`.
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax`.
    public static func expression(_ name: String, _ format: String, type: AttributeType? = nil) throws -> Self {
        .expression(name: name, try FetchExpression(format: format), type: type)
    }

    /// The key of the column in the dictionary.
    public var name: String {
        switch self {
        case .property(let keyPath): keyPath
        case .expression(let name, _, _): name
        }
    }
}

extension FetchColumn {
    /// The number of objects in the group; without groups, the number of all results.
    public static func count(as name: String) -> Self { total(.count, .evaluatedObject, name) }

    /// The number of objects with a value at the key path.
    public static func count(of keyPath: String, as name: String) -> Self { total(.count, node(keyPath), name) }

    /// The number of different values at the key path.
    ///
    /// - Parameters:
    ///   - keyPath: A key path to an attribute or a to-one relationship.
    ///   - name: The key of the column in the dictionary.
    public static func count(distinct keyPath: String, as name: String) -> Self {
        total(.count, .function(.distinct, [node(keyPath)]), name)
    }

    /// The sum of the values; 0 without values.
    public static func sum(of keyPath: String, as name: String) -> Self { total(.sum, node(keyPath), name) }

    /// The average of the values; nil without values.
    public static func average(of keyPath: String, as name: String) -> Self { total(.average, node(keyPath), name) }

    /// The least value; nil without values.
    public static func minimum(of keyPath: String, as name: String) -> Self { total(.min, node(keyPath), name) }

    /// The greatest value; nil without values.
    public static func maximum(of keyPath: String, as name: String) -> Self { total(.max, node(keyPath), name) }

    private static func total(_ function: PredicateFunction, _ node: FetchExpression.Node, _ name: String) -> Self {
        .expression(name: name, FetchExpression(node: .function(function, [node])), type: nil)
    }

    private static func node(_ keyPath: String) -> FetchExpression.Node { .path(keyPath) }
}

extension FetchExpression.Node {
    /// A key path of names. Invalid names are reported when the request is validated.
    package static func path(_ keyPath: String) -> Self {
        .keyPath(.evaluatedObject, keyPath.split(separator: ".", omittingEmptySubsequences: false).map { .name(String($0)) })
    }
}
