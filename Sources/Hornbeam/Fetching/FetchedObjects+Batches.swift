internal import HornbeamModel
internal import HornbeamStore

/// The current batch of a lazy result (FET-5).
final class FetchedBatch {
    private var range = 0..<0
    private var objects: [ManagedObject] = []

    /// The object at a position. Loads its batch if it is not the current one.
    func object(_ place: Int, in found: FoundObjects, size: Int, _ context: ManagedObjectContext) -> ManagedObject {
        if range.contains(place) { return objects[place - range.lowerBound] }
        let start = place / size * size
        range = start..<min(start + size, found.count)
        objects = context.objects(of: found, in: range)
        return objects[place - start]
    }
}

extension ManagedObjectContext {
    /// The objects of some results. The rows of those that are created here are located, leaf by leaf.
    fileprivate func objects(of found: FoundObjects, in range: Range<Int>) -> [ManagedObject] {
        guard var rows = found.rows else { return objects(with: range.map { objectID(found[$0]) }) }
        rows.keep(range)
        var objects: [ManagedObject] = []
        objects.reserveCapacity(range.count)
        // Consecutive rows of one table.
        var keys: [UInt64] = []
        keys.reserveCapacity(range.count)
        var first: ObjectReference?
        func makeObjects() {
            guard let first else { return }
            objects += self.objects(for: keys[...], scope(at: Int(first.entityIndex), in: first.slot))
            keys.removeAll(keepingCapacity: true)
        }
        for row in rows {
            let reference = row.reference
            if first.map({ $0.entityIndex != reference.entityIndex || $0.slot != reference.slot }) ?? true {
                makeObjects()
                first = reference
            }
            keys.append(StoreSlot.local(reference.key))
        }
        makeObjects()
        return objects
    }
}
