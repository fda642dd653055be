public import HornbeamModel
internal import HornbeamStore

// Identity: there is one instance per ID.

extension ManagedObjectContext {
    /// The object with an ID if this context has it. Never reads from the store (MOC-13).
    public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
        guard let key = registryKey(of: id), let object = registry[key], object.objectID == id else { return nil }
        return object
    }

    /// The object with an ID; a fault if the context does not have it. Never reads from the store (MOC-14).
    ///
    /// Does not check that the object exists. `fire()` and `existingObject(with:)` check it.
    /// An ID of an entity outside the model is a programmer error.
    public func object(with id: ManagedObjectID) -> ManagedObject {
        if let object = registeredObject(for: id) { return object }
        guard let entity = persistentStoreCoordinator.managedObjectModel.entitiesByName[id.entityName] else {
            misuse(
                "The ID \(id) is of the entity \(id.entityName), which this container's model does not have.")
        }
        if id.isTemporaryID, let above = objectInAncestor(id) {
            let scope = scope(at: entity.index, in: above.scope.slot)
            return makeFault(scope, key: id.reference, hint: RowHint(), state: [.fault, .temporary])
        }
        guard !id.isTemporaryID, !entity.isAbstract, let slot = slot(of: id) else {
            return makeDetachedObject(scope(at: entity.index), key: id.reference)
        }
        let scope = scope(at: entity.index, in: slot)
        // All entities of a store take their keys from one sequence, so an ID with a wrong entity can have the key of a registered object.
        return registeredObject(id.reference | scope.keyBits, scope) ?? makeFault(scope, key: id.reference, hint: RowHint())
    }

    /// The object for a row at a key; nil if the caller must make it.
    @inline(__always)
    func registeredObject(_ key: UInt64, _ scope: EntityScope) -> ManagedObject? {
        guard let object = registry[key] else { return nil }
        return object.scope === scope || object.scope.entity === scope.entity ? object : missingObject(key, scope, besides: object)
    }

    /// The object for a key at which the context has an object of another entity, because one of the two was named by a wrong ID or by a damaged row: a
    /// detached object if there is no row. Nil if there is a row, or may be one that is not loaded: its object must replace the other one.
    @inline(never)
    private func missingObject(_ key: UInt64, _ scope: EntityScope, besides other: ManagedObject) -> ManagedObject? {
        let local = StoreSlot.local(key)
        if hasRow(local, scope) || (scope.isIncremental && other.isFault && !hasRow(local, other.scope)) { return nil }
        return makeDetachedObject(scope, key: local)
    }

    /// False also if the row cannot be read.
    private func hasRow(_ key: UInt64, _ scope: EntityScope) -> Bool {
        var hint = RowHint()
        return (try? scope.readingCells().find(key, &hint)) ?? false
    }

    /// The object with an ID, read from the store (MOC-15).
    ///
    /// - Throws: `objectNotFound` (133000) if there is none; the store's error if it cannot be read.
    public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
        if let object = try plainObject(with: id) { return object }
        let isNew = registeredObject(for: id) == nil
        if isNew { try advance() }
        guard persistentStoreCoordinator.managedObjectModel.entitiesByName[id.entityName] != nil else {
            throw HornbeamError(
                .objectNotFound,
                "The ID \(id) is of the entity \(id.entityName), which this container's model does not have.",
                entity: id.entityName, objectIDs: [id])
        }
        let object = object(with: id)
        // The row with this key may be of another entity, whose object a later fetch must find.
        defer { if isNew, object.state.contains(.gone), registry[object.registryKey] === object { registry.remove(object.registryKey) } }
        try object.fire()
        if object.state.contains(.gone) || object.state.contains(.deleted) { throw object.missingRow() }
        return object
    }

    /// Finds an object whose entity and store this context has read before. This is the most common path, and needs no lookup by name. Nil if
    /// more checks are needed.
    private func plainObject(with id: ManagedObjectID) throws -> ManagedObject? {
        guard parent == nil, let scope = unsafe scopes.scope(ofIDsFrom: id.origin) else { return nil }
        return unsafe try scope._withUnsafeGuaranteedRef { try plainObject(with: id, $0) }
    }

    private func plainObject(with id: ManagedObjectID, _ scope: EntityScope) throws -> ManagedObject? {
        if let object = registry[id.reference | scope.keyBits] {
            let isPlain = object.scope === scope && object.state.isDisjoint(with: [.notPlain, .deleted])
            return isPlain ? object : nil
        }
        try advance()
        sweepIfDue()
        var hint = RowHint()
        guard let cells = scope.cells, try cells.find(id.reference, &hint) else { return nil }
        let object = makeFault(scope, key: id.reference, hint: hint)
        recordLookup(of: object)
        object.becomeRealised()
        cells.prefetchTexts(hint)
        return object
    }

    /// The object with an ID, typed as its class. Otherwise like `existingObject(with:)`.
    @inlinable
    public func existingObject<Object: ManagedObject>(
        _ type: Object.Type, with id: ManagedObjectID
    ) throws -> Object {
        let object = try existingObject(with: id)
        if Swift.type(of: object) == type { return unsafe unsafeDowncast(object, to: Object.self) }
        if let typed = object as? Object { return typed }
        throw otherClass(object, than: type, id)
    }

    @usableFromInline
    func otherClass(_ object: ManagedObject, than type: ManagedObject.Type, _ id: ManagedObjectID) -> HornbeamError {
        HornbeamError(
            .objectNotFound, "The ID \(id) leads to an object of class \(Swift.type(of: object)), not \(type).",
            entity: id.entityName, objectIDs: [id])
    }

    /// The objects that this context has now: those in use, and those with changes (MOC-16).
    public var registeredObjects: Set<ManagedObject> {
        processPendingChanges()
        tracker.objects.compact()
        if !retainsRegisteredObjects { sweep() }
        return Set(registry.objects)
    }

    /// The number of registered objects, including unused ones.
    package var registeredCount: Int { registry.count }

    /// The object for a row that is known to exist.
    func object(for reference: ObjectReference, hint: RowHint) -> ManagedObject {
        let scope = scope(at: Int(reference.entityIndex), in: reference.slot)
        if let object = registeredObject(reference.key, scope) { return object }
        return makeFault(scope, key: StoreSlot.local(reference.key), hint: hint)
    }

    /// The objects with several IDs. The rows of faults are located, so that their first access needs no lookup.
    func objects(with ids: some Collection<ManagedObjectID>) -> [ManagedObject] {
        ids.map { id in
            let object = object(with: id)
            if object.isFault, !object.isRowLocated, !object.state.contains(.temporary) { object.hint = place(of: object.key, in: object.scope) }
            return object
        }
    }

    /// The objects of several rows, in their order. The rows of objects that are created here are located. The lookups do not depend on one
    /// another, so their memory accesses overlap.
    func objects(for references: ArraySlice<ObjectReference>) -> [ManagedObject] {
        references.map { reference in
            let scope = scope(at: Int(reference.entityIndex), in: reference.slot)
            if let object = registeredObject(reference.key, scope) { return object }
            let key = StoreSlot.local(reference.key)
            return makeFault(scope, key: key, hint: place(of: key, in: scope))
        }
    }

    /// The objects for the keys of rows of one entity; faults for those that are not registered.
    func objects(for keys: ArraySlice<UInt64>, _ scope: EntityScope) -> [ManagedObject] {
        let hints = try? scope.readingCells().find(keys)
        return unsafe Array(unsafeUninitializedCapacity: keys.count) { objects, count in
            for key in keys {
                let object = registeredObject(key | scope.keyBits, scope) ?? makeFault(scope, key: key, hint: hints?[count] ?? RowHint())
                unsafe (objects.baseAddress! + count).initialize(to: object)
                count += 1
            }
        }
    }

    /// The location of a row; an empty hint for a missing row. Ignores an error, because the first access of the object has the same error.
    private func place(of key: UInt64, in scope: EntityScope) -> RowHint {
        var hint = RowHint()
        _ = try? scope.readingCells().find(key, &hint)
        return hint
    }

    @inline(__always)
    func makeFault(
        _ scope: EntityScope, key: UInt64, hint: RowHint, state: ObjectState = .fault
    ) -> ManagedObject {
        let object = scope.objectClass.init(ObjectBirth(scope: scope, key: key, hint: hint, state: state))
        if !role.isDetachedReader { registry.insert(object, at: key >> 63 == 0 ? key | scope.keyBits : key) }
        return object
    }

    /// A detached object for an ID that this context cannot have: a temporary ID of another context, or an ID that names no object of its stores.
    private func makeDetachedObject(_ scope: EntityScope, key: UInt64) -> ManagedObject {
        scope.objectClass.init(
            ObjectBirth(scope: scope, key: key, hint: RowHint(), state: [.temporary, .gone]))
    }

    /// The ID of a row.
    func objectID(_ reference: ObjectReference) -> ManagedObjectID {
        ManagedObjectID(
            origin: scope(at: Int(reference.entityIndex), in: reference.slot).origin,
            reference: StoreSlot.local(reference.key))
    }

    /// The row of an ID; nil for temporary IDs, and for IDs of a store that is not open.
    func reference(_ id: ManagedObjectID) -> ObjectReference? {
        guard let slot = slot(of: id),
            let entity = persistentStoreCoordinator.managedObjectModel.entitiesByName[id.entityName]
        else { return nil }
        return ObjectReference(entity, id.reference).inSlot(slot)
    }

    /// Assigns permanent IDs to new objects before their first save (MOC-17).
    ///
    /// Permanent IDs do not change, and detached objects are skipped. The IDs change in ancestor and descendant contexts too.
    /// - Throws: The store's error.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
        let temporary = objects.filter { $0.state.contains(.temporary) && !$0.isDetached }
        guard !temporary.isEmpty else { return }
        let stack = persistentStoreCoordinator.stack
        try assignStoresToNewObjects(in: stack)
        var changes: [ManagedObjectID: ManagedObjectID] = [:]
        for (object, reference) in try reserveKeys(for: temporary, in: stack) { changes[object.objectID] = objectID(reference) }
        var outermost = self
        while let parent = outermost.parent { outermost = parent }
        outermost.replaceTemporaryIDs(changes)
    }

    /// Moves an object from its temporary key to a permanent one.
    func rekey(_ object: ManagedObject, to reference: ObjectReference) {
        tracker.objects.views.forget()
        registry.remove(object.registryKey)
        object.key = StoreSlot.local(reference.key)
        object.state.remove(.temporary)
        if object.scope.slot != reference.slot { object.scope = scope(at: object.scope.entity.index, in: reference.slot) }
        registry.insert(object, at: object.registryKey)
    }

    /// Replaces temporary IDs by permanent ones in all pending changes.
    func replaceReferences(_ changes: [ManagedObjectID: ManagedObjectID]) {
        tracker.objects.views.forget()
        for object in tracker.objects.all {
            guard let record = object.record else { continue }
            for property in object.scope.properties where property.isRelationship {
                let index = property.index
                if property.isToMany {
                    guard var change = record.toMany.removeValue(forKey: index) else { continue }
                    for (old, new) in changes { change.replace(old, with: new) }
                    record.toMany[index] = change
                } else if case .objectID(let id) = record.values[index], let new = changes[id] {
                    record.values[index] = .objectID(new)
                }
            }
        }
    }
}
