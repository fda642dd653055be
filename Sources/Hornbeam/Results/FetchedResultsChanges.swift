public import Foundation
internal import HornbeamModel

/// The changes of a controller's results, in the order that list views need: sections, then objects (FRC-9).
///
/// Old paths are positions before all changes, new paths are positions after all changes (FRC-11, FRC-12). An object whose path changes only
/// because of other changes is not included (FRC-10). An object that moves is included as a move only, even if it was updated. The objects of
/// a removed or new section are included too. The objects of a section that moves are not included, unless they change within it.
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
    /// The sections that move among the others: their indexes among the old and the new sections, in their new order.
    public private(set) var movedSections: [(from: Int, to: Int)] = []
    /// The changes of objects in the order: deletions, insertions, moves, updates.
    public private(set) var objects: [ObjectChange] = []

    /// True if any row may have changed, so that a view shows all its rows again. Then no other change is included. Only for requests with a batch
    /// size: after changes of rows whose objects do not exist, and after more than 1,000 changes.
    public private(set) var isReload = false

    /// True if neither sections nor objects have changed.
    public var isEmpty: Bool { deletedSections.isEmpty && insertedSections.isEmpty && movedSections.isEmpty && objects.isEmpty && !isReload }

    /// No changes.
    init() {}

    /// Changes of unknown rows.
    static var reload: Self {
        var changes = Self()
        changes.isReload = true
        return changes
    }

    /// Compares two lists of results. O(n log n) for n results between the first and the last difference.
    ///
    /// - Parameters:
    ///   - updated: The identities of objects whose values changed.
    ///   - limit: With more differences than this, the result is a reload.
    init(
        from old: [FetchedResultsSection<Object>], to new: [FetchedResultsSection<Object>], updated: Set<UInt64>, limit: Int = .max
    ) {
        let sections = ListDifference(from: old.map(\.name), to: new.map(\.name))
        deletedSections = sections.deleted.reversed()
        insertedSections = sections.inserted
        movedSections = sections.moved.map { ($0.old, $0.new) }
        let kept = keptSections(old.count, new.count)
        var newNumbers = [Int](repeating: -1, count: old.count)
        for (before, after) in kept { newNumbers[before] = after }
        // Objects that stay in sections that move stay among the objects in the new order of the sections.
        let order = movedSections.isEmpty ? Array(old.indices) : kept.map(\.from) + sections.deleted
        let before = PlacedResults(old, order: order)
        let after = PlacedResults(new, order: Array(new.indices))
        let difference = ListDifference(
            from: before.identities, to: after.identities, isMarked: { !updated.isEmpty && updated.contains($0) },
            mayStay: { newNumbers[before.sections[$0]] == after.sections[$1] })
        guard difference.count <= limit else {
            self = .reload
            return
        }
        append(difference, from: { (before.object($0), before.path($0)) }, to: { (after.object($0), after.path($0)) })
        if !movedSections.isEmpty { sortDeletions() }
    }

    /// The sections that exist before and after: their old and new indexes, in the new order.
    func keptSections(_ oldCount: Int, _ newCount: Int) -> [(from: Int, to: Int)] {
        let (leaving, arriving) = (Set(deletedSections + movedSections.map(\.from)), Set(insertedSections + movedSections.map(\.to)))
        let staying = zip((0 ..< oldCount).filter { !leaving.contains($0) }, (0 ..< newCount).filter { !arriving.contains($0) })
        return (staying.map { (from: $0, to: $1) } + movedSections).sorted { $0.to < $1.to }
    }

    /// Orders the deletions, which come first, by their old paths, descending.
    private mutating func sortDeletions() {
        let end = objects.firstIndex { if case .delete = $0 { false } else { true } } ?? objects.count
        objects[..<end].sort {
            guard case .delete(_, let a) = $0, case .delete(_, let b) = $1 else { return false }
            return a > b
        }
    }

    /// The changes of results without sections, of which the difference is known.
    init(_ difference: ListDifference, from old: OrderedResults<Object>, to new: OrderedResults<Object>) {
        // Results without objects have no section.
        if old.objects.isEmpty, !new.objects.isEmpty { insertedSections = [0] }
        if new.objects.isEmpty, !old.objects.isEmpty { deletedSections = [0] }
        let (oldObjects, newObjects) = (old.objects, new.objects)
        append(difference, from: { (oldObjects[$0], [0, $0]) }, to: { (newObjects[$0], [0, $0]) })
    }

    private mutating func append(
        _ difference: ListDifference, from old: (Int) -> (object: Object, path: IndexPath), to new: (Int) -> (object: Object, path: IndexPath)
    ) {
        objects.reserveCapacity(difference.count)
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
