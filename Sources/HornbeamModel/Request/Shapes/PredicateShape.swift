/// A predicate without its constants, whose memory is therefore small: comparisons of key paths with constants, joined by AND and OR.
///
/// The type of each constant is part of the shape, because validation and plans depend on it. A list has the type of its elements, which
/// must be the same for all, and the power of two that its length reaches.
indirect enum PredicateShape: Sendable {
    case comparison(Comparison)
    case and([PredicateShape])
    case or([PredicateShape])

    struct Comparison: Sendable {
        let steps: [FetchExpression.Step]
        let comparator: FetchPredicate.Comparator
        let options: FetchPredicate.Options
        /// The number of the constant's type.
        let type: Int
    }

    /// The most comparisons of a predicate with a shape.
    static let comparisonsMax = 16

    /// Nil for a predicate without a shape.
    init?(_ node: FetchPredicate.Node) {
        switch node {
        case .comparison(let comparison):
            guard let type = comparison.shapeType, case .keyPath(_, let steps) = comparison.left else { return nil }
            self = .comparison(
                Comparison(steps: steps, comparator: comparison.comparator, options: comparison.options, type: type))
        case .and(let nodes), .or(let nodes):
            var shapes: [PredicateShape] = []
            for node in nodes {
                guard let shape = PredicateShape(node) else { return nil }
                shapes.append(shape)
            }
            if case .and = node { self = .and(shapes) } else { self = .or(shapes) }
        case .constant, .not, .block: return nil
        }
    }

    /// True for a predicate of this shape.
    func isShape(of node: FetchPredicate.Node) -> Bool {
        switch (self, node) {
        case (.comparison(let own), .comparison(let comparison)):
            guard own.comparator == comparison.comparator, own.options == comparison.options, comparison.modifier == .direct,
                case .keyPath(.evaluatedObject, let steps) = comparison.left, own.steps == steps
            else { return false }
            return own.type == comparison.constantType
        case (.and(let shapes), .and(let nodes)), (.or(let shapes), .or(let nodes)):
            guard shapes.count == nodes.count else { return false }
            for place in shapes.indices where !shapes[place].isShape(of: nodes[place]) { return false }
            return true
        default: return false
        }
    }
}

/// The FNV-1a hash of the parts of a request.
struct ShapeHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
    private var comparisonCount = 0

    mutating func add(_ number: Int) { value = (value ^ UInt64(truncatingIfNeeded: number)) &* 0x0000_0100_0000_01B3 }

    mutating func add(_ text: String) {
        for byte in text.utf8 { add(Int(byte)) }
        add(0x100)
    }

    /// Returns false for a predicate without a shape.
    mutating func add(_ node: FetchPredicate.Node) -> Bool {
        switch node {
        case .comparison(let comparison): return add(comparison)
        case .and(let nodes):
            add(0x200 + nodes.count)
            for node in nodes where !add(node) { return false }
            return true
        case .or(let nodes):
            add(0x300 + nodes.count)
            for node in nodes where !add(node) { return false }
            return true
        case .constant, .not, .block: return false
        }
    }

    private mutating func add(_ comparison: FetchPredicate.Comparison) -> Bool {
        comparisonCount += 1
        guard comparisonCount <= PredicateShape.comparisonsMax, let type = comparison.shapeType,
            case .keyPath(_, let steps) = comparison.left
        else { return false }
        for step in steps {
            guard case .name(let name) = step else { return false }
            add(name)
        }
        add(comparison.comparator.rawValue << 32 | type)
        add(comparison.options.rawValue)
        return true
    }

    // MARK: Columns

    /// Returns false for a column with constants or closures.
    mutating func add(_ column: FetchColumn) -> Bool {
        add(column.name)
        guard case .expression(_, let expression, let type) = column else { return true }
        add(type.hashValue)
        return add(expression.node)
    }

    private mutating func add(_ node: FetchExpression.Node) -> Bool {
        switch node {
        case .evaluatedObject: add(0x400)
        case .keyPath(.evaluatedObject, let steps):
            for step in steps {
                guard case .name(let name) = step else { return false }
                add(name)
            }
        case .function(let function, let arguments):
            add(function.rawValue)
            add(0x500 + arguments.count)
            for argument in arguments where !add(argument) { return false }
        default: return false
        }
        return true
    }
}

extension FetchPredicate.Comparison {
    /// The right side as a constant, as a list of constants in braces too; nil for other expressions.
    var constant: PropertyValue? {
        switch right {
        case .constant(let value): value
        case .aggregate(let nodes): FetchExpression.constants(nodes).map { .array($0) }
        default: nil
        }
    }

    /// The number of the constant's type; nil for a comparison that no shape contains. Depends on no value.
    fileprivate var shapeType: Int? {
        guard modifier == .direct, case .keyPath(.evaluatedObject, _) = left else { return nil }
        return constantType
    }

    /// The number of the constant's type as the comparator uses it.
    fileprivate var constantType: Int? {
        guard let value = constant else { return nil }
        switch comparator {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .equal, .notEqual, .beginsWith, .endsWith, .contains:
            return value.shapeType
        case .in: return value.listShapeType
        case .between:
            guard case .array(let ends) = value, ends.count == 2 else { return nil }
            return value.listShapeType
        // The pattern of MATCHES is compiled by the validation, and types are compared by name.
        case .matches, .like, .typeConformsTo, .typeEquals: return nil
        }
    }
}

extension PropertyValue {
    /// A number of the value's type; nil for a collection.
    fileprivate var shapeType: Int? {
        switch self {
        case .null: 0
        case .bool: 1
        case .int: 2
        case .double: 3
        case .decimal: 4
        case .string: 5
        case .date: 6
        case .data: 7
        case .uuid: 8
        case .uri: 9
        case .objectID: 10
        case .array, .set, .dictionary: nil
        }
    }

    /// A number of the type of a list's elements and of the power of two that its length reaches; nil for an empty list, and for elements of
    /// several types.
    fileprivate var listShapeType: Int? {
        guard case .array(let values) = self, let type = values.first?.shapeType else { return nil }
        for value in values where value.shapeType != type { return nil }
        return (Int.bitWidth - values.count.leadingZeroBitCount) << 8 | 0x80 | type
    }
}
