public import Foundation
public import HornbeamModel

/// Shows the results of a controller in a view, and keeps the view up to date (SEED-10 to SEED-13).
///
/// ```swift
/// let list = try ListDataSource(FetchRequest<Book>().sorted(by: \.title), in: context, view: table) { cell, book in cell.text = book.title }
/// try list.startVending()
/// ```
/// The view is any `ListView`. A data source is used in the isolation of its context. It retains the view.
public final class ListDataSource<Object: ManagedObject, View: ListView> {
    /// The results that the view shows. The data source sets the closures of the controller.
    public let results: FetchedResultsController<Object>
    /// The view.
    public let view: View
    /// The kind of cell of an object (SEED-11).
    public var cellIdentifier: (Object) -> String = { _ in "cell" }
    /// The title of a section; nil for its name. Evaluated for all sections after each change. A section with another title is reloaded.
    public var sectionTitle: ((FetchedResultsSection<Object>) -> String)?
    /// Called with the selected object, and with nil when it is no longer a result (SEED-12).
    public var onSelectionChange: ((Object?) -> Void)?
    /// Called when vending starts, and when the list gets its first row or loses its last one: whether there are rows (SEED-12).
    public var onHasResultsChange: ((Bool) -> Void)?
    /// The selected object; nil if there is none.
    public private(set) var selectedObject: Object?
    /// True while the view follows the results (SEED-13).
    public private(set) var isVending = false
    /// The error of the fetch after a reset of the context; nil after a successful fetch.
    public private(set) var fetchError: (any Error)?
    private let configure: (inout View.Cell, Object) -> Void
    private var hasResults: Bool?
    /// The titles that the view shows.
    private let titles = ShownTitles()
    /// The objects that changed during a user's move; nil outside one.
    private var changedByUser: [Object]?

    /// Shows the results of a controller.
    ///
    /// - Parameters:
    ///   - results: The controller. This data source sets its closures.
    ///   - view: The view.
    ///   - configure: Sets the content of the cell of an object.
    public init(_ results: FetchedResultsController<Object>, view: View, configure: @escaping (inout View.Cell, Object) -> Void) {
        self.results = results
        self.view = view
        self.configure = configure
        results.onInvalidation = { [weak self] in self?.fetchAgain() }
    }

    /// Shows the results of a request.
    ///
    /// - Throws: `unsupportedRequest` for a request without an order.
    public convenience init(
        _ request: FetchRequest<Object>, in context: ManagedObjectContext, sectionedBy sectionKeyPath: String? = nil, cacheName: String? = nil,
        view: View, configure: @escaping (inout View.Cell, Object) -> Void
    ) throws {
        let results = try FetchedResultsController(request, in: context, sectionedBy: sectionKeyPath, cacheName: cacheName)
        self.init(results, view: view, configure: configure)
    }

    // MARK: Vending

    /// Fetches, shows all rows, and shows each change from now on (SEED-13).
    ///
    /// - Throws: The errors of `performFetch`. Then the view is unchanged.
    public func startVending() throws {
        try results.performFetch()
        results.onChange = { [weak self] changes in self?.show(changes) }
        fetchError = nil
        isVending = true
        view.contents = contents
        reload()
        resultsChanged()
    }

    private func reload() {
        titles.all = currentTitles
        view.reloadList()
    }

    private var currentTitles: [String] { results.sections.map { sectionTitle?($0) ?? $0.name } }

    /// Stops the updates. The view keeps its rows, and the results are not tracked until `startVending`, which shows all rows again (SEED-13).
    public func stopVending() {
        isVending = false
        results.onChange = nil
    }

    private func fetchAgain() {
        guard isVending else { return }
        do { try startVending() } catch {
            fetchError = error
            reload()
            resultsChanged()
        }
    }

    private var contents: ListContents<View.Cell> {
        // The closures retain the results and the titles, but not the data source, which retains the view: no cycle.
        ListContents(
            sections: { [results] in results.sections.count }, title: { [titles] in titles[$0] },
            rows: { [results] in results.sections[$0].count }, makeCell: { [weak self, results] in
                let object = results.object(at: $0)
                guard let self else { misuse("The data source of the list was released. Keep it as long as its view shows rows.") }
                return cell(of: object)
            })
    }

    private func cell(of object: Object) -> View.Cell {
        var cell = view.makeCell(identifier: cellIdentifier(object))
        configure(&cell, object)
        return cell
    }

    // MARK: Changes

    private func show(_ changes: FetchedResultsChanges<Object>) {
        guard changedByUser == nil else {
            for case .update(let object, _, _) in changes.objects { changedByUser?.append(object) }
            for case .move(let object, _, _) in changes.objects { changedByUser?.append(object) }
            return
        }
        apply(changes)
        resultsChanged()
    }

    private func apply(_ changes: FetchedResultsChanges<Object>) {
        if changes.isReload { return reload() }
        let oldTitles = titles.all
        titles.all = currentTitles
        let renamed = changes.keptSections(oldTitles.count, titles.all.count).filter { oldTitles[$0.from] != titles.all[$0.to] }
        guard !changes.isEmpty || !renamed.isEmpty else { return }
        view.beginUpdates()
        for index in changes.deletedSections { view.deleteSection(at: index) }
        for index in changes.insertedSections { view.insertSection(at: index) }
        for (index, newIndex) in changes.movedSections { view.moveSection(from: index, to: newIndex) }
        for change in changes.objects {
            switch change {
            case .delete(_, let path): view.deleteRow(at: path)
            case .insert(_, let path): view.insertRow(at: path)
            case .move(_, let path, let newPath): view.moveRow(from: path, to: newPath)
            case .update(_, let path, let newPath): view.reloadRow(at: path, now: newPath)
            }
        }
        for (index, newIndex) in renamed { view.reloadSection(at: index, now: newIndex) }
        view.endUpdates()
    }

    private func resultsChanged() {
        if let selectedObject, results.indexPath(for: selectedObject) == nil { select(nil) }
        let isFilled = !results.sections.isEmpty
        guard hasResults != isFilled else { return }
        hasResults = isFilled
        onHasResultsChange?(isFilled)
    }

    // MARK: The user

    /// Selects a row, or nothing. Views call this for a row that the user chooses (SEED-12).
    public func selectRow(at path: IndexPath?) { select(path.map { results.object(at: $0) }) }

    /// The path of the selected row, which changes with the rows; nil without a selection.
    public var selectedPath: IndexPath? { selectedObject.flatMap { results.indexPath(for: $0) } }

    private func select(_ object: Object?) {
        guard selectedObject !== object else { return }
        selectedObject = object
        onSelectionChange?(object)
    }

    /// Changes the data after the user moved a row, for example by dragging it: the view already shows the row at its new path (FRC-16).
    ///
    /// The view receives only the differences between the rows that it shows and the results after the change: usually the moved row is reloaded.
    /// If `change` does not lead to the new position, or throws, the row moves to its place.
    /// - Parameters:
    ///   - path: The path before the move.
    ///   - newPath: The path after the move.
    ///   - change: Changes the object so that it sorts at the new path.
    /// - Throws: The error of `change`.
    public func moveRowByUser(from path: IndexPath, to newPath: IndexPath, _ change: (Object) throws -> Void) rethrows {
        let object = results.object(at: path)
        var shown = results.sections
        shown[path[0]].rows.remove(at: path[1])
        require(
            newPath.count == 2 && shown.indices.contains(newPath[0]) && (0...shown[newPath[0]].count).contains(newPath[1]),
            "A row cannot be moved to the path \(Array(newPath)). Paths are a section and a position in it, after the row was taken from its place.")
        shown[newPath[0]].rows.insert(object, at: newPath[1])
        changedByUser = [object]
        defer {
            let changed = changedByUser ?? []
            changedByUser = nil
            let sections = results.sections
            let updated = Set(changed.map { sections.first?.rows.identity(of: $0) ?? 0 })
            apply(FetchedResultsChanges(from: shown, to: sections, updated: updated))
            resultsChanged()
        }
        try results.performUserDrivenChange { try change(object) }
    }
}

/// The titles of the sections that a view shows.
private final class ShownTitles {
    var all: [String] = []

    /// Empty for a section that the view does not show yet: the owner of the controller can fetch without the data source.
    subscript(section: Int) -> String { all.indices.contains(section) ? all[section] : "" }
}
