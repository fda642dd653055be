public import Foundation
internal import HornbeamModel

/// The changes of a controller's results, in the order that list views need: sections, then objects (FRC-9).
///
/// Old paths are positions before all changes, new paths are positions after all changes (FRC-11, FRC-12). An object whose path changes only
/// because of other changes is not included (FRC-10). An object that moves is included as a move only, even if it was updated. The objects of
/// a removed or new section are included too. A section that moves among the others is removed and new, and its objects move.
public struct FetchedResultsChanges<Object: ManagedObject> {
    /// A change of one result.
    public enum ObjectChange {
        /// The object is a new result.
        case insert(Object, at: IndexPath)
        /// The object is no longer a result.
        case delete(Object, at: IndexPath)
        /// The object has another position. Its values may have changed too.
        case move(Object, from: IndexPath, to: IndexPath)
        /// The object's values changed, but not its position among the others.
        case update(Object, from: IndexPath, to: IndexPath)
    }

    /// The indexes of removed sections among the old sections, descending.
    public private(set) var deletedSections: [Int] = []
    /// The indexes of new sections among the new sections, ascending.
    public private(set) var insertedSections: [Int] = []
    /// The changes of objects in the order: deletions, insertions, moves, updates.
    public private(set) var objects: [ObjectChange] = []

    /// True if neither sections nor objects have changed.
    public var isEmpty: Bool { deletedSections.isEmpty && insertedSections.isEmpty && objects.isEmpty }

    /// No changes.
    init() {}

    /// Compares two lists of results. O(n log n) for n results between the first and the last difference.
    init(
        from old: [FetchedResultsSection<Object>], to new: [FetchedResultsSection<Object>],
        updated: Set<ObjectIdentifier>
    ) {
        let sections = ListDifference(from: old.map(\.name), to: new.map(\.name))
        deletedSections = (sections.deleted + sections.moved.map(\.old)).sorted(by: >)
        insertedSections = (sections.inserted + sections.moved.map(\.new)).sorted()
        let (removed, added) = (Set(deletedSections), Set(insertedSections))
        var newNumbers = [Int](repeating: -1, count: old.count)
        for (before, after) in zip(old.indices.filter { !removed.contains($0) }, new.indices.filter { !added.contains($0) }) {
            newNumbers[before] = after
        }
        compareObjects(PlacedResults(old), PlacedResults(new), newNumbers, updated)
    }

    /// The changes of results without sections, of which the difference is known.
    init(_ difference: ListDifference, from old: OrderedResults<Object>, to new: OrderedResults<Object>) {
        // Results without objects have no section.
        if old.objects.isEmpty, !new.objects.isEmpty { insertedSections = [0] }
        if new.objects.isEmpty, !old.objects.isEmpty { deletedSections = [0] }
        let (oldObjects, newObjects) = (old.objects, new.objects)
        append(difference, from: { (oldObjects[$0], [0, $0]) }, to: { (newObjects[$0], [0, $0]) })
    }

    private mutating func compareObjects(
        _ old: PlacedResults<Object>, _ new: PlacedResults<Object>, _ newNumbers: [Int], _ updated: Set<ObjectIdentifier>
    ) {
        let difference = ListDifference(
            from: old.identities, to: new.identities, isMarked: { !updated.isEmpty && updated.contains($0) },
            mayStay: { newNumbers[old.sections[$0]] == new.sections[$1] })
        append(difference, from: { (old.object($0), old.path($0)) }, to: { (new.object($0), new.path($0)) })
    }

    private mutating func append(
        _ difference: ListDifference, from old: (Int) -> (object: Object, path: IndexPath), to new: (Int) -> (object: Object, path: IndexPath)
    ) {
        objects.reserveCapacity(difference.deleted.count + difference.inserted.count + difference.moved.count + difference.marked.count)
        for position in difference.deleted.reversed() {
            let place = old(position)
            objects.append(.delete(place.object, at: place.path))
        }
        for position in difference.inserted {
            let place = new(position)
            objects.append(.insert(place.object, at: place.path))
        }
        for pair in difference.moved {
            let place = new(pair.new)
            objects.append(.move(place.object, from: old(pair.old).path, to: place.path))
        }
        for pair in difference.marked {
            let place = new(pair.new)
            objects.append(.update(place.object, from: old(pair.old).path, to: place.path))
        }
    }
}

/// Results in the order of their sections, with the section of each.
private struct PlacedResults<Object: ManagedObject> {
    private let all: [FetchedResultsSection<Object>]
    /// The position of the first result of each section.
    private var starts: [Int] = []
    /// The number of the section of each result.
    private(set) var sections: [Int] = []
    private(set) var identities: [ObjectIdentifier] = []

    init(_ all: [FetchedResultsSection<Object>]) {
        self.all = all
        let count = all.reduce(0) { $0 + $1.count }
        sections.reserveCapacity(count)
        identities.reserveCapacity(count)
        for (number, section) in all.enumerated() {
            starts.append(sections.count)
            for object in section.objects {
                sections.append(number)
                identities.append(ObjectIdentifier(object))
            }
        }
    }

    func object(_ position: Int) -> Object { all[sections[position]].objects[position - starts[sections[position]]] }

    func path(_ position: Int) -> IndexPath { [sections[position], position - starts[sections[position]]] }
}
