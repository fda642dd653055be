public import HornbeamModel
public import Observation

/// The observable results of a request for views, updated when the context changes.
///
/// ```swift
/// let books = FetchedResults(FetchRequest<Book>().sorted(by: \.title), in: library.viewContext, sectionedBy: \.author.name)
/// for section in books.sections { list.show(section.name, section.objects) }
/// ```
/// The results are available immediately. They are updated by unsaved changes, changes of related objects, and the saves of other contexts
/// after the context has merged them. The changes that the context processes in one turn of the main actor make one update. The updates end
/// when this object is released. For a context of the main actor.
@MainActor
public final class FetchedResults<Object: ManagedObject>: Observable {
    private let live: LiveValue<SectionedResults<Object>>
    private let context: ManagedObjectContext
    private let sectionKeyPath: String?

    /// Fetches the results, and updates them when the context changes. Errors are in `fetchError`.
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

    /// The request. After an assignment, the new results are fetched, and `onChange` receives the differences from the previous results.
    public var request: FetchRequest<Object> {
        didSet { live.replace(context.results(of: request, sectionedBy: sectionKeyPath).makeComputation()) }
    }

    /// The sections in the order of their first objects. Without a key path, one section without a name. Empty without results.
    public var sections: [FetchedResultsSection<Object>] { live.value?.sections ?? [] }

    /// All results in the order of the sections.
    public var objects: [Object] { live.value?.objects ?? [] }

    /// The names of the sections and the IDs of the results, for list views that compute differences themselves.
    public var snapshot: FetchedResultsSnapshot { live.value?.snapshot ?? FetchedResultsSnapshot(sections: []) }

    /// The error of the last fetch; nil after a successful one. After an error, the results are those of the last successful fetch, and the next
    /// change fetches again.
    public var fetchError: (any Error)? { live.fetchError }

    /// Called after each update with the ordered differences from the previous results.
    public var onChange: ((FetchedResultsChanges<Object>) -> Void)? {
        didSet {
            guard let onChange else { return live.onUpdate = nil }
            live.onUpdate = { onChange($0.changes) }
        }
    }
}
