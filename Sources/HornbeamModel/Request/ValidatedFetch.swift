/// A request that fits its model, with the entity that it names: the first step of a fetch.
///
/// The planner takes nothing else, so a request is checked once, where it comes in.
package struct ValidatedFetch: Sendable {
    package private(set) var request: FetchDescription
    package let entity: EntityDescription

    /// - Throws: `HornbeamError`: `unknownEntity`; `predicateInvalid` with all problems of the request.
    package init(_ request: FetchDescription, in model: ManagedObjectModel) throws {
        entity = try model.entity(named: request.entityName)
        try request.validate(for: entity)
        self.request = request
    }

    /// The fetch without offset and limit.
    package var withoutWindow: ValidatedFetch { replacing { $0 = $0.withoutWindow } }

    /// The fetch of the results up to the end of the window; see `FetchDescription.upToWindow`.
    package var upToWindow: ValidatedFetch { replacing { $0 = $0.upToWindow } }

    /// The fetch of all results, in any order.
    package var withoutOrder: ValidatedFetch {
        replacing { request in
            request = request.withoutWindow
            request.sortDescriptors = []
        }
    }

    /// The fetch of all objects among which the results are.
    package var withoutPredicate: ValidatedFetch {
        replacing { request in
            let stores = request.affectedStores
            let includesSubentities = request.includesSubentities
            request = FetchDescription(entityName: entity.name)
            request.includesSubentities = includesSubentities
            request.affectedStores = stores
        }
    }

    /// The fetch of the objects that dictionaries are made of.
    package func objects(for program: DictionaryProgram) -> ValidatedFetch { replacing { $0 = program.objects(of: $0) } }

    /// What is taken away from a valid request leaves a valid one.
    private func replacing(_ change: (inout FetchDescription) -> Void) -> ValidatedFetch {
        var result = self
        change(&result.request)
        return result
    }
}
