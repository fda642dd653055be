public import HornbeamModel
public import Observation

/// The observable results of a request for views, updated when the context changes.
///
/// ```swift
/// let books = FetchedResults(FetchRequest<Book>().sorted(by: \.title), in: library.viewContext, sectionedBy: \.author.name)
/// for section in books.sections { list.show(section.name, section.objects) }
/// ```
/// The results are available at once. They are updated by unsaved changes, changes of related objects, limits, and the saves of other contexts
/// after the context has merged them. Changes that the context processes in one turn of the main actor are one update. The updates end when
/// this object is released. For a context of the main actor.
@MainActor
public final class FetchedResults<Object: ManagedObject>: Observable {
    private let live: LiveValue<SectionedResults<Object>>
    private let context: ManagedObjectContext
    private let sectionKeyPath: String?

    /// Fetches, and follows the changes of the context from then on. Errors are in `fetchError`.
    public init(_ request: FetchRequest<Object>, in context: ManagedObjectContext, sectionedBy sectionKeyPath: String? = nil) {
        self.request = request
        self.context = context
        self.sectionKeyPath = sectionKeyPath
        live = LiveValue(context.results(of: request, sectionedBy: sectionKeyPath))
    }

    /// Fetches results in sections by the value of a typed path: `sectionedBy: \.author.name`.
    public convenience init<Value>(
        _ request: FetchRequest<Object>, in context: ManagedObjectContext, sectionedBy path: KeyPath<FetchPath<Object>, FetchPath<Value>>
    ) {
        self.init(request, in: context, sectionedBy: path.format())
    }

    /// The request. Setting another one fetches its results; the published changes are the differences from the previous results.
    public var request: FetchRequest<Object> {
        didSet { live.replace(context.results(of: request, sectionedBy: sectionKeyPath).makeComputation()) }
    }

    /// The sections in the order of their first objects; one section without a name if there is no key path. Empty without results.
    public var sections: [FetchedResultsSection<Object>] { live.value?.sections ?? [] }

    /// All results in the order of the sections.
    public var objects: [Object] { live.value?.objects ?? [] }

    /// The names of the sections and the IDs of the results, for lists that compute differences themselves.
    public var snapshot: FetchedResultsSnapshot { live.value?.snapshot ?? FetchedResultsSnapshot(sections: []) }

    /// The error of the last fetch; nil after a successful one. The results are then those of the last successful fetch, and the next change
    /// fetches again.
    public var fetchError: (any Error)? { live.fetchError }

    /// Called after each update with the ordered differences from the previous results.
    public var onChange: ((FetchedResultsChanges<Object>) -> Void)? {
        didSet {
            guard let onChange else { return live.onUpdate = nil }
            live.onUpdate = { onChange($0.changes) }
        }
    }
}
