/// A condition on objects: parsed from a format string, built in code, or translated from `#Predicate`.
///
/// ```swift
/// let recent = try FetchPredicate(format: "created > %@ AND tags.name CONTAINS[cd] %@", date, "swift")
/// let same = Event.latitude > 37 && Event.name.contains("x", .caseInsensitive)
/// ```
///
/// A predicate is a `Sendable` value that can be compared, printed and archived. Its meaning is the
/// same in memory and in a store; see `Docs/Querying.md`.
public struct FetchPredicate: Sendable, Hashable {
    package let node: Node

    package init(node: Node) { self.node = node }

    /// The predicate that is true for every object (`TRUEPREDICATE`) or for none (`FALSEPREDICATE`).
    public init(value: Bool) { node = .constant(value) }

    /// One node of the tree.
    package indirect enum Node: Hashable, Sendable {
        case constant(Bool)
        case comparison(Comparison)
        case and([Node])
        case or([Node])
        case not(Node)
        case block(PredicateBlock)
    }

    /// `[quantifier] left operator[options] right`.
    package struct Comparison: Hashable, Sendable {
        package var left: FetchExpression.Node
        package var comparator: Comparator
        package var options: Options
        package var modifier: Modifier
        package var right: FetchExpression.Node

        package init(
            _ left: FetchExpression.Node, _ comparator: Comparator, _ right: FetchExpression.Node,
            options: Options = [], modifier: Modifier = .direct
        ) {
            self.left = left
            self.comparator = comparator
            self.options = options
            self.modifier = modifier
            self.right = right
        }
    }

    /// The comparison operators with Core Data's numbers.
    package enum Comparator: Int, Hashable, Sendable, CaseIterable {
        case lessThan = 0
        case lessThanOrEqual = 1
        case greaterThan = 2
        case greaterThanOrEqual = 3
        case equal = 4
        case notEqual = 5
        case matches = 6
        case like = 7
        case beginsWith = 8
        case endsWith = 9
        case `in` = 10
        case contains = 99
        case between = 100
        case typeConformsTo = 200
        case typeEquals = 201
    }

    /// Options for comparing strings, written as letters in brackets after an operator.
    public struct Options: OptionSet, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// `[c]`: letters compare by their Unicode case folding.
        public static let caseInsensitive = Options(rawValue: 1)
        /// `[d]`: accents and other marks are ignored.
        public static let diacriticInsensitive = Options(rawValue: 2)
        /// `[n]`: strings compare byte by byte, regardless of the other options.
        public static let normalized = Options(rawValue: 4)
        /// `[l]`: ordering operators such as `<` order like `FetchSort` with `.localizedStandard`.
        public static let localeSensitive = Options(rawValue: 8)
    }

    /// The quantifier of the left side: a single value, or any or all elements of a collection.
    package enum Modifier: Int, Hashable, Sendable {
        case direct = 0
        case all = 1
        case any = 2
    }
}

/// A condition as a closure. It is evaluated in memory after the rows were read, and
/// cannot be printed or archived. It equals itself only.
package final class PredicateBlock: Hashable, Sendable {
    package let body: @Sendable (EvaluatedValue, [String: PropertyValue]) throws -> Bool

    package init(_ body: @escaping @Sendable (EvaluatedValue, [String: PropertyValue]) throws -> Bool) {
        self.body = body
    }

    package static func == (a: PredicateBlock, b: PredicateBlock) -> Bool { a === b }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
