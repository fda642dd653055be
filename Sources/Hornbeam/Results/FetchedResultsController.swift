public import HornbeamModel
internal import HornbeamStore

/// The results of a fetch in sections, updated by saved and unsaved changes of the context.
///
/// ```swift
/// let controller = try FetchedResultsController(
///     FetchRequest<Employee>().sorted(by: "department.name").sorted(by: "name"), in: context, sectionedBy: "department.name")
/// controller.onChange = { changes in list.apply(changes) }
/// try controller.performFetch()
/// ```
/// A controller is used in the isolation of its context. Updates include changes of related objects and unsaved objects (FRC-17). An update after
/// changes of k of n results costs O(n + k log n). If the request has a limit, or if objects that it reads through relationships changed,
/// the update is a fetch. `ListDataSource` shows a controller's results in a view.
///
/// With a batch size (`FetchRequest.batches(of:)`), the controller keeps references to the rows, and creates the objects that are accessed, a batch
/// at a time (FET-5). Each update that may affect the results is a fetch. Section names are counted by the store if the sections are those of the first sort
/// and there is no limit; otherwise the batch size has no effect.
public final class FetchedResultsController<Object: ManagedObject> {
    /// The fetch request of the controller.
    public let request: FetchRequest<Object>
    /// The context of the results.
    public let context: ManagedObjectContext
    /// The key path whose values are the names of the sections; nil for one section.
    public let sectionKeyPath: String?
    /// The name of the section cache; nil for none (FRC-6).
    public let cacheName: String?
    /// Called after each change; the controller already has the new results. Without `onChange`, `onDifference` and `onSnapshot`, the
    /// results are not updated (FRC-7).
    public var onChange: ((FetchedResultsChanges<Object>) -> Void)? { didSet { startTracking() } }
    /// Called after each change, after `onChange`, with the removals and insertions of IDs over all sections (FRC-14).
    public var onDifference: ((CollectionDifference<ManagedObjectID>) -> Void)? { didSet { startTracking() } }
    /// Called after each change, after `onDifference`, with the section names and IDs (FRC-13).
    public var onSnapshot: ((FetchedResultsSnapshot) -> Void)? { didSet { startTracking() } }
    /// Called when the context is reset, or when the results cannot be read: there are no results until the next `performFetch` (FRC-15).
    public var onInvalidation: (() -> Void)?
    /// The index title of a section: by default the capitalised first letter of its name (FRC-5).
    public var sectionIndexTitle: (String) -> String? = { $0.first.map { String($0).uppercased() } }
    private var results: (any UpdatedResults<Object>)?
    private var isListening = false
    private var isUserDriven = false

    /// A controller for the results of a request, in sections by the value of a key path.
    ///
    /// - Parameters:
    ///   - request: The request, with an order.
    ///   - context: The context of the results.
    ///   - sectionKeyPath: The key path whose values are the names of the sections.
    ///   - cacheName: The name of a file in the store that keeps the sections for the next fetch. Use one name for each list.
    /// - Throws: `unsupportedRequest` for a request without an order, or for dictionaries (FRC-1, FRC-2).
    public init(
        _ request: FetchRequest<Object>, in context: ManagedObjectContext, sectionedBy sectionKeyPath: String? = nil, cacheName: String? = nil
    ) throws {
        guard !request.untyped.sortDescriptors.isEmpty else {
            throw HornbeamError(
                .unsupportedRequest,
                "The results of a controller need an order: give the request for “\(request.untyped.entityName)” a sort, by the "
                    + "section first.",
                entity: request.untyped.entityName)
        }
        self.request = request
        self.context = context
        self.sectionKeyPath = sectionKeyPath
        self.cacheName = cacheName
        try context.requireObjects(request.untyped)
    }

    /// Fetches, and begins tracking (FRC-2). With a valid section cache, the section names are not read (FRC-6).
    ///
    /// - Throws: The errors of `fetch`; `unknownKey` for a section key path that the objects do not have.
    public func performFetch() throws {
        let fetch = try context.prepared(request.untyped)
        if let batched = try BatchedResults<Object>(fetch, by: sectionKeyPath, in: context) {
            results = batched
            return
        }
        let objects: [Object] = try context.finish(context.findPrepared(fetch), fetch.request)
        // Objects in memory are tested by their getters, which cannot throw.
        try context.requireNoReadFailures()
        results = TrackedResults(try sectioned(objects, fetch), of: fetch, by: sectionKeyPath, in: context)
    }

    private func sectioned(_ objects: [Object], _ fetch: ValidatedFetch) throws -> OrderedResults<Object> {
        guard let cacheName, let sectionKeyPath, let cache = try SectionCache(named: cacheName, fetch, by: sectionKeyPath, in: context) else {
            return try OrderedResults(objects, by: sectionKeyPath)
        }
        if let results = cache.results(objects) { return results }
        let results = try OrderedResults(objects, by: sectionKeyPath)
        cache.store(results)
        return results
    }

    /// The sections; empty before `performFetch`, and after a reset of the context.
    public var sections: [FetchedResultsSection<Object>] { results?.sections ?? [] }

    /// True after `performFetch`, until the context is reset.
    public var isFetched: Bool { results != nil }

    /// All results in the order of the sections; nil before `performFetch` (FRC-2). For a request with a batch size, this creates all of them.
    public var fetchedObjects: [Object]? {
        guard let sections = results?.sections else { return nil }
        return sections.count == 1 ? sections[0].objects : sections.flatMap(\.objects)
    }

    // MARK: Tracking

    /// Makes changes that the user has already made in the view, for example by dragging a row: the results are updated, and no closure is
    /// called (FRC-16).
    ///
    /// Earlier changes that wait are processed before, and do call the closures.
    /// - Throws: The error of `change`.
    public func performUserDrivenChange<R>(_ change: () throws -> R) rethrows -> R {
        context.processPendingChanges()
        isUserDriven = true
        defer {
            context.processPendingChanges()
            isUserDriven = false
        }
        return try change()
    }

    private var isTracking: Bool { onChange != nil || onDifference != nil || onSnapshot != nil }

    private func startTracking() {
        guard isTracking, !isListening else { return }
        isListening = true
        // The results may have missed changes.
        results?.isStale = true
        context.observers.listeners.append { [weak self] event in
            self?.follow(event)
            return self != nil
        }
    }

    /// Updates the results after a change of the context, and compares them with the old ones (FRC-8).
    private func follow(_ event: ContextEvent) {
        guard results != nil else { return }
        if event.changes.invalidatedAll { return invalidate() }
        guard isTracking else {
            results?.isStale = true
            return
        }
        do {
            let old = onDifference == nil ? nil : snapshot
            guard let changes = try results?.update(after: event), !isUserDriven else { return }
            onChange?(changes)
            if let old { onDifference?(snapshot.difference(from: old)) }
            onSnapshot?(snapshot)
        } catch {
            // Results that cannot be read are removed. The next fetch throws the error.
            context.mergeAutomatically { throw error }
            invalidate()
        }
    }

    private func invalidate() {
        results = nil
        onInvalidation?()
    }
}
