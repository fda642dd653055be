public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// The objects that satisfy a request, in its order. Includes this context's unsaved changes: new, changed and
    /// deleted objects are tested, ordered and counted by their values in memory.
    ///
    /// Switches the context to the newest snapshot of the stores. The objects are faults whose rows are located.
    /// - Throws: `unknownEntity`, `predicateInvalid`, `typeMismatch`; read failures of getters (`readFailures`); the store's error.
    @inlinable
    public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
        guard let found = try directObjects(of: request.untyped) else { return try fetchGenerally(request.untyped) }
        let count = found.count
        // For an empty result, the initialiser below would write into the empty array that all threads share.
        guard count > 0 else { return [] }
        let objects = unsafe try [Object](unsafeUninitializedCapacity: count) { objects, made in
            while made < count {
                let object: Object = try known(self.object(made, of: found), request.untyped)
                unsafe objects.initializeElement(at: made, to: object)
                made += 1
            }
        }
        sweepIfDue()
        return objects
    }

    /// The object as one of its class. Consumes the reference, because a copy and its release would take a tenth of the instructions of a fetched object.
    @inlinable @inline(__always)
    func known<Object: ManagedObject>(_ object: consuming ManagedObject, _ request: FetchDescription) throws -> Object {
        guard type(of: object) == Object.self else { return try typed(object, request) }
        return unsafe unsafeDowncast(object, to: Object.self)
    }

    @usableFromInline
    func fetchGenerally<Object: ManagedObject>(_ request: FetchDescription) throws -> [Object] {
        try requireObjects(request)
        guard !request.relationshipKeyPathsForPrefetching.isEmpty, stack.queryingStore != nil else { return try finish(find(request), request) }
        if saving.doubt != nil {
            processPendingChanges()
            try advance()
        }
        return try readingOneState { try finish(find(request), request) }
    }

    /// Runs reads that return one state, also from a store that answers queries itself. Not while a save is in doubt: finding out its outcome can write, which
    /// the transaction of the reads cannot.
    func readingOneState<Result>(_ reads: () throws -> Result) throws -> Result {
        guard saving.doubt == nil, let store = stack.queryingStore else { return try reads() }
        return try store.readingOneState(reads)
    }

    /// Creates the objects of a result according to the request.
    func finish<Object: ManagedObject>(_ found: FoundObjects, _ request: FetchDescription) throws -> [Object] {
        let objects: [Object] = try objects(found, request)
        if request.shouldRefreshRefetchedObjects {
            for object in objects where !object.hasChanges && !object.state.contains(.watched) { object.turnIntoFault() }
        }
        if !request.returnsObjectsAsFaults { for object in objects { object.fireIfNeeded() } }
        sweepIfDue()
        if !request.relationshipKeyPathsForPrefetching.isEmpty { try prefetch(request, for: objects) }
        return objects
    }

    /// The IDs of the objects that `fetch` returns, in the same order. Creates no objects (FET-6).
    ///
    /// - Throws: The errors of `fetch`.
    public func fetchIDs<Object>(_ request: FetchRequest<Object>) throws -> [ManagedObjectID] {
        var request = request.untyped
        if request.resultType == .objects { request.resultType = .objectIDs }
        return objectIDs(try find(request))
    }

    /// Fetches objects that are created at their first access. For long results of which a program uses few (FET-5).
    ///
    /// - Throws: The errors of `fetch`.
    public func fetchLazily<Object: ManagedObject>(
        _ request: FetchRequest<Object>
    ) throws -> FetchedObjects<Object> {
        try requireObjects(request.untyped)
        let found = try find(request.untyped)
        try requireClass(Object.self, of: found, request.untyped)
        return FetchedObjects(context: self, found: found, request: request.untyped)
    }

    /// Throws the error of `fetch` for a result of another class. Makes no objects.
    func requireClass<Object: ManagedObject>(_ type: Object.Type, of found: FoundObjects, _ request: FetchDescription) throws {
        let (model, binding) = (persistentStoreCoordinator.managedObjectModel, persistentStoreCoordinator.binding)
        let entities = model.entitiesByName[request.entityName]?.concreteDescendants ?? []
        if entities.allSatisfy({ binding.objectClass(of: $0) is Object.Type }) { return }
        for result in found {
            let entity =
                switch result {
                case .stored(let row): model.entities[Int(row.reference.entityIndex)]
                case .object(let object): object.entity
                }
            let objectClass = binding.objectClass(of: entity)
            if !(objectClass is Object.Type) { throw wrongClass(objectClass, of: entity, than: type, request) }
        }
    }

    /// The number of objects that `fetch` returns, with the request's limit and offset (FET-20).
    ///
    /// - Throws: The errors of `fetch`.
    public func count<Object>(_ request: FetchRequest<Object>) throws -> Int {
        if let count = try directCount(of: request.untyped) { return count }
        if request.untyped.resultType == .dictionaries { return try countDictionaries(request.untyped) }
        return try countPrepared(prepared(request.untyped))
    }

    /// Validates a request and switches to the newest snapshot of the stores.
    func prepared(_ request: FetchDescription) throws -> ValidatedFetch {
        processPendingChanges()
        try requireNoReadFailures()
        let fetch = try validated(request)
        let stack = persistentStoreCoordinator.stack
        if stack.isIncremental {
            // A store that answers queries loads the rows of the request's part that it executes.
            if stack.queryingStore != nil { try requireUnpinned() } else if !stack.hasQueryingStoreBesideOthers { try stack.load(fetch) }
        }
        try advance()
        return fetch
    }

    func validated(_ request: FetchDescription) throws -> ValidatedFetch {
        if let recent = recentFetches.find(request) { return ValidatedFetch(request, of: recent.shape) }
        let fetch = try ValidatedFetch(request, in: persistentStoreCoordinator.managedObjectModel, persistentStoreCoordinator.requestShapes)
        if let shape = fetch.shape { recentFetches.add(shape, request) }
        return fetch
    }

    func requireObjects(_ request: FetchDescription) throws {
        guard request.resultType == .dictionaries else { return }
        throw HornbeamError(
            .unsupportedRequest,
            "The request for “\(request.entityName)” has dictionaries as results, not objects. Make it with selecting(_:), or as "
                + "FetchRequest<[String: PropertyValue]>.",
            entity: request.entityName)
    }

    func object(_ found: FoundObject) -> ManagedObject {
        switch found {
        case .stored(let row): object(for: row.reference, hint: row.hint)
        case .object(let object): object
        }
    }

    func objectID(_ found: FoundObject) -> ManagedObjectID {
        switch found {
        case .stored(let row): objectID(row.reference)
        case .object(let object): object.objectID
        }
    }

    func objectIDs(_ found: FoundObjects) -> [ManagedObjectID] {
        found.rows?.map { objectID($0.reference) } ?? found.map(objectID)
    }

    /// Creates the objects of a fetch. Checks the type once for each class instead of once for each object.
    private func objects<Object: ManagedObject>(_ found: FoundObjects, _ request: FetchDescription) throws -> [Object] {
        if let list = found.shortList { return try objects(list, request) }
        guard let rows = found.rows else { return try found.map { try typed(object($0), request) } }
        // For an empty result, the initialiser below would write into the empty array that all threads share.
        guard !rows.isEmpty else { return [] }
        return unsafe try Array(unsafeUninitializedCapacity: rows.count) { objects, count in
            unsafe try withUnsafeTemporaryAllocation(of: ResultRow.self, capacity: ObjectRegistry.prefetchWidth) { some in
                var known: ManagedObject.Type?
                var maker = FaultMaker()
                var cursor = rows.makeIterator()
                while count < rows.count {
                    let next = unsafe UnsafeBufferPointer(rebasing: some[..<cursor.fill(some)])
                    unsafe registry.touch(next)
                    for unsafe row in unsafe next {
                        let object = maker.object(row, self)
                        if type(of: object) != known {
                            _ = try typed(object, request) as Object
                            known = type(of: object)
                        }
                        unsafe objects.initializeElement(at: count, to: unsafeDowncast(object, to: Object.self))
                        count += 1
                    }
                }
            }
        }
    }

    /// Creates the objects of a short list, and locates the rows of new ones.
    private func objects<Object: ManagedObject>(_ list: ResultSet.List, _ request: FetchDescription) throws -> [Object] {
        let scope = scope(at: Int(list.entityIndex), in: list.slot)
        let cells = list.hints == nil && request.includesPropertyValues ? try scope.readingCells() : nil
        return unsafe try Array(unsafeUninitializedCapacity: list.keys.count) { objects, count in
            var known: ManagedObject.Type?
            for position in list.keys.indices {
                let key = list.keys[position]
                let object: ManagedObject
                if let registered = registeredObject(key, scope) {
                    object = registered
                } else {
                    let local = StoreSlot.local(key)
                    var hint = list.hints?[position] ?? RowHint()
                    if let cells { _ = try cells.find(local, &hint) }
                    object = makeFault(scope, key: local, hint: hint)
                }
                if type(of: object) != known {
                    _ = try typed(object, request) as Object
                    known = type(of: object)
                }
                unsafe objects.initializeElement(at: count, to: unsafeDowncast(object, to: Object.self))
                count += 1
            }
        }
    }

    @usableFromInline
    func typed<Object: ManagedObject>(_ object: ManagedObject, _ request: FetchDescription) throws -> Object {
        if let typed = object as? Object { return typed }
        throw wrongClass(type(of: object), of: object.entity, than: Object.self, request)
    }

    private func wrongClass(
        _ objectClass: ManagedObject.Type, of entity: EntityDescription, than wanted: ManagedObject.Type, _ request: FetchDescription
    ) -> HornbeamError {
        HornbeamError(
            .unboundClass,
            "The fetch of \(request.entityName) returned an object of class \(objectClass), not \(wanted). Bind "
                + "\(wanted) to the entity when the container is created, or fetch ManagedObject.",
            entity: entity.name)
    }
}

/// Creates the objects of rows. Consecutive rows of one entity share one lookup of the entity cache.
struct FaultMaker {
    private var scope: EntityScope?
    private var entityIndex: Int32 = -1
    private var slot = StoreSlot.first

    @inline(__always)
    mutating func object(_ row: ResultRow, _ context: ManagedObjectContext) -> ManagedObject {
        let scope = self.scope(row.reference, context)
        if let object = context.registeredObject(row.reference.key, scope) { return object }
        return context.makeFault(scope, key: StoreSlot.local(row.reference.key), hint: row.hint)
    }

    @inline(__always)
    private mutating func scope(_ reference: ObjectReference, _ context: ManagedObjectContext) -> EntityScope {
        if let scope, reference.entityIndex == entityIndex, reference.slot == slot { return scope }
        let found = context.scope(at: Int(reference.entityIndex), in: reference.slot)
        (scope, entityIndex, slot) = (found, reference.entityIndex, reference.slot)
        return found
    }
}

extension FetchRequest where Result: ManagedObject {
    /// A request for the objects of a class. Its entity is the class's `entityName`.
    public init(predicate: FetchPredicate? = nil, sortedBy sorts: [FetchSort] = []) {
        self.init(entityName: Result.entityName, predicate: predicate, sortedBy: sorts)
    }
}
