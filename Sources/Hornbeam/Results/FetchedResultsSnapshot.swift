public import HornbeamModel

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
        self.sections = sections.map { Section(name: $0.name, objectIDs: $0.rows.objectIDs) }
    }

    /// The objects of all sections, in order.
    public var objectIDs: [ManagedObjectID] { sections.flatMap(\.objectIDs) }

    /// The removals and insertions that transform an older list of IDs into this one (FRC-14). A moved object is removed and inserted, with
    /// associated offsets. O(n log n), however many IDs differ.
    public func difference(from older: FetchedResultsSnapshot) -> CollectionDifference<ManagedObjectID> {
        let (old, new) = (older.objectIDs, objectIDs)
        let difference = ListDifference(from: old, to: new)
        var changes: [CollectionDifference<ManagedObjectID>.Change] = []
        for offset in difference.deleted { changes.append(.remove(offset: offset, element: old[offset], associatedWith: nil)) }
        for offset in difference.inserted { changes.append(.insert(offset: offset, element: new[offset], associatedWith: nil)) }
        for pair in difference.moved {
            changes.append(.remove(offset: pair.old, element: old[pair.old], associatedWith: pair.new))
            changes.append(.insert(offset: pair.new, element: new[pair.new], associatedWith: pair.old))
        }
        return CollectionDifference(changes) ?? new.difference(from: old)
    }
}
