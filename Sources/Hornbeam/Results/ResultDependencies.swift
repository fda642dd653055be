internal import HornbeamModel
internal import HornbeamStore

/// The properties and entities on which the results of a request and their sections depend.
struct ResultDependencies {
    private let entity: EntityDescription
    private let includesSubentities: Bool
    /// The entities of the objects that the request reads through relationships.
    private let destinations: Set<EntityDescription>
    /// True if the change of one object affects only its own place among the results. The values that decide are attributes of the object, or of
    /// objects to which to-one relationships lead.
    let isByObject: Bool

    init(_ fetch: ValidatedFetch, sectionKeyPath: String?) {
        var request = fetch.request
        entity = fetch.entity
        includesSubentities = request.includesSubentities
        let window = request.window
        // The section's key path is read like a sort.
        if let sectionKeyPath { request.sortDescriptors.append(FetchSort(sectionKeyPath)) }
        let paths = RequestPaths(request, fetch.entity)
        destinations = paths.destinations
        let own = paths.own?.map { fetch.entity.properties[$0] }
        let isPlain = (own ?? []).allSatisfy(Self.isPlain) && paths.properties.allSatisfy(Self.isPlain)
        isByObject = own != nil && isPlain && window.isWhole && request.includesPendingChanges && !Self.dependsOnTime(request)
    }

    /// True if the property changes only by a change that observers receive.
    private static func isPlain(_ property: PropertyDescription) -> Bool {
        property.isAttribute ? !property.isDerived && !property.isTransient : property.isToOne && !property.isTransient
    }

    private static func dependsOnTime(_ request: FetchDescription) -> Bool {
        var isFound = false
        request.predicate?.node.forEachExpression { node in
            if case .function(.now, _) = node { isFound = true }
        }
        return isFound
    }

    /// True if objects of an entity can be results.
    func isResult(_ entity: EntityDescription) -> Bool {
        entity == self.entity || includesSubentities && entity.isKind(of: self.entity)
    }

    /// True if objects of an entity are read through relationships.
    func isReadThroughRelationships(_ entity: EntityDescription) -> Bool {
        !destinations.isEmpty && destinations.contains { entity.isKind(of: $0) }
    }

    /// True if no object of the entity affects the results.
    func ignores(_ entity: EntityDescription) -> Bool { isByObject && !isResult(entity) && !isReadThroughRelationships(entity) }
}
