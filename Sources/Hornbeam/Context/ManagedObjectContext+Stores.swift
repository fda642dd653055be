internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

// The assignment of new objects to stores, and the removal of a store with objects in use.

extension ManagedObjectContext {
    /// Assigns a new object to a store (PSC-4).
    ///
    /// An object without an assignment is inserted into the store of the objects that it is related to. If there are none, into the first
    /// writable store whose configuration has the entity.
    ///
    /// - Throws: `closed` if the store was removed; `saveFailed` if it does not accept the entity; `unsupportedRequest` for an
    ///   object that is already in a store, or not in this context.
    public func assign(_ object: ManagedObject, to store: PersistentStore) throws {
        guard object.managedObjectContext === self, object.isInserted, object.state.contains(.temporary) else {
            throw HornbeamError(
                .unsupportedRequest,
                "Only new objects of this context can be assigned to a store; once they have a permanent ID they stay where they "
                    + "are. Make a new object and copy the values.",
                entity: object.scope.entity.name, objectIDs: [object.objectID])
        }
        let stack = persistentStoreCoordinator.stack
        guard let slot = stack.slot(of: store.identifier) else { throw removed(store) }
        guard stack.takes(object.scope.entity, slot) else { throw noStore(for: object, stack) }
        move(object, into: slot)
        object.state.insert(.assigned)
    }

    private func removed(_ store: PersistentStore) -> HornbeamError {
        HornbeamError(
            .closed, "The store \(store.url.lastPathComponent) is not in this context's coordinator. Add it first.")
    }

    private func noStore(for object: ManagedObject, _ stack: StoreStack) -> HornbeamError {
        let name = object.scope.entity.name
        let isHeld = stack.slots.contains { stack[$0]?.holds(object.scope.entity) ?? false }
        return HornbeamError(
            isHeld ? .readOnly : .saveFailed,
            "No store accepts new objects of \(name): "
                + (isHeld ? "the stores with the entity were added for reading only." : "no store's configuration has the entity.")
                + " Add a store for writing whose configuration has \(name).",
            entity: name, objectIDs: [object.objectID])
    }

    // MARK: Placing

    /// Selects a store for each new object without one.
    ///
    /// - Throws: `readOnly` or `saveFailed` if no store accepts an object.
    func assignStoresToNewObjects(in stack: StoreStack) throws {
        if let slot = stack.slotOfAllInserts {
            // A removed store may have been the one of an object.
            if stack.only == nil { for object in tracker.objects.all where needsStore(object) { move(object, into: slot) } }
            return
        }
        var placed: Set<ManagedObject> = []
        for object in tracker.objects.all where needsStore(object) && !placed.contains(object) {
            var group = NewObjectGroup(of: object, in: self)
            group.gather()
            for member in group.members {
                placed.insert(member)
                try place(member, near: group.anchor, stack)
            }
        }
    }

    fileprivate func needsStore(_ object: ManagedObject) -> Bool {
        object.isInserted && object.state.contains(.temporary) && !object.state.contains(.deleted)
    }

    private func place(_ object: ManagedObject, near anchor: StoreSlot?, _ stack: StoreStack) throws {
        if object.state.contains(.assigned), stack.takes(object.scope.entity, object.scope.slot) { return }
        let near = anchor.flatMap { stack.takes(object.scope.entity, $0) ? $0 : nil }
        guard let slot = near ?? stack.writableSlots(for: object.scope.entity).first else { throw noStore(for: object, stack) }
        move(object, into: slot)
    }

    private func move(_ object: ManagedObject, into slot: StoreSlot) {
        guard object.scope.slot != slot else { return }
        object.scope = scope(at: object.scope.entity.index, in: slot)
    }

    /// Reserves keys for objects whose stores are selected. Returns each object with its reference.
    func reserveKeys(for objects: [ManagedObject], in stack: StoreStack) throws -> [(ManagedObject, ObjectReference)] {
        if let only = stack.only {
            if objects.count == 1, let key = try only.newKeyInAdvance(for: objects[0].scope.entity) {
                return [(objects[0], ObjectReference(objects[0].scope.entity, key))]
            }
            let keys = try only.newKeys(for: objects.map(\.scope.entity))
            return zip(objects, keys).map { ($0, ObjectReference($0.scope.entity, $1)) }
        }
        var result = objects.map { ($0, $0.reference) }
        for (slot, places) in Dictionary(grouping: objects.indices, by: { objects[$0].scope.slot }) {
            let keys = try stack.store(in: slot).newKeys(for: places.map { objects[$0].scope.entity })
            for (place, key) in zip(places, keys) {
                result[place].1 = ObjectReference(objects[place].scope.entity, key).inSlot(slot)
            }
        }
        return result
    }

    // MARK: Removed stores

    /// Releases the objects of removed stores. Objects in use keep their last known values (PSC-3).
    ///
    /// - Returns: The IDs of the released objects.
    func detachObjectsOfRemovedStores(_ old: StackSnapshot, _ new: StackSnapshot) -> Set<ManagedObjectID> {
        var invalidated: Set<ManagedObjectID> = []
        for object in registry.objects where new[object.scope.slot] == nil && !object.state.contains(.temporary) {
            invalidated.insert(object.objectID)
            object.freezeRow(from: old)
            if object.record == nil { object.record = ObjectRecord(propertyCount: object.scope.properties.count) }
            object.state.subtract([.inserted, .updated, .deleted, .watched, .changedSinceWillSave, .fault])
            object.state.insert(.detached)
            registry.remove(object.registryKey)
        }
        scopes.removeScopesOfNewObjects()
        if !invalidated.isEmpty { tracker.objects.compact() }
        return invalidated
    }
}

/// New objects that are related to one another directly or indirectly, and the store that one of them requires.
private struct NewObjectGroup {
    private let context: ManagedObjectContext
    private(set) var members: [ManagedObject]
    /// The store of the first object found that is in a store, or assigned to one.
    private(set) var anchor: StoreSlot?
    private var known: Set<ManagedObject>

    init(of object: ManagedObject, in context: ManagedObjectContext) {
        self.context = context
        members = [object]
        known = [object]
    }

    mutating func gather() {
        var next = 0
        while next < members.count {
            visit(members[next])
            next += 1
        }
    }

    private mutating func visit(_ object: ManagedObject) {
        if anchor == nil, object.state.contains(.assigned) { anchor = object.scope.slot }
        for property in object.scope.properties where property.isRelationship && !property.isTransient {
            if property.isToMany {
                for id in object.members(of: property) { addRelated(id) }
            } else if case .objectID(let id) = object.currentValue(of: property) {
                addRelated(id)
            }
        }
    }

    private mutating func addRelated(_ id: ManagedObjectID) {
        guard id.isTemporaryID else {
            if anchor == nil { anchor = context.slot(of: id) }
            return
        }
        guard let object = context.registeredObject(for: id), known.insert(object).inserted, context.needsStore(object)
        else { return }
        members.append(object)
    }
}

extension StoreStack {
    /// True if the store accepts new objects of the entity.
    fileprivate func takes(_ entity: EntityDescription, _ slot: StoreSlot) -> Bool {
        guard let part = self[slot] else { return false }
        return !part.isReadOnly && part.holds(entity)
    }
}
