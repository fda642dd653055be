internal import HornbeamModel

/// The current batch of a lazy result (FET-5).
final class FetchedBatch {
    private var range = 0..<0
    private var objects: [ManagedObject] = []

    /// The object at a position. Loads its batch if it is not the current one.
    func object(_ place: Int, in found: FoundObjects, size: Int, _ context: ManagedObjectContext) -> ManagedObject {
        if range.contains(place) { return objects[place - range.lowerBound] }
        let start = place / size * size
        range = start..<min(start + size, found.count)
        let ids = range.map { context.objectID(found[$0]) }
        objects = context.objects(with: ids)
        return objects[place - start]
    }
}
