public import HornbeamModel
internal import HornbeamStore

/// The results of a fetch. An object is created at its first access, and released when it is no longer in use.
///
/// A collection with random access. `map`, `filter`, slices and `lazy` create only the objects that they
/// access. The list of results does not change after the fetch.
public struct FetchedObjects<Object: ManagedObject> {
    private let context: ManagedObjectContext
    private let found: FoundObjects
    private let request: FetchDescription
    /// Nil if objects are created one at a time.
    private let batch: FetchedBatch?

    init(context: ManagedObjectContext, found: FoundObjects, request: FetchDescription) {
        self.context = context
        self.found = found
        self.request = request
        batch = request.fetchBatchSize > 0 ? FetchedBatch() : nil
    }

    /// The IDs of all results, in order. Creates no objects.
    public var objectIDs: [ManagedObjectID] {
        context.objectIDs(found)
    }
}

extension FetchedObjects: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { found.count }

    public subscript(position: Int) -> Object {
        context.sweepIfDue()
        let object = batch?.object(position, in: found, size: request.fetchBatchSize, context)
            ?? context.object(found[position])
        return context.expecting(object, request)
    }
}

extension ManagedObjectContext {
    /// An object of a result that is accessed after the fetch. Another class is a programmer error.
    func expecting<Object: ManagedObject>(_ object: ManagedObject, _ request: FetchDescription) -> Object {
        if let typed = object as? Object { return typed }
        misuse(
            "The fetch of \(request.entityName) returned an object of class \(type(of: object)), not \(Object.self). "
                + "Bind \(Object.self) to the entity when the container is created.")
    }
}
