internal import HornbeamModel
internal import HornbeamStore
internal import Synchronization

extension ManagedObjectContext {
    /// Inserts a new object of an entity (MOC-9).
    ///
    /// - Throws: `unknownEntity` if the model has no such entity or the entity is abstract (MOD-3); `closed` if no store is open.
    @discardableResult
    public func insert(entityNamed name: String) throws -> ManagedObject {
        let model = persistentStoreCoordinator.managedObjectModel
        guard let entity = model.entitiesByName[name] else {
            throw unknownEntity(name)
        }
        guard !entity.isAbstract else {
            throw HornbeamError(
                .unknownEntity,
                "\(name) is abstract: it has no objects of its own. Insert one of its subentities.", entity: name)
        }
        try requireStore(for: entity)
        let scope = scope(at: entity.index)
        let object = scope.objectClass.init(birth(in: scope))
        finishInsertion(of: object)
        return object
    }

    /// Inserts a new object of a class, like `Object(context:)`; for generic code (MOC-9).
    ///
    /// - Throws: `unboundClass` if the class is not bound to exactly one entity; `unknownEntity` if the entity is abstract; `closed` if no
    ///   store is open. In `Object(context:)` these are programmer errors.
    @discardableResult
    public func insert<Object: ManagedObject>(_ type: Object.Type) throws -> Object {
        let object = Object(try birthOfNewObject(of: type))
        finishInsertion(of: object)
        return object
    }

    /// Undoes an unsaved deletion (DEL-7). Does nothing for other objects of this context and for detached ones.
    public func insert(_ object: ManagedObject) {
        if object.isDetached { return }
        require(
            object.managedObjectContext === self,
            "The \(object.scope.entity.name) belongs to another context, or its context is gone. Make a new object here.")
        guard object.state.contains(.deleted) else { return }
        object.undoStack?.register(.undelete(object))
        recordChange(of: object)
        object.state.remove(.deleted)
        clearUpdatedIfUnchanged(of: object)
    }

    /// The initial state of a new object of a class that is bound to exactly one entity.
    func birthOfNewObject(of type: ManagedObject.Type) throws -> ObjectBirth {
        guard let entity = persistentStoreCoordinator.binding.entity(of: type) else {
            throw HornbeamError(
                .unboundClass,
                "The class \(type) is not bound to exactly one entity of this container's model. Name it in "
                    + "`classes` when the container is made, or insert by entity name.")
        }
        guard !entity.isAbstract else {
            throw HornbeamError(
                .unknownEntity, "\(entity.name) is abstract: it has no objects of its own. Make an object of a subentity.",
                entity: entity.name)
        }
        try requireStore(for: entity)
        return birth(in: scope(at: entity.index))
    }

    /// - Throws: `closed` if no store is open.
    private func requireStore(for entity: EntityDescription) throws {
        if scopes.ofNewObjects(at: entity.index) != nil { return }
        guard stack.isEmpty else { return }
        throw HornbeamError(
            .closed, "No store is open. Call loadPersistentStores() before making objects, and make none after close().",
            entity: entity.name)
    }

    private func birth(in scope: EntityScope) -> ObjectBirth {
        if role.givesPermanentIDs, let key = newPermanentKey(in: scope) {
            return ObjectBirth(scope: scope, key: key, hint: RowHint(), state: [.inserted])
        }
        return ObjectBirth(
            scope: scope, key: TemporaryKeys.next(), hint: RowHint(), state: [.temporary, .inserted])
    }

    /// The permanent key of a new object; nil if its store is known only at the save, or assigns keys at the save.
    private func newPermanentKey(in scope: EntityScope) -> UInt64? {
        let stack = persistentStoreCoordinator.stack
        guard parent == nil, let slot = stack.slotOfAllInserts, scope.slot == slot, let store = stack[slot]?.store else { return nil }
        // If this fails, the object gets a temporary ID, and the save reports the error.
        return try? store.newKeyInAdvance(for: scope.entity)
    }

    /// Sets the defaults of a new object, registers it and calls its hook.
    func finishInsertion(of object: ManagedObject) {
        register(object)
        object.assignInitialValues()
        object.record?.concludeInitialValues()
        object.awakeFromInsert()
    }

    /// Sets the defaults of a new object and registers it.
    func register(_ object: ManagedObject) {
        object.record = ObjectRecord(newValues: object.scope.shape.newValues, held: object.scope.shape.newHeld)
        registry.insert(object, at: object.registryKey)
        recordChange(of: object, isNew: true)
        object.undoStack?.register(.insert(object))
    }

    /// Marks an object as inserted after its row was deleted. The next save inserts it with its ID and its current values.
    func reinsert(_ object: ManagedObject) {
        let record = ObjectRecord(newValues: object.scope.shape.newValues, held: object.scope.shape.newHeld)
        if let old = object.record {
            for index in record.held {
                if old.held.contains(index) {
                    record.hold(old.values[index], at: index)
                } else if let row = old.frozenRow {
                    record.hold(row.values[index], at: index)
                }
            }
            if old.frozenRow == nil { record.toMany = old.toMany }
        }
        object.record = record
        object.state = object.state.subtracting([.gone, .deleted, .detached, .fault, .failed]).union(.inserted)
        registry.insert(object, at: object.registryKey)
        recordChange(of: object, isNew: true)
        object.undoStack?.register(.insert(object))
    }

    func unknownEntity(_ name: String) -> HornbeamError {
        let names = persistentStoreCoordinator.managedObjectModel.entities.map(\.name)
        return HornbeamError(
            .unknownEntity,
            "The model has no entity “\(name)”\(suggestion(for: name, among: names)).", entity: name)
    }
}

/// Numbers of temporary IDs, unique in the process. The top bit distinguishes them from stored keys.
enum TemporaryKeys {
    private static let last = Atomic<UInt64>(1 << 63)
    static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
