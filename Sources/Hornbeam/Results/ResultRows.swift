internal import HornbeamModel

/// The rows of a section: objects, or rows whose objects are created as they are accessed.
enum ResultRows<Object: ManagedObject> {
    case objects([Object])
    case batches(BatchedRows<Object>)

    var count: Int {
        switch self {
        case .objects(let objects): objects.count
        case .batches(let rows): rows.references.count
        }
    }

    var objects: [Object] {
        switch self {
        case .objects(let objects): objects
        case .batches(let rows): rows.references.indices.map { rows.single(at: $0) }
        }
    }

    /// The object at a position, created with its batch.
    subscript(position: Int) -> Object {
        switch self {
        case .objects(let objects): objects[position]
        case .batches(let rows): rows.object(at: position)
        }
    }

    /// The object at a position, created without its batch.
    func single(at position: Int) -> Object {
        switch self {
        case .objects(let objects): objects[position]
        case .batches(let rows): rows.single(at: position)
        }
    }

    var objectIDs: [ManagedObjectID] {
        switch self {
        case .objects(let objects): objects.map { $0.objectID }
        case .batches(let rows): rows.objectIDs
        }
    }

    /// The identities of the rows: numbers that differ for different objects. Rows of objects and rows in batches have identities of different kinds.
    var identities: [UInt64] {
        switch self {
        case .objects(let objects): objects.map { $0.identityBits }
        case .batches(let rows): rows.identities
        }
    }

    /// The identity of an object as in `identities`.
    func identity(of object: Object) -> UInt64 {
        switch self {
        case .objects: object.identityBits
        case .batches: object.registryKey
        }
    }

    func position(of object: Object) -> Int? {
        switch self {
        case .objects(let objects): objects.firstIndex { $0 === object }
        case .batches(let rows): rows.position(of: object)
        }
    }

    mutating func remove(at position: Int) {
        switch self {
        case .objects(var objects):
            objects.remove(at: position)
            self = .objects(objects)
        case .batches(var rows):
            rows.references.remove(at: position)
            self = .batches(rows)
        }
    }

    mutating func insert(_ object: Object, at position: Int) {
        switch self {
        case .objects(var objects):
            objects.insert(object, at: position)
            self = .objects(objects)
        case .batches(var rows):
            rows.references.insert(object.reference, at: position)
            self = .batches(rows)
        }
    }
}

extension ManagedObject {
    /// The identity of the object in memory as a number.
    final var identityBits: UInt64 { UInt64(UInt(bitPattern: ObjectIdentifier(self))) }
}
