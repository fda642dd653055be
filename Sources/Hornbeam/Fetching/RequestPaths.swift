internal import HornbeamModel

/// The properties that a request reads, of the fetched objects and, through relationships, of other objects.
struct RequestPaths {
    /// The properties of the fetched objects, by index; nil for all properties.
    private(set) var own: PropertySet? = PropertySet()
    /// The properties that the request reads through relationships.
    private(set) var properties: Set<PropertyDescription> = []
    /// The entities of the objects that the request reads through relationships.
    private(set) var destinations: Set<EntityDescription> = []
    /// True if a path begins at another expression than the fetched object, such as a variable or an element of a collection.
    private var hasOtherRoots = false

    init(_ request: FetchDescription, _ entity: EntityDescription) {
        for sort in request.sortDescriptors {
            follow(sort.keyPath.split(separator: ".").map(String.init), from: entity)
        }
        if request.resultType == .dictionaries, request.propertiesToFetch.isEmpty { own = nil }
        for path in request.propertiesToGroupBy { follow(path.split(separator: ".").map(String.init), from: entity) }
        for case .property(let path) in request.propertiesToFetch { follow(path.split(separator: ".").map(String.init), from: entity) }
        // A path from another expression can begin at each destination, and an expression is visited before its parts. So the visit is repeated until
        // it finds no further destination.
        var count: Int
        repeat {
            count = destinations.count
            visitExpressions(of: request, entity)
        } while hasOtherRoots && destinations.count > count
        if [request.predicate, request.havingPredicate].contains(where: { $0?.node.hasBlocks == true }) {
            followEverything(in: entity.managedObjectModel)
        }
    }

    /// The properties of an entity's objects that the request reads through relationships, by index.
    func reads(of destination: EntityDescription) -> PropertySet {
        var reads = PropertySet()
        for property in properties where destination.isKind(of: property.entity) { reads.insert(property.index) }
        return reads
    }

    /// True if an object differs from the store in a property that the request reads through a relationship.
    func isTouched(by object: ManagedObject) -> Bool {
        if object.state.contains(.deleted) { return true }
        guard let record = object.record, !object.isInserted else { return false }
        return properties.contains { record.changed.contains($0.index) && object.entity.isKind(of: $0.entity) }
    }

    private mutating func visitExpressions(of request: FetchDescription, _ entity: EntityDescription) {
        request.predicate?.node.forEachExpression { visit($0, entity) }
        for case .expression(_, let expression, _) in request.propertiesToFetch { expression.node.forEachExpression { visit($0, entity) } }
        request.havingPredicate?.node.forEachExpression { visit($0, entity) }
    }

    private mutating func visit(_ expression: FetchExpression.Node, _ entity: EntityDescription) {
        switch expression {
        case .keyPath(let root, let steps):
            let names = steps.compactMap { step in
                if case .name(let name) = step { name } else { nil }
            }
            if root == .evaluatedObject {
                follow(names, from: entity)
            } else {
                hasOtherRoots = true
                for start in Array(destinations) { follow(names, from: start, isOther: true) }
            }
        case .block, .fetch: followEverything(in: entity.managedObjectModel)
        case .anyKey: own = nil
        default: break
        }
    }

    /// Marks all properties as read, because a block may read every object.
    private mutating func followEverything(in model: ManagedObjectModel) {
        own = nil
        destinations.formUnion(model.entities)
        properties.formUnion(model.entities.flatMap(\.properties))
    }

    /// Records the properties on a path: the first one as a property of the fetched object, the others as read through relationships.
    private mutating func follow(_ names: [String], from start: EntityDescription, isOther: Bool = false) {
        var entity = start
        for (position, name) in names.enumerated() {
            guard let property = entity.propertiesByName[name] else { return }
            if isOther || position > 0 { properties.insert(property) } else { own?.insert(property.index) }
            guard let destination = property.destinationEntity else { return }
            if property.isToMany || position < names.count - 1 { destinations.insert(destination) }
            entity = destination
        }
    }
}
