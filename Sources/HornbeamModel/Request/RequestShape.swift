internal import HornbeamThreads

/// A valid request without the constants of its conditions. Requests of one shape are validated once, and a store keeps a plan for the shape.
///
/// A request has a shape if its predicate has one and its results are objects or IDs.
package final class RequestShape: Sendable {
    package let entity: EntityDescription
    /// The first request of the shape, without its predicate.
    private let settings: FetchDescription
    private let predicate: PredicateShape?

    /// Nil for a predicate without a shape.
    fileprivate init?(_ request: FetchDescription, _ entity: EntityDescription) {
        predicate = request.predicate.flatMap { PredicateShape($0.node) }
        guard (predicate == nil) == (request.predicate == nil) else { return nil }
        var settings = request
        settings.predicate = nil
        self.settings = settings
        self.entity = entity
    }

    /// True for a request of this shape.
    package func isShape(of other: FetchDescription) -> Bool {
        guard settings.hasSettings(of: other), settings.entityName == other.entityName, settings.sortDescriptors == other.sortDescriptors
        else { return false }
        guard let predicate else { return other.predicate == nil }
        guard let other = other.predicate else { return false }
        return predicate.isShape(of: other.node)
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
        guard let shape = RequestShape(request, entity) else {
            self = ValidatedFetch(valid: request, entity)
            return
        }
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
        if let predicate, !hash.add(predicate.node) { return nil }
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
            && returnsDistinctResults == other.returnsDistinctResults && isPlain && other.isPlain
    }

    /// The constants of the conditions, in their order, if the predicate is a comparison or an AND of comparisons; empty for another predicate.
    package var constants: [PropertyValue] {
        var constants: [PropertyValue] = []
        copyConstants(to: &constants)
        return constants
    }

    /// The constant of a predicate that is a single comparison; nil for another predicate.
    package var onlyConstant: PropertyValue? {
        guard let predicate, case .comparison(let comparison) = predicate.node else { return nil }
        return comparison.constant
    }

    /// The constants in an array that is reused.
    package func copyConstants(to constants: inout [PropertyValue]) {
        constants.removeAll(keepingCapacity: true)
        if let predicate, !predicate.node.appendConstants(to: &constants) { constants.removeAll() }
    }
}

extension FetchPredicate.Node {
    /// Returns false for a condition of another form.
    fileprivate func appendConstants(to constants: inout [PropertyValue]) -> Bool {
        switch self {
        case .comparison(let comparison):
            guard let value = comparison.constant else { return false }
            constants.append(value)
            return true
        case .and(let nodes):
            for node in nodes where !node.appendConstants(to: &constants) { return false }
            return true
        case .constant, .or, .not, .block: return false
        }
    }
}
