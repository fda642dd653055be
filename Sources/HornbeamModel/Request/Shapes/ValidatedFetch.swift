/// A validated request with its entity: the first step of a fetch.
///
/// The planner accepts only this type, so a request is validated once.
package struct ValidatedFetch: Sendable {
    package private(set) var request: FetchDescription
    package let entity: EntityDescription
    /// The shape by which a store keeps plans; nil if the request has none, or was changed after its validation.
    package private(set) var shape: RequestShape?

    /// - Throws: `HornbeamError`: `unknownEntity`; `predicateInvalid` with all problems of the request.
    package init(_ request: FetchDescription, in model: ManagedObjectModel) throws {
        entity = try model.entity(named: request.entityName)
        try request.validate(for: entity)
        self.request = request
    }

    /// A validated request without a shape.
    init(valid request: FetchDescription, _ entity: EntityDescription) {
        self.request = request
        self.entity = entity
    }

    /// A request whose shape was validated.
    package init(_ request: FetchDescription, of shape: RequestShape) {
        self.request = request
        self.shape = shape
        entity = shape.entity
    }

    /// The fetch without offset and limit.
    package var withoutWindow: ValidatedFetch { request.window.isWhole ? self : replacing { $0 = $0.withoutWindow } }

    /// The fetch of the results up to the end of the window; see `FetchDescription.upToWindow`.
    package var upToWindow: ValidatedFetch { request.window.offset == 0 ? self : replacing { $0 = $0.upToWindow } }

    /// The fetch of all results, in any order.
    package var withoutOrder: ValidatedFetch {
        if request.window.isWhole, request.sortDescriptors.isEmpty { return self }
        return replacing(.withoutOrder) { request in
            request = request.withoutWindow
            request.sortDescriptors = []
        }
    }

    /// The fetch of the objects from which the dictionaries of `dictionaryProgram()` are made.
    package func objects(for program: DictionaryProgram) -> ValidatedFetch { replacing(.objects) { $0 = program.objects(of: $0) } }

    /// The fetch of all objects that can be results, whatever their values are.
    package var withoutPredicate: ValidatedFetch {
        replacing { request in
            let stores = request.affectedStores
            let includesSubentities = request.includesSubentities
            request = FetchDescription(entityName: entity.name)
            request.includesSubentities = includesSubentities
            request.affectedStores = stores
        }
    }

    /// The fetch with fewer settings. A valid request without some of its parts is still valid. It has a shape only if `change` is given.
    private func replacing(_ change: RequestShape.Change? = nil, _ body: (inout FetchDescription) -> Void) -> ValidatedFetch {
        var result = self
        body(&result.request)
        result.shape = change.flatMap { shape?.shape(of: result.request, after: $0) }
        return result
    }
}
