/// Validates a predicate before it is executed: every key exists, every operator can be true for
/// the types of its operands, every regular expression compiles.
struct PredicateValidator {
    /// The words with which an error's text begins: “The predicate”.
    let subject: String
    /// The type of `SELF`.
    let root: ExpressionType
    /// The object type in the text of an error: “the entity “Book””.
    let owner: String
    let entityName: String?
    /// True for predicates of fetches, which cannot read transient properties.
    let readsStore: Bool
    var variables: [String: ExpressionType] = [:]

    init(_ subject: String, entity: EntityDescription, readsStore: Bool) {
        self.subject = subject
        root = .object(entity)
        owner = "the entity “\(entity.name)”"
        entityName = entity.name
        self.readsStore = readsStore
    }

    /// A validator for a rule about the values of an attribute.
    init(values: ExpressionType) {
        subject = "The predicate"
        root = values
        owner = "the attribute"
        entityName = nil
        readsStore = false
    }

    mutating func check(_ node: FetchPredicate.Node) throws {
        switch node {
        case .constant, .block: break
        case .comparison(let comparison): try check(comparison)
        case .and(let nodes), .or(let nodes): for node in nodes { try check(node) }
        case .not(let node): try check(node)
        }
    }

    private mutating func check(_ comparison: FetchPredicate.Comparison) throws {
        var left = try type(of: comparison.left)
        let right = try type(of: comparison.right)
        if comparison.modifier != .direct {
            left = try element(of: left, comparison)
        } else if case .collection(let element) = left, case .keyPath = comparison.left {
            try checkCollection(element, right, comparison)
        }
        try check(comparison, left, right)
        if comparison.comparator == .matches, case .constant(.string(let pattern)) = comparison.right {
            _ = try BoundedPattern.cached(pattern, comparison.options)
        }
    }

    private func element(of left: ExpressionType, _ comparison: FetchPredicate.Comparison) throws -> ExpressionType {
        switch left {
        case .collection(let element): return element
        case .unknown, .null: return .unknown
        default:
            let word = comparison.modifier == .all ? "ALL needs" : "ANY, SOME and NONE need"
            throw invalid(
                "\(word) a collection, but “\(FetchExpression(node: comparison.left))” is \(left.words). "
                    + "Leave the word out, or start with a to-many relationship.")
        }
    }

    /// Checks a key path with several values without ANY or ALL, which can be compared only as a whole collection.
    private func checkCollection(
        _ element: ExpressionType, _ right: ExpressionType, _ comparison: FetchPredicate.Comparison
    ) throws {
        switch comparison.comparator {
        case .contains: return
        case .equal, .notEqual, .in:
            if case .collection = right { return }
            if right == .unknown { return }
        default: break
        }
        let path = FetchExpression(node: comparison.left)
        let hint = right == .null ? "\(path).@count == 0 tests for an empty collection" : "write ANY \(path) or ALL \(path)"
        throw invalid("“\(path)” leads to many values, which \(comparison.comparator.word) cannot compare with \(right.words); \(hint).")
    }

    private func check(
        _ comparison: FetchPredicate.Comparison, _ left: ExpressionType, _ right: ExpressionType
    ) throws {
        switch comparison.comparator {
        case .equal, .notEqual: try require(left.isComparable(to: right), comparison, left, right)
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            try require(left.isOrdered && right.isOrdered && left.isComparable(to: right), comparison, left, right)
        case .between: try checkBetween(comparison, left, right)
        case .in: try checkMember(comparison, left, of: right)
        case .contains: try checkMember(comparison, right, of: left)
        case .beginsWith, .endsWith, .like, .matches, .typeEquals:
            try require(left.canHaveType(.string) && right.canHaveType(.string), comparison, left, right)
        case .typeConformsTo:
            throw invalid("UTI-CONFORMS-TO needs a registry of type identifiers, which this platform does not have; list the types with IN.")
        }
    }

    private func checkBetween(
        _ comparison: FetchPredicate.Comparison, _ left: ExpressionType, _ right: ExpressionType
    ) throws {
        switch right {
        case .collection(let bound): try require(left.isOrdered && bound.isOrdered && left.isComparable(to: bound), comparison, left, bound)
        case .unknown, .null: return
        default: throw invalid("BETWEEN needs its two bounds in a collection, {low, high}, but has \(right.words).")
        }
    }

    private func checkMember(
        _ comparison: FetchPredicate.Comparison, _ element: ExpressionType, of collection: ExpressionType
    ) throws {
        switch collection {
        case .collection(let member):
            try require(element.isComparable(to: member), comparison, element, .collection(member))
        case .string: try require(element.canHaveType(.string), comparison, element, collection)
        case .dictionary, .unknown, .null: return
        default:
            throw invalid("\(comparison.comparator.word) needs a collection or two strings, but has \(collection.words).")
        }
    }

    private func require(
        _ isPossible: Bool, _ comparison: FetchPredicate.Comparison, _ left: ExpressionType, _ right: ExpressionType
    ) throws {
        guard !isPossible else { return }
        let path = FetchExpression(node: comparison.left)
        throw invalid(
            "\(comparison.comparator.word) cannot compare “\(path)”, which is \(left.words), with \(right.words). "
                + "Give a value of the same type, or convert with CAST.")
    }

    func invalid(_ text: String, key: String? = nil) -> HornbeamError {
        HornbeamError(.predicateInvalid, "\(subject) does not fit \(owner): \(text)", entity: entityName, key: key)
    }
}
