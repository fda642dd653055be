public import Foundation
public import HornbeamModel
internal import HornbeamStore

/// The results of a fetch in sections, kept as they should be while the context changes, saved or not.
///
/// ```swift
/// let controller = try FetchedResultsController(
///     FetchRequest<Employee>().sorted(by: "department.name").sorted(by: "name"), in: context, sectionedBy: "department.name")
/// controller.onChange = { changes in list.apply(changes) }
/// try controller.performFetch()
/// ```
/// Belongs to its context, and is used where that is used. Changes of related objects, limits and unsaved objects count (FRC-17).
public final class FetchedResultsController<Object: ManagedObject> {
    /// The request whose results the controller keeps.
    public let request: FetchRequest<Object>
    /// The context of the results.
    public let context: ManagedObjectContext
    /// The key path whose values name the sections; nil for one section.
    public let sectionKeyPath: String?
    /// Told of each change after it happened; without it nothing is tracked (FRC-7). The values of the controller are the new ones then.
    public var onChange: ((FetchedResultsChanges<Object>) -> Void)? {
        didSet { if onChange != nil { listen() } }
    }
    /// The letter of a section in an index: by default the capital first one of its name (FRC-5).
    public var sectionIndexTitle: (String) -> String? = { $0.first.map { String($0).uppercased() } }
    /// The sections; empty before `performFetch`, and once the context has forgotten everything.
    public private(set) var sections: [FetchedResultsSection<Object>] = []
    /// True after `performFetch`, until the context forgets everything.
    public private(set) var isFetched = false
    private var isListening = false
    private var prepared: FetchDescription

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
        prepared = request.untyped
        try context.requireObjects(prepared)
    }

    /// Fetches, and begins to track (FRC-2).
    ///
    /// - Throws: As `fetch`; `unknownKey` for a section key path that the objects do not have.
    public func performFetch() throws {
        prepared = try context.prepared(request.untyped)
        let objects = try context.fetch(request)
        sections = try FetchedResultsSection.sections(of: objects, by: sectionKeyPath)
        isFetched = true
    }

    /// All results in the order of the sections; nil before `performFetch` (FRC-2).
    public var fetchedObjects: [Object]? { isFetched ? sections.flatMap(\.objects) : nil }

    // MARK: Access

    /// The object at section and place: `[0, 3]`. Traps outside of the results (FRC-3).
    public func object(at path: IndexPath) -> Object { sections[path[0]].objects[path[1]] }

    /// Where an object is; nil when it is no result (FRC-3). O(results).
    public func indexPath(for object: Object) -> IndexPath? {
        for (number, section) in sections.enumerated() {
            if let place = section.objects.firstIndex(where: { $0 === object }) { return [number, place] }
        }
        return nil
    }

    /// The titles of the sections for an index, each once (FRC-5).
    public var sectionIndexTitles: [String] {
        var titles: [String] = []
        var seen: Set<String> = []
        for title in sections.compactMap({ sectionIndexTitle($0.name) }) where seen.insert(title).inserted { titles.append(title) }
        return titles
    }

    /// The first section with a title; nil when there is none (FRC-5).
    public func section(forIndexTitle title: String) -> Int? {
        sections.firstIndex { sectionIndexTitle($0.name) == title }
    }

    /// The names of the sections and the IDs of the results, as a value that may go anywhere (FRC-13).
    public var snapshot: FetchedResultsSnapshot {
        FetchedResultsSnapshot(sections)
    }

    // MARK: Tracking

    private func listen() {
        guard !isListening else { return }
        isListening = true
        context.listeners.append { [weak self] changes in
            self?.follow(changes)
            return self != nil
        }
    }

    /// The context changed: the results are found anew where they are, and compared (FRC-8).
    private func follow(_ changes: ObjectChanges) {
        guard isFetched, let onChange else { return }
        if changes.invalidatedAll {
            sections = []
            isFetched = false
            return
        }
        do {
            let objects: [Object] = try context.finish(context.findPrepared(prepared), prepared)
            let old = sections
            sections = try FetchedResultsSection.sections(of: objects, by: sectionKeyPath)
            let touched = changes.updated.union(changes.refreshed)
            let changes = FetchedResultsChanges(from: old, to: sections) { touched.contains($0.objectID) }
            if !changes.isEmpty { onChange(changes) }
        } catch {
            // What cannot be read now cannot be shown; the next fetch meets it and throws it.
            context.mergeByItself { throw error }
            isFetched = false
            sections = []
        }
    }
}

/// Results with one section name.
public struct FetchedResultsSection<Object: ManagedObject> {
    /// The value of the section's key path as text; empty for the only section of a controller without one, and for nil.
    public let name: String
    /// The objects of the section, in order.
    public internal(set) var objects: [Object]
    /// The number of objects in the section.
    public var count: Int { objects.count }

    /// Objects with equal names in one section, sections in the order of their first objects (FRC-4).
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

/// Which objects are in which section.
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

    /// What must be removed and inserted to come from an older list of IDs to this one (FRC-14).
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
