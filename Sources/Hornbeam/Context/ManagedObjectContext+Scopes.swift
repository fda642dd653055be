internal import HornbeamModel
internal import HornbeamStore

// The entity caches of a context, and their stores.

extension ManagedObjectContext {
    /// The entity cache for new objects of an entity, by its index in the model.
    func scope(at index: Int) -> EntityScope {
        if let scope = scopes.ofNewObjects(at: index) { return scope }
        let stack = stack
        let entity = persistentStoreCoordinator.managedObjectModel.entities[index]
        let scope = scope(at: index, in: stack.slotForNewObjects(of: entity), of: stack)
        if role.isDetachedReader || stack.isEmpty { return scope }
        scopes.addScopeForNewObjects(scope, at: index)
        return scope
    }

    /// The entity cache of an entity in a store, by the entity's index in the model.
    ///
    /// - Parameter stack: The store stack of this context, if the caller has it already.
    func scope(at index: Int, in slot: StoreSlot, of stack: StoreStack? = nil) -> EntityScope {
        let place = slot.index * persistentStoreCoordinator.managedObjectModel.entities.count + index
        if let scope = scopes[place] { return scope }
        return makeScope(at: index, in: slot, of: stack ?? self.stack, place)
    }

    private func makeScope(at index: Int, in slot: StoreSlot, of stack: StoreStack, _ place: Int) -> EntityScope {
        let entity = persistentStoreCoordinator.managedObjectModel.entities[index]
        let own = slot.index == 0 ? stack.only ?? stack[slot]?.store : stack[slot]?.store
        guard let store = own ?? persistentStoreCoordinator.stack[slot]?.store else {
            return storelessScope(of: entity, slot, place)
        }
        let scope = EntityScope(
            entity: entity, slot: slot, objectClass: persistentStoreCoordinator.binding.objectClass(of: entity),
            origin: store.origin(of: entity), isIncremental: own?.isIncremental ?? false, context: self)
        if role.isDetachedReader { return scope }
        scopes.addScope(scope, at: place)
        return scope
    }

    /// An entity cache for objects that are created while no store is open. A read of such an object finds no row.
    private func storelessScope(of entity: EntityDescription, _ slot: StoreSlot, _ place: Int) -> EntityScope {
        if let scope = scopes.withoutStore(at: place) { return scope }
        let scope = EntityScope(
            entity: entity, slot: slot, objectClass: persistentStoreCoordinator.binding.objectClass(of: entity),
            origin: persistentStoreCoordinator.shapes[entity].temporaryOrigin, context: self)
        if !role.isDetachedReader { scopes.addScopeWithoutStore(scope, at: place) }
        return scope
    }

    // MARK: The store of an ID

    /// The slot of an ID's store; nil for temporary IDs, for IDs whose number no store assigns, and if the store is not open.
    func slot(of id: ManagedObjectID) -> StoreSlot? {
        guard let identifier = id.storeIdentifier, StoreSlot.isLocal(id.reference) else { return nil }
        if let slot = stack.slot(of: identifier) { return slot }
        guard let snapshot, parent == nil, snapshot.stack !== persistentStoreCoordinator.stack else { return nil }
        // The store may have been added after this context switched to its snapshot.
        self.snapshot = try? snapshot.follow(persistentStoreCoordinator.stack)
        return stack.slot(of: identifier)
    }

    // MARK: Rows of custom stores

    /// Loads the row of an object from a custom store. Returns false if there is none.
    func loadRow(of object: ManagedObject) throws -> Bool {
        let store = try stack.store(in: object.scope.slot)
        guard try store.load(ObjectReference(object.scope.entity, object.key)) else { return false }
        try switchToNewest(object.scope.slot)
        object.scope.followDetachedReader(snapshot)
        return true
    }

    /// Loads the members of a relationship from a custom store when they are first read.
    func loadMembers(of property: PropertyDescription, owner: ManagedObject) throws {
        let store = try stack.store(in: owner.scope.slot)
        let reference = ObjectReference(owner.scope.entity, owner.key)
        let transaction = try readingSnapshot()[owner.scope.slot]?.transaction ?? .max
        guard try store.loadMembers(of: property, owner: reference, in: transaction) else { return }
        try switchToNewest(owner.scope.slot)
        owner.scope.followDetachedReader(snapshot)
    }

    /// Loads the objects at the other end of a relationship of several objects together, if their store answers queries itself.
    func loadRelated(to objects: [ManagedObject], along name: String) throws {
        guard let store = stack.queryingStore, let slot = stack.slotOfLoneStore else { return }
        for (scope, objects) in Dictionary(grouping: objects.lazy.filter { !$0.objectID.isTemporaryID }, by: \.scope) where scope.slot == slot {
            guard let property = scope.entity.relationshipsByName[name] else { continue }
            let owners = objects.map { ObjectReference(scope.entity, $0.key) }
            let transaction = try readingSnapshot()[slot]?.transaction ?? .max
            if try store.loadRelated(to: owners, by: property, in: transaction) { try switchToNewest(slot) }
        }
    }

    /// Switches one store to its newest snapshot, here and in ancestor contexts.
    private func switchToNewest(_ slot: StoreSlot) throws {
        try parent?.switchToNewest(slot)
        snapshot = try parent?.readingSnapshot() ?? readingSnapshot().refreshing(slot)
    }

    /// The registry key of an ID in this context.
    func registryKey(of id: ManagedObjectID) -> UInt64? {
        if id.isTemporaryID || snapshot?.isSingle ?? false { return id.reference }
        guard let slot = slot(of: id) else { return nil }
        return id.reference | slot.bits
    }
}

extension StoreStack {
    /// The store for new objects of an entity that are not assigned to one: the first store that accepts them. If there is none, a store for
    /// which the save reports an error.
    func slotForNewObjects(of entity: EntityDescription) -> StoreSlot {
        if only != nil { return .first }
        return writableSlots(for: entity).first ?? slots.first { self[$0]?.holds(entity) ?? false } ?? slots.first ?? .first
    }
}

extension EntityScope: Hashable {
    public static func == (a: EntityScope, b: EntityScope) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
