public import Foundation
internal import HornbeamModel

/// The changes of a controller's results, in the order that list views need: sections, then objects (FRC-9).
///
/// Old paths are positions before all changes, new paths are positions after all changes (FRC-11, FRC-12). An object whose path changes only
/// because of other changes is not included (FRC-10). An object that moves is included as a move only, even if it was updated.
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

    init(
        from old: [FetchedResultsSection<Object>], to new: [FetchedResultsSection<Object>],
        isUpdated: (Object) -> Bool
    ) {
        let (oldNames, newNames) = (Set(old.map(\.name)), Set(new.map(\.name)))
        deletedSections = old.indices.filter { !newNames.contains(old[$0].name) }.reversed()
        insertedSections = new.indices.filter { !oldNames.contains(new[$0].name) }
        compareObjects(Placed(old), Placed(new), isUpdated)
    }

    private mutating func compareObjects(_ old: Placed<Object>, _ new: Placed<Object>, _ isUpdated: (Object) -> Bool) {
        for entry in old.entries.reversed() where new.rank[ObjectIdentifier(entry.object)] == nil {
            objects.append(.delete(entry.object, at: entry.path))
        }
        for entry in new.entries where old.rank[ObjectIdentifier(entry.object)] == nil {
            objects.append(.insert(entry.object, at: entry.path))
        }
        let common = new.entries.filter { old.rank[ObjectIdentifier($0.object)] != nil }
        let oldRanks = common.map { old.rank[ObjectIdentifier($0.object)] ?? 0 }
        // Several sets of moves may be possible. The weights select one that moves few unchanged objects.
        let weights = common.map { isUpdated($0.object) ? 1 : common.count + 1 }
        let still = Self.heaviestAscending(oldRanks, weights, below: old.entries.count)
        var updates: [ObjectChange] = []
        for (place, entry) in common.enumerated() {
            let before = old.entries[oldRanks[place]]
            if !still.contains(place) || before.section != entry.section {
                objects.append(.move(entry.object, from: before.path, to: entry.path))
            } else if isUpdated(entry.object) {
                updates.append(.update(entry.object, from: before.path, to: entry.path))
            }
        }
        objects += updates
    }

    /// The positions of the heaviest ascending subsequence. These objects stay, and all others move. O(n log n).
    ///
    /// Ranks are distinct and less than `bound`.
    private static func heaviestAscending(_ ranks: [Int], _ weights: [Int], below bound: Int) -> Set<Int> {
        // A Fenwick tree over ranks. Each cell has the weight of the heaviest subsequence that ends in its range, and the last position of that.
        var heaviest = [(weight: Int, last: Int)](repeating: (0, -1), count: bound + 1)
        var previous = [Int](repeating: -1, count: ranks.count)
        for (position, rank) in ranks.enumerated() {
            var best = (weight: 0, last: -1)
            var cell = rank
            while cell > 0 {
                if heaviest[cell].weight > best.weight { best = heaviest[cell] }
                cell &= cell - 1
            }
            previous[position] = best.last
            cell = rank + 1
            while cell <= bound {
                if heaviest[cell].weight < best.weight + weights[position] {
                    heaviest[cell] = (best.weight + weights[position], position)
                }
                cell += cell & -cell
            }
        }
        var still: Set<Int> = []
        var next = heaviest.max { $0.weight < $1.weight }?.last ?? -1
        while next >= 0 {
            still.insert(next)
            next = previous[next]
        }
        return still
    }
}

/// Results with their paths, and their positions by object.
private struct Placed<Object: ManagedObject> {
    struct Entry {
        let object: Object
        let section: String
        let path: IndexPath
    }

    private(set) var entries: [Entry] = []
    private(set) var rank: [ObjectIdentifier: Int] = [:]

    init(_ sections: [FetchedResultsSection<Object>]) {
        for (number, section) in sections.enumerated() {
            for (place, object) in section.objects.enumerated() {
                rank[ObjectIdentifier(object)] = entries.count
                entries.append(Entry(object: object, section: section.name, path: [number, place]))
            }
        }
    }
}
