internal import Foundation

/// The expression of a derived attribute, computed at each save (ATT-11).
///
/// `name`, `author.name` · `canonical:(name)`, `uppercase:(name)`, `lowercase:(name)` ·
/// `books.@count`, `books.price.@sum` (also `@avg @min @max`) · `now()`. Other expressions are not allowed.
public enum Derivation: Hashable, Sendable {
    /// A function on text.
    public enum TextFunction: String, Hashable, Sendable, CaseIterable {
        /// Removes case and diacritics.
        case canonical
        /// Converts to upper case.
        case uppercase
        /// Converts to lower case.
        case lowercase
    }

    /// An aggregate over the objects of a to-many relationship.
    public enum Aggregate: String, Hashable, Sendable, CaseIterable {
        /// The sum; 0 without values.
        case sum
        /// The average; nil without values.
        case avg
        /// The smallest value; nil without values.
        case min
        /// The largest value; nil without values.
        case max
    }

    /// The attribute at the end of a path of to-one relationships.
    case value([String])
    /// A function of a string attribute at the end of a path of to-one relationships.
    case text(TextFunction, [String])
    /// The number of objects of a to-many relationship.
    case count(relationship: String)
    /// An aggregate over an attribute of the objects of a to-many relationship.
    case aggregate(Aggregate, relationship: String, attribute: String)
    /// The time of the save.
    case now

    /// Parses the text of a derivation.
    ///
    /// - Throws: `HornbeamError` with code `predicateSyntax` when the text is not an expression, `validation`
    ///   when the expression is not a derivation.
    public init(_ text: String) throws {
        let expression = try FetchExpression(format: text)
        guard let derivation = Self(expression.node) else {
            throw HornbeamError(.validation, Self.refusal(of: expression.node, text))
        }
        self = derivation
    }

    private init?(_ node: FetchExpression.Node) {
        switch node {
        case .function(.now, let arguments) where arguments.isEmpty: self = .now
        case .function(let function, let arguments) where arguments.count == 1:
            guard let change = Self.textFunctions[function], let path = Self.names(of: arguments[0]) else { return nil }
            self = .text(change, path)
        case .keyPath(.evaluatedObject, let steps):
            if let path = Self.names(of: node) {
                self = .value(path)
                return
            }
            guard case .collection(let last) = steps.last, let path = Self.names(of: steps.dropLast()) else { return nil }
            if last == .count, path.count == 1 {
                self = .count(relationship: path[0])
            } else if let aggregate = Aggregate(rawValue: last.rawValue), path.count == 2 {
                self = .aggregate(aggregate, relationship: path[0], attribute: path[1])
            } else {
                return nil
            }
        default: return nil
        }
    }

    private static let textFunctions: [PredicateFunction: TextFunction] = [
        .canonical: .canonical, .uppercase: .uppercase, .lowercase: .lowercase,
    ]

    private static func names(of node: FetchExpression.Node) -> [String]? {
        guard case .keyPath(.evaluatedObject, let steps) = node else { return nil }
        return names(of: steps[...])
    }

    private static func names(of steps: ArraySlice<FetchExpression.Step>) -> [String]? {
        let names = steps.compactMap { if case .name(let name) = $0 { name } else { nil } }
        return names.count == steps.count && !names.isEmpty ? names : nil
    }

    private static func refusal(of node: FetchExpression.Node, _ text: String) -> String {
        if case .keyPath(_, let steps) = node, steps.count == 3, case .name(let relationship) = steps[0],
            case .collection(let sign) = steps[1], case .name(let attribute) = steps[2]
        {
            return "\(text) is not a derivation: the operator must be last, \(relationship).\(attribute).@\(sign.rawValue)."
        }
        return "\(text) is not a derivation: it can be a path (author.name), canonical:(path), uppercase:(path), "
            + "lowercase:(path), relationship.@count, relationship.attribute.@sum (@avg, @min, @max), or now()."
    }
}

extension Derivation: CustomStringConvertible {
    /// The text of the derivation in a model.
    public var description: String {
        switch self {
        case .value(let path): path.joined(separator: ".")
        case .text(let function, let path): "\(function.rawValue):(\(path.joined(separator: ".")))"
        case .count(let relationship): "\(relationship).@count"
        case .aggregate(let aggregate, let relationship, let attribute): "\(relationship).\(attribute).@\(aggregate.rawValue)"
        case .now: "now()"
        }
    }

    /// The property of the object itself that the value depends on.
    public var sourceProperty: String? {
        switch self {
        case .value(let path), .text(_, let path): path.first
        case .count(let relationship), .aggregate(_, let relationship, _): relationship
        case .now: nil
        }
    }
}

extension Derivation {
    /// The value for the current state of an object.
    ///
    /// - Parameter now: The time of the save, the same for all objects of one save.
    /// - Throws: The object's error when a value cannot be read.
    package func value(of object: some KeyedValues, now: PropertyValue) throws -> PropertyValue {
        let node: FetchExpression.Node
        switch self {
        case .now: return now
        case .value(let path): node = .keyPath(.evaluatedObject, path.map { .name($0) })
        case .text(let change, let path):
            let function = Self.textFunctions.first { $0.value == change }?.key ?? .canonical
            node = .function(function, [.keyPath(.evaluatedObject, path.map { .name($0) })])
        case .count(let relationship): node = .keyPath(.evaluatedObject, [.name(relationship), .collection(.count)])
        case .aggregate(let aggregate, let relationship, let attribute):
            guard let sign = FetchExpression.CollectionOperator(rawValue: aggregate.rawValue) else { return .null }
            node = .keyPath(.evaluatedObject, [.name(relationship), .collection(sign), .name(attribute)])
        }
        return try FetchExpression(node: node).value(with: object).propertyValue ?? .null
    }
}
