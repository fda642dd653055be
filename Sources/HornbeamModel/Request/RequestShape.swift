internal import HornbeamThreads

/// A valid request without the constants of its conditions. Requests of one shape are validated once, and a store keeps a plan for the shape.
///
/// A request has a shape if its predicate consists of comparisons of key paths with single values, joined by AND, and its results are objects
/// or IDs. The type of each constant is part of the shape, because validation and plans depend on it.
package final class RequestShape: Sendable {
    /// The most conditions of a request with a shape.
    static let conditionsMax = 16

    package let entity: EntityDescription
    /// The first request of the shape.
    fileprivate let request: FetchDescription

    fileprivate init(_ request: FetchDescription, _ entity: EntityDescription) {
        self.request = request
        self.entity = entity
    }

    /// True for a request of this shape. The other request must have a shape.
    fileprivate func isShape(of other: FetchDescription) -> Bool {
        guard request.hasSettings(of: other), request.entityName == other.entityName, request.sortDescriptors == other.sortDescriptors
        else { return false }
        switch (request.predicate?.node, other.predicate?.node) {
        case (nil, nil): return true
        case (.comparison(let a)?, .comparison(let b)?): return a.hasShape(of: b)
        case (.and(let a)?, .and(let b)?):
            guard a.count == b.count else { return false }
            for (a, b) in zip(a, b) {
                guard case .comparison(let a) = a, case .comparison(let b) = b, a.hasShape(of: b) else { return false }
            }
            return true
        default: return false
        }
    }
}

/// The shapes of the valid requests of a coordinator's contexts. A shape is replaced by another one with the same slot, so the memory is limited.
package final class RequestShapes: Sendable {
    private static let slotCount: UInt64 = 512
    private let slots = Guarded<[RequestShape?]>([RequestShape?](repeating: nil, count: Int(RequestShapes.slotCount)))

    package init() {}

    fileprivate func find(_ request: FetchDescription, _ hash: UInt64) -> RequestShape? {
        guard let shape = slots.withLock({ $0[Int(hash % Self.slotCount)] }), shape.isShape(of: request) else { return nil }
        return shape
    }

    fileprivate func add(_ shape: RequestShape, _ hash: UInt64) {
        slots.withLock { $0[Int(hash % Self.slotCount)] = shape }
    }
}

extension ValidatedFetch {
    /// Validates a request, or finds the shape of an equal request that was validated before.
    ///
    /// - Parameter shapes: The shapes of requests that are valid in this model.
    /// - Throws: `HornbeamError`: `unknownEntity`; `predicateInvalid` with all problems of the request.
    package init(_ request: FetchDescription, in model: ManagedObjectModel, _ shapes: RequestShapes) throws {
        guard let hash = request.shapeHash else {
            self = try ValidatedFetch(request, in: model)
            return
        }
        if let shape = shapes.find(request, hash) {
            self = ValidatedFetch(request, of: shape)
            return
        }
        let entity = try model.entity(named: request.entityName)
        try request.validate(for: entity)
        let shape = RequestShape(request, entity)
        shapes.add(shape, hash)
        self = ValidatedFetch(request, of: shape)
    }
}

// MARK: The parts of a shape

extension FetchDescription {
    /// A hash of the request without its constants; nil for a request without a shape.
    fileprivate var shapeHash: UInt64? {
        guard isPlain, !returnsDistinctResults, resultType == .objects || resultType == .objectIDs else { return nil }
        var hash = ShapeHash()
        hash.add(entityName)
        hash.add(fetchLimit)
        hash.add(fetchOffset)
        switch predicate?.node {
        case nil: break
        case .comparison(let comparison)?:
            guard hash.add(comparison) else { return nil }
        case .and(let nodes)? where nodes.count <= RequestShape.conditionsMax:
            for node in nodes {
                guard case .comparison(let comparison) = node, hash.add(comparison) else { return nil }
            }
        default: return nil
        }
        for sort in sortDescriptors {
            hash.add(sort.keyPath)
            hash.add(sort.isAscending ? 1 : 2)
        }
        return hash.value
    }

    /// True if the settings that are no texts are equal.
    fileprivate func hasSettings(of other: FetchDescription) -> Bool {
        fetchLimit == other.fetchLimit && fetchOffset == other.fetchOffset && fetchBatchSize == other.fetchBatchSize
            && resultType == other.resultType && includesSubentities == other.includesSubentities
            && includesPropertyValues == other.includesPropertyValues && returnsObjectsAsFaults == other.returnsObjectsAsFaults
            && includesPendingChanges == other.includesPendingChanges
            && shouldRefreshRefetchedObjects == other.shouldRefreshRefetchedObjects
    }

    /// Calls `body` with the position and the constant of each condition of a request with a shape, until it returns false.
    package func forEachConstant(_ body: (Int, PropertyValue) -> Bool) {
        switch predicate?.node {
        case .comparison(let comparison)?:
            if case .constant(let value) = comparison.right { _ = body(0, value) }
        case .and(let nodes)?:
            for (position, node) in nodes.enumerated() {
                guard case .comparison(let comparison) = node, case .constant(let value) = comparison.right, body(position, value) else { return }
            }
        default: break
        }
    }
}

extension FetchPredicate.Comparison {
    /// True if both comparisons differ only in their constants, which have the same type. Both belong to requests with a shape.
    fileprivate func hasShape(of other: FetchPredicate.Comparison) -> Bool {
        guard comparator == other.comparator, options == other.options, modifier == other.modifier,
            case .constant(let value) = right, case .constant(let otherValue) = other.right, value.shapeNumber == otherValue.shapeNumber,
            case .keyPath(_, let steps) = left, case .keyPath(_, let otherSteps) = other.left
        else { return false }
        return steps == otherSteps
    }
}

/// The FNV-1a hash of the parts of a request.
private struct ShapeHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ number: Int) { value = (value ^ UInt64(truncatingIfNeeded: number)) &* 0x0000_0100_0000_01B3 }

    mutating func add(_ text: String) {
        for byte in text.utf8 { add(Int(byte)) }
        add(0x100)
    }

    /// Returns false for a comparison that no shape can contain.
    mutating func add(_ comparison: FetchPredicate.Comparison) -> Bool {
        guard comparison.modifier == .direct, comparison.comparator.isIndependentOfConstant,
            case .keyPath(.evaluatedObject, let steps) = comparison.left,
            case .constant(let value) = comparison.right, let number = value.shapeNumber
        else { return false }
        for step in steps {
            guard case .name(let name) = step else { return false }
            add(name)
        }
        add(comparison.comparator.rawValue << 8 | number)
        return true
    }
}

extension FetchPredicate.Comparator {
    /// True if the validity of a comparison depends on the type of the constant only. The pattern of MATCHES is compiled.
    fileprivate var isIndependentOfConstant: Bool {
        switch self {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .equal, .notEqual, .beginsWith, .endsWith, .contains: true
        case .matches, .like, .in, .between, .typeConformsTo, .typeEquals: false
        }
    }
}

extension PropertyValue {
    /// A number of the value's type; nil for a collection, whose elements determine its type.
    fileprivate var shapeNumber: Int? {
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
}
