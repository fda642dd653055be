internal import HornbeamThreads

/// A valid request without the constants of its conditions. Requests of one shape are validated once, and a store keeps a plan for the shape.
///
/// A request has a shape if its predicate has one, if its columns contain no constants and no closures, and if it has no having predicate, no prefetched
/// paths and no list of stores. So shapes retain no values of the program.
package final class RequestShape: Sendable {
    package let entity: EntityDescription
    /// The first request of the shape, without its predicate.
    private let settings: FetchDescription
    private let predicate: PredicateShape?
    private let derived = Guarded(Derived())

    /// The results of work that is done once for all requests of the shape, when it is first needed.
    private struct Derived {
        var dictionaries: DictionaryProgram?
        /// The shapes of changed requests, by the number of the change.
        var shapes = [RequestShape?](repeating: nil, count: Change.allCases.count)
    }

    /// A change of a request that is the same for all requests of a shape.
    enum Change: Int, CaseIterable {
        /// The fetch of the objects from which dictionaries are made.
        case objects
        /// The fetch without order and window.
        case withoutOrder
    }

    /// Nil for a predicate without a shape.
    fileprivate convenience init?(_ request: FetchDescription, _ entity: EntityDescription) {
        let predicate = request.predicate.flatMap { PredicateShape($0.node) }
        guard (predicate == nil) == (request.predicate == nil) else { return nil }
        self.init(request, entity, predicate)
    }

    private init(_ request: FetchDescription, _ entity: EntityDescription, _ predicate: PredicateShape?) {
        var settings = request
        settings.predicate = nil
        self.settings = settings
        self.entity = entity
        self.predicate = predicate
    }

    /// How dictionaries are made for a request of this shape.
    fileprivate func dictionaryProgram(_ request: FetchDescription) throws -> DictionaryProgram {
        if let known = derived.withLock({ $0.dictionaries }) { return known }
        let program = try DictionaryProgram(request, for: entity)
        derived.withLock { $0.dictionaries = program }
        return program
    }

    /// The shape of a request that was made of one of this shape; nil if another request was made by the same change before.
    func shape(of request: FetchDescription, after change: Change) -> RequestShape? {
        derived.withLock { derived in
            if let known = derived.shapes[change.rawValue] { return known.isShape(of: request) ? known : nil }
            let shape = RequestShape(request, entity, predicate)
            derived.shapes[change.rawValue] = shape
            return shape
        }
    }

    /// True for a request of this shape.
    ///
    /// - Parameter known: The rare settings of a request of this shape. Those of its copies need not be compared.
    package func isShape(of other: FetchDescription, known: RareFetchSettings? = nil) -> Bool {
        guard settings.hasSettings(of: other), (known != nil && other.rare === known) || settings.rare == other.rare,
            settings.entityName == other.entityName, settings.sortDescriptors == other.sortDescriptors
        else { return false }
        guard let predicate else { return other.predicate == nil }
        guard let other = other.predicate else { return false }
        return predicate.isShape(of: other.node)
    }
}

/// The shapes of the valid requests of a coordinator's contexts, a limited number of them.
package final class RequestShapes: Sendable {
    package static let countMax = 512
    /// The shapes by their hashes. Of two shapes with the same hash, the last one is kept.
    private let shapes = Guarded(BoundedDictionary<UInt64, RequestShape>(countMax: RequestShapes.countMax))

    package init() {}

    fileprivate func find(_ request: FetchDescription, _ hash: UInt64) -> RequestShape? {
        guard let shape = shapes.withLock({ $0.value(for: hash) }), shape.isShape(of: request) else { return nil }
        return shape
    }

    fileprivate func add(_ shape: RequestShape, _ hash: UInt64) {
        shapes.withLock { $0.set(shape, for: hash) }
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

extension ValidatedFetch {
    /// How dictionaries are made for the request.
    ///
    /// - Throws: `HornbeamError` with code `predicateInvalid` when a column has several values in a group.
    package func dictionaryProgram() throws -> DictionaryProgram {
        try shape?.dictionaryProgram(request) ?? DictionaryProgram(request, for: entity)
    }
}

// MARK: The parts of a shape

extension FetchDescription {
    /// A hash of the request without its constants; nil for a request without a shape.
    fileprivate var shapeHash: UInt64? {
        guard mayHaveShape, resultType != .count else { return nil }
        var hash = ShapeHash()
        hash.add(entityName)
        hash.add(resultType.rawValue)
        for number in [fetchLimit, fetchOffset, fetchBatchSize, includesSubentities ? 1 : 0, returnsDistinctResults ? 1 : 0] { hash.add(number) }
        if let predicate, !hash.add(predicate.node) { return nil }
        for sort in sortDescriptors {
            hash.add(sort.keyPath)
            hash.add(sort.isAscending ? 1 : 2)
        }
        for column in propertiesToFetch where !hash.add(column) { return nil }
        hash.add(0x600 + propertiesToGroupBy.count)
        for name in propertiesToGroupBy { hash.add(name) }
        return hash.value
    }

    /// True if the settings besides entity, predicate, order and rare ones are equal.
    fileprivate func hasSettings(of other: FetchDescription) -> Bool {
        fetchLimit == other.fetchLimit && fetchOffset == other.fetchOffset && fetchBatchSize == other.fetchBatchSize
            && resultType == other.resultType && includesSubentities == other.includesSubentities
            && includesPropertyValues == other.includesPropertyValues && returnsObjectsAsFaults == other.returnsObjectsAsFaults
            && includesPendingChanges == other.includesPendingChanges
            && shouldRefreshRefetchedObjects == other.shouldRefreshRefetchedObjects
            && returnsDistinctResults == other.returnsDistinctResults
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
