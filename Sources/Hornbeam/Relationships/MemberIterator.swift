internal import HornbeamModel

/// Walks the members of a relationship.
///
/// The order is that of the moment when the walk began. Faults are made 64 at a time, with the places of
/// their rows looked up together, so that touching one member does not look up each of its siblings alone.
public struct MemberIterator<Element: ManagedObject>: IteratorProtocol {
    private let owner: ManagedObject?
    private let property: PropertyDescription?
    private let ids: [ManagedObjectID]
    private var batch: [ManagedObject]
    private var place = 0
    private var nextID = 0

    init(owner: ManagedObject, property: PropertyDescription) {
        self.owner = owner
        self.property = property
        ids = owner.readingContext == nil ? [] : owner.members(of: property)
        batch = []
    }

    init(_ objects: [Element]) {
        owner = nil
        property = nil
        ids = []
        batch = objects
    }

    public mutating func next() -> Element? {
        if place == batch.count { loadBatch() }
        guard place < batch.count else { return nil }
        defer { place += 1 }
        if let owner, let property { return owner.typed(batch[place], property) }
        return batch[place] as? Element
    }

    private mutating func loadBatch() {
        guard nextID < ids.count, let context = owner?.readingContext else { return }
        let end = min(nextID + 64, ids.count)
        batch = []
        context.sweepIfDue()
        batch = context.objects(with: ids[nextID..<end])
        nextID = end
        place = 0
    }
}
