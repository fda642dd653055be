internal import HornbeamModel
internal import HornbeamStore

/// The rows of a section as references. Their objects are created when they are accessed, a batch at a time (FET-5).
struct BatchedRows<Object: ManagedObject> {
    var references: [ObjectReference]
    let vendor: BatchVendor<Object>

    /// The object at a position, created with its batch.
    func object(at position: Int) -> Object { vendor.object(at: position, in: references) }

    /// The object at a position, created alone.
    func single(at position: Int) -> Object { vendor.single(references[position]) }

    var objectIDs: [ManagedObjectID] { references.map { vendor.unsaved[$0.key]?.objectID ?? vendor.context.objectID($0) } }

    /// The keys of the rows. The key of an object that was saved since the fetch is its new one.
    var identities: [UInt64] { references.map { vendor.currentKey($0.key) } }

    func position(of object: Object) -> Int? {
        let key = object.registryKey
        return references.firstIndex { vendor.currentKey($0.key) == key }
    }
}

/// Creates the objects of results in batches. Retains the objects of the last two batches.
final class BatchVendor<Object: ManagedObject> {
    let context: ManagedObjectContext
    private let request: FetchDescription
    /// The results that were not saved when they were fetched, by their temporary keys.
    let unsaved: [UInt64: Object]
    private var current: [UInt64: Object] = [:]
    private var previous: [UInt64: Object] = [:]

    init(_ context: ManagedObjectContext, _ request: FetchDescription, unsaved: [UInt64: Object]) {
        self.context = context
        self.request = request
        self.unsaved = unsaved
    }

    /// The key of an object: that of its row, if it was saved since the fetch.
    func currentKey(_ key: UInt64) -> UInt64 { unsaved.isEmpty ? key : unsaved[key]?.registryKey ?? key }

    func single(_ reference: ObjectReference) -> Object {
        unsaved[reference.key] ?? context.expecting(context.object(for: reference, hint: RowHint()), request)
    }

    func object(at position: Int, in references: [ObjectReference]) -> Object {
        let key = references[position].key
        if let object = current[key] ?? previous[key] { return object }
        context.sweepIfDue()
        let start = position / request.fetchBatchSize * request.fetchBatchSize
        let batch = references[start ..< min(start + request.fetchBatchSize, references.count)]
        let objects = batch.map { $0.key }.contains { unsaved[$0] != nil } ? batch.map { single($0) } : created(batch)
        previous = current
        current = Dictionary(uniqueKeysWithValues: zip(batch.map(\.key), objects))
        return objects[position - start]
    }

    /// The objects of stored rows, located together.
    private func created(_ batch: ArraySlice<ObjectReference>) -> [Object] {
        let objects: [Object] = context.objects(for: batch).map { context.expecting($0, request) }
        if !request.returnsObjectsAsFaults { for object in objects { object.fireIfNeeded() } }
        // An error is ignored here: the first read of an object reports it.
        if !request.relationshipKeyPathsForPrefetching.isEmpty { try? context.prefetch(request, for: objects) }
        return objects
    }
}
