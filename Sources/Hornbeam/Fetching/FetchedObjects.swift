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

// MARK: Values without objects

extension FetchedObjects {
    /// The number of results whose cells are read at once.
    @usableFromInline static var portion: Int { 4096 }

    /// The values of an attribute of the results, in their order, read from the rows: `found.map(Book.title)`.
    ///
    /// Creates no objects. A result that the context has as an object is read through it, so its unsaved changes are included. A child context, and
    /// results of several entities or among which are unsaved ones, are read object by object.
    @inlinable
    public func map<Value: AttributeValue>(_ attribute: Attribute<Value>) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for start in stride(from: 0, to: count, by: Self.portion) {
            let range = start..<Swift.min(start + Self.portion, count)
            if let part: [Value] = cells(range, attribute.nameID, Value.cellForm)?.values() {
                values += part
            } else {
                for object in self[range] { values.append(object[attribute]) }
            }
        }
        return values
    }

    /// The values of an attribute of the results, named by a key path to its token: `found.map(\.title)`.
    ///
    /// Returns the attribute's values, as its generated getter does; a getter that computes another value is not called.
    @inlinable
    public func map<Value: AttributeValue>(_ path: KeyPath<Object.Type, Attribute<Value>>) -> [Value] { map(Object.self[keyPath: path]) }

    /// Nil if the results must be read as objects.
    @usableFromInline
    func cells(_ range: Range<Int>, _ nameID: PropertyNameID, _ form: CellForm) -> MemberCells? {
        guard form != .other, context.parent == nil, context.observers.hub == nil else { return nil }
        var references: [ObjectReference] = []
        references.reserveCapacity(range.count)
        for place in range {
            guard case .stored(let row) = found[place] else { return nil }
            references.append(row.reference)
        }
        return context.cells(of: references, nameID, form)
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
