public import Foundation
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
/// A controller is used in the isolation of its context. Updates include changes of related objects and unsaved objects (FRC-17).
public final class FetchedResultsController<Object: ManagedObject> {
    /// The fetch request of the controller.
    public let request: FetchRequest<Object>
    /// The context of the results.
    public let context: ManagedObjectContext
    /// The key path whose values are the names of the sections; nil for one section.
    public let sectionKeyPath: String?
    /// Called after each change; the controller already has the new results. Without it, the results are not updated (FRC-7).
    public var onChange: ((FetchedResultsChanges<Object>) -> Void)? {
        didSet { if onChange != nil { listen() } }
    }
    /// The index title of a section: by default the capitalised first letter of its name (FRC-5).
    public var sectionIndexTitle: (String) -> String? = { $0.first.map { String($0).uppercased() } }
    /// The sections; empty before `performFetch`, and after a reset of the context.
    public private(set) var sections: [FetchedResultsSection<Object>] = []
    /// True after `performFetch`, until the context is reset.
    public private(set) var isFetched = false
    private var isListening = false
    private var prepared: ValidatedFetch?

    /// A controller for the results of a request, in sections by the value of a key path.
    ///
    /// - Throws: `unsupportedRequest` for a request without an order, or for dictionaries (FRC-1, FRC-2).
    public init(
        _ request: FetchRequest<Object>, in context: ManagedObjectContext, sectionedBy sectionKeyPath: String? = nil
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
        try context.requireObjects(request.untyped)
    }

    /// Fetches, and begins tracking (FRC-2).
    ///
    /// - Throws: The errors of `fetch`; `unknownKey` for a section key path that the objects do not have.
    public func performFetch() throws {
        prepared = try context.prepared(request.untyped)
        let objects = try context.fetch(request)
        sections = try FetchedResultsSection.sections(of: objects, by: sectionKeyPath)
        isFetched = true
    }

    /// All results in the order of the sections; nil before `performFetch` (FRC-2).
    public var fetchedObjects: [Object]? { isFetched ? sections.flatMap(\.objects) : nil }

    // MARK: Access

    /// The object at a section and position: `[0, 3]`. A path outside the results is a programmer error (FRC-3).
    public func object(at path: IndexPath) -> Object {
        guard path.count == 2, sections.indices.contains(path[0]), sections[path[0]].objects.indices.contains(path[1]) else {
            misuse("There is no result at the path \(Array(path)). Paths are a section and a position in it, as of the last change of the results.")
        }
        return sections[path[0]].objects[path[1]]
    }

    /// The path of an object; nil if it is not a result (FRC-3). O(results).
    public func indexPath(for object: Object) -> IndexPath? {
        for (number, section) in sections.enumerated() {
            if let place = section.objects.firstIndex(where: { $0 === object }) { return [number, place] }
        }
        return nil
    }

    /// The index titles of the sections, each once (FRC-5).
    public var sectionIndexTitles: [String] {
        var titles: [String] = []
        var seen: Set<String> = []
        for title in sections.compactMap({ sectionIndexTitle($0.name) }) where seen.insert(title).inserted { titles.append(title) }
        return titles
    }

    /// The first section with an index title; nil if there is none (FRC-5).
    public func section(forIndexTitle title: String) -> Int? {
        sections.firstIndex { sectionIndexTitle($0.name) == title }
    }

    /// The names of the sections and the IDs of the results, as a `Sendable` value (FRC-13).
    public var snapshot: FetchedResultsSnapshot {
        FetchedResultsSnapshot(sections)
    }

    // MARK: Tracking

    private func listen() {
        guard !isListening else { return }
        isListening = true
        context.observers.listeners.append { [weak self] changes in
            self?.follow(changes)
            return self != nil
        }
    }

    /// Fetches the results again after a change of the context, and compares them with the old ones (FRC-8).
    private func follow(_ changes: ObjectChanges) {
        guard isFetched, let onChange, let prepared else { return }
        if changes.invalidatedAll {
            sections = []
            isFetched = false
            return
        }
        do {
            let objects: [Object] = try context.finish(context.findPrepared(prepared), prepared.request)
            let old = sections
            sections = try FetchedResultsSection.sections(of: objects, by: sectionKeyPath)
            let touched = changes.updated.union(changes.refreshed)
            let changes = FetchedResultsChanges(from: old, to: sections) { touched.contains($0.objectID) }
            if !changes.isEmpty { onChange(changes) }
        } catch {
            // Results that cannot be read are removed. The next fetch throws the error.
            context.mergeAutomatically { throw error }
            isFetched = false
            sections = []
        }
    }
}

/// A section: the results with one section name.
public struct FetchedResultsSection<Object: ManagedObject> {
    /// The value of the section's key path as text; empty for nil, and for the only section of a controller without a key path.
    public let name: String
    /// The objects of the section, in order.
    public internal(set) var objects: [Object]
    /// The number of objects in the section.
    public var count: Int { objects.count }

    /// Groups objects with equal names into one section, in the order of their first objects (FRC-4).
    static func sections(of objects: [Object], by keyPath: String?) throws -> [FetchedResultsSection] {
        guard let keyPath else { return objects.isEmpty ? [] : [FetchedResultsSection(name: "", objects: objects)] }
        var sections: [FetchedResultsSection] = []
        var places: [String: Int] = [:]
        for object in objects {
            let name = try object.value(forKeyPath: keyPath).sectionName
            if let place = places[name] {
                sections[place].objects.append(object)
            } else {
                places[name] = sections.count
                sections.append(FetchedResultsSection(name: name, objects: [object]))
            }
        }
        return sections
    }
}

/// The IDs of the results by section.
public struct FetchedResultsSnapshot: Hashable, Sendable {
    /// A section of the results, as a value.
    public struct Section: Hashable, Sendable {
        /// The value of the section's key path as text.
        public let name: String
        /// The objects of the section, in order.
        public let objectIDs: [ManagedObjectID]
    }
    /// The sections, in order.
    public let sections: [Section]

    init(sections: [Section]) { self.sections = sections }

    init<Object: ManagedObject>(_ sections: [FetchedResultsSection<Object>]) {
        self.sections = sections.map { Section(name: $0.name, objectIDs: $0.objects.map(\.objectID)) }
    }

    /// The objects of all sections, in order.
    public var objectIDs: [ManagedObjectID] { sections.flatMap(\.objectIDs) }

    /// The removals and insertions that transform an older list of IDs into this one (FRC-14).
    public func difference(from older: FetchedResultsSnapshot) -> CollectionDifference<ManagedObjectID> {
        objectIDs.difference(from: older.objectIDs)
    }
}

extension PropertyValue {
    fileprivate var sectionName: String {
        switch self {
        case .null: ""
        case .string(let text): text
        case .int(let number): "\(number)"
        case .bool(let truth): truth ? "1" : "0"
        default: description
        }
    }
}
