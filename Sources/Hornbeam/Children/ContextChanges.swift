internal import HornbeamModel
internal import HornbeamStore

/// The changes of one context as values. A child passes them to its parent.
struct ContextChanges: Sendable {
    enum Kind { case inserted, updated, deleted, watched }

    struct Change: Sendable {
        var id: ManagedObjectID
        var kind: Kind
        /// The store of the object, or the store assigned to a new object.
        var slot: StoreSlot
        /// True if the program assigned a new object to a store.
        var isAssigned: Bool
        /// For an object of an upsert, the properties that it changes in the stored object; nil for other objects.
        var upserted: PropertySet?
        /// True if the save must fail after a change of the object by another save (MOC-26).
        var isWatched: Bool
        /// The attributes and to-one relationships, by property index.
        var values: [(index: Int, value: PropertyValue)] = []
        /// The changed members of to-many relationships by property index, ascending.
        var members: [(index: Int, change: ToManyChange)] = []
    }

    var changes: [Change] = []
    var isEmpty: Bool { changes.isEmpty }

    /// - Parameter upserted: Returns the properties that an object of an upsert changes in the stored one; nil for other objects.
    init(_ objects: [ManagedObject], upserted: (ManagedObject) -> PropertySet?) {
        for object in objects {
            guard let kind = Kind(object) else { continue }
            var change = Change(
                id: object.objectID, kind: kind, slot: object.scope.slot, isAssigned: object.state.contains(.assigned),
                upserted: kind == .inserted ? upserted(object) : nil, isWatched: object.state.contains(.watched))
            if kind == .inserted || kind == .updated, let record = object.record {
                let indexes = kind == .inserted ? record.held : record.changed
                change.values = indexes.compactMap { index in
                    object.scope.properties[index].isToMany ? nil : (index, record.values[index])
                }
                change.members = record.toMany.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            }
            changes.append(change)
        }
    }
}

extension ContextChanges.Kind {
    /// Nil for an object that the save need not write or check.
    fileprivate init?(_ object: ManagedObject) {
        if object.state.contains(.deleted) {
            self = .deleted
        } else if object.isInserted {
            self = .inserted
        } else if object.isUpdated {
            self = .updated
        } else if object.state.contains(.watched) {
            self = .watched
        } else {
            return nil
        }
    }
}

extension ManagedObjectContext {
    /// Applies another context's changes to this one.
    ///
    /// The order of the steps is: new objects, values, relationships with both ends, orders of members, deletions with their
    /// delete rules. The delete rules thus include members that exist only in this context.
    func apply(_ changes: ContextChanges) {
        let pairs = changes.changes.map { (receiver(of: $0), $0) }
        for (object, change) in pairs {
            for (index, value) in change.values where object.scope.properties[index].isAttribute {
                object.assign(value, to: object.scope.properties[index])
            }
        }
        for (object, change) in pairs { applyDestinations(of: change, into: object) }
        for (object, change) in pairs { applyMembers(of: change, into: object) }
        for (object, change) in pairs { applyOrders(of: change, into: object) }
        for (object, change) in pairs {
            guard let brought = change.upserted else { continue }
            tracker.upserted.insert(ObjectIdentifier(object))
            object.record?.limitAssignments(to: brought)
        }
        for (object, change) in pairs {
            if change.kind == .deleted, !object.isDeleted { delete(object) }
            if change.isWatched, change.kind != .deleted { detectConflicts(for: object) }
        }
    }

    private func receiver(of change: ContextChanges.Change) -> ManagedObject {
        guard change.kind == .inserted else { return object(with: change.id) }
        if let object = registeredObject(for: change.id) {
            if object.state.contains(.deleted) {
                insert(object)
            } else if object.state.contains(.gone) {
                reinsert(object)
            }
            return object
        }
        let scope = scope(at: change.id.entityIndex(in: persistentStoreCoordinator.managedObjectModel), in: change.slot)
        var state: ObjectState = change.id.isTemporaryID ? [.temporary, .inserted] : .inserted
        if change.isAssigned { state.insert(.assigned) }
        let object = scope.objectClass.init(
            ObjectBirth(scope: scope, key: change.id.reference, hint: RowHint(), state: state))
        register(object)
        return object
    }

    private func applyDestinations(of change: ContextChanges.Change, into object: ManagedObject) {
        for (index, value) in change.values where object.scope.properties[index].isToOne {
            let property = object.scope.properties[index]
            if case .objectID(let id) = value {
                object.setDestination(self.object(with: id), of: property)
            } else {
                object.setDestination(nil, of: property)
            }
        }
    }

    private func applyMembers(of change: ContextChanges.Change, into object: ManagedObject) {
        for (index, members) in change.members {
            let property = object.scope.properties[index]
            if let inverse = property.inverse, !inverse.isToMany { continue }
            for id in members.removed.sorted(by: { $0.order(to: $1) == .less }) {
                object.remove(self.object(with: id), from: property)
            }
            for id in members.addedInOrder { object.add(self.object(with: id), to: property) }
        }
    }

    private func applyOrders(of change: ContextChanges.Change, into object: ManagedObject) {
        for (index, members) in change.members {
            guard let order = members.order else { continue }
            let property = object.scope.properties[index]
            let present = object.members(of: property)
            let here = Set(present)
            let named = Set(order)
            object.reorder(order.filter(here.contains) + present.filter { !named.contains($0) }, in: property)
        }
    }
}

extension ManagedObjectID {
    fileprivate func entityIndex(in model: ManagedObjectModel) -> Int {
        guard let entity = model.entitiesByName[entityName] else {
            misuse("The ID \(self) is of an entity that the parent's model does not have.")
        }
        return entity.index
    }
}
