internal import HornbeamModel
internal import HornbeamStore

/// A change set under construction: the changes of a context in the form that the store receives.
///
/// It contains permanent IDs. The objects have their temporary IDs until the save has succeeded.
struct ChangeSetBuilder {
    let context: ManagedObjectContext
    let stack: StoreStack
    var changes: StackChanges
    /// The new objects with their permanent references.
    var newKeys: [(ManagedObject, ObjectReference)] = []
    var deleted: [ManagedObject] = []
    /// True if the notification with the IDs of the changed objects is posted after the save.
    let namesChanges = RequestedName.didSaveObjectIDs.isRequested
    private var updatedIDs: Set<ManagedObjectID> = []

    /// - Parameter stack: The current store stack.
    init(_ context: ManagedObjectContext, into stack: StoreStack) {
        self.context = context
        self.stack = stack
        var origin = ChangeSet()
        origin.author = context.transactionAuthor
        origin.contextName = context.name
        origin.originator = context.token
        changes = StackChanges(in: stack, by: origin)
    }

    /// The object with a key, which may be the permanent key of a new object.
    func object(withKey key: UInt64) -> ManagedObject? {
        newKeys.first { $0.1.key == key }?.0 ?? context.registry[key]
    }

    /// The object with an ID, which may be the permanent ID of a new object.
    func object(_ id: ManagedObjectID) -> ManagedObject? {
        context.reference(id).flatMap { object(withKey: $0.key) }
    }

    /// The changes as IDs, for the notification.
    func notificationChanges(in transaction: UInt64) -> ObjectChanges {
        var inserted: Set<ManagedObjectID> = []
        for (index, part) in changes.parts.enumerated() {
            for insert in part.inserts {
                let origin = context.scope(at: insert.entity.index, in: StoreSlot(index)).origin
                inserted.insert(ManagedObjectID(origin: origin, reference: insert.key))
            }
        }
        return ObjectChanges(
            inserted: inserted, updated: updatedIDs, deleted: Set(deleted.map(\.objectID)), transaction: transaction,
            author: context.transactionAuthor, contextName: context.name)
    }

    mutating func build() throws {
        try reserveKeys()
        for object in context.tracker.objects.all {
            if object.state.contains(.deleted) {
                addDelete(object)
            } else if object.isInserted {
                try addInsert(object)
            } else if object.isUpdated || object.isChangedAfterRowDeletion {
                try addUpdate(object)
            } else if object.state.contains(.watched) {
                addCheck(object)
            }
        }
    }

    private mutating func reserveKeys() throws {
        let temporary = context.tracker.objects.filter { $0.isInserted && $0.state.contains(.temporary) }
        guard !temporary.isEmpty else { return }
        newKeys = try context.reserveKeys(for: temporary, in: stack)
        for (object, reference) in newKeys { object.record?.permanentKey = StoreSlot.local(reference.key) }
    }

    private mutating func addInsert(_ object: ManagedObject) throws {
        guard let record = object.record else { return }
        let key = StoreSlot.local(reference(object).key)
        var row = record.values
        for property in object.scope.shape.convertedBySaves { row[property.index] = try storedValue(of: property, object, record) ?? .null }
        changes[object.scope.slot].inserts.append(.init(entity: object.scope.entity, key: key, row: row))
        try addLinks(object, record)
    }

    private mutating func addUpdate(_ object: ManagedObject) throws {
        guard let record = object.record else { return }
        let values: [(PropertyDescription, PropertyValue)] = try record.changed.compactMap { index in
            let property = object.scope.properties[index]
            return try storedValue(of: property, object, record).map { (property, $0) }
        }
        if namesChanges { updatedIDs.insert(object.objectID) }
        if !values.isEmpty {
            changes[object.scope.slot].updates.append(
                .init(
                    // A version of at least 1: an object without a row, or whose row was deleted before the change, is a conflict.
                    entity: object.scope.entity, key: object.key, expectedVersion: max(record.version, 1),
                    values: values))
        } else if object.state.contains(.watched) {
            // A change of members writes no row, so the update would compare no version.
            addCheck(object)
        }
        try addLinks(object, record)
    }

    private mutating func addDelete(_ object: ManagedObject) {
        deleted.append(object)
        guard !object.state.contains(.gone) else { return }
        changes[object.scope.slot].deletes.append(
            .init(
                entity: object.scope.entity, key: object.key,
                expectedVersion: object.record?.version ?? object.storedVersion()))
    }

    private mutating func addCheck(_ object: ManagedObject) {
        let version = object.writableRecord().version
        // A version of at least 1: an object whose row was already missing at the call of `detectConflicts` is a conflict.
        changes[object.scope.slot].checks.append(
            .init(entity: object.scope.entity, key: object.key, expectedVersion: max(version, 1)))
    }

    /// The value to write; nil for a property without a cell, and for a derived one, which the store computes.
    private func storedValue(of property: PropertyDescription, _ object: ManagedObject, _ record: ObjectRecord) throws -> PropertyValue? {
        guard !property.isToMany, !property.isTransient, !property.isDerived else { return nil }
        let value = record.values[property.index]
        switch value {
        // An object that was not validated can contain a composite with invalid elements.
        case .dictionary: return try property.coerced(value)
        case .objectID(let id) where property.isRelationship: return try destination(id, of: property, object)
        default: return value
        }
    }

    /// The permanent ID of a to-one destination; null if this save deletes the destination.
    private func destination(
        _ id: ManagedObjectID, of property: PropertyDescription, _ object: ManagedObject
    ) throws -> PropertyValue {
        if let target = context.registeredObject(for: id), target.state.contains(.deleted),
            property.deleteRule != .noAction || property.inverse != nil
        {
            return .null
        }
        guard id.isTemporaryID else {
            if stack.only == nil, id.storeIdentifier != object.scope.origin.storeIdentifier { throw across(property, object) }
            return .objectID(id)
        }
        guard let reference = reference(id) else {
            throw HornbeamError(
                .objectNotFound,
                "\(object.scope.entity.name).\(property.name) points at an object that will not be saved: it was "
                    + "deleted, or belongs to another context.",
                entity: object.scope.entity.name, key: property.name, objectIDs: [object.objectID])
        }
        guard reference.slot == object.scope.slot else { throw across(property, object) }
        return .objectID(context.objectID(reference))
    }

    /// The error of a relationship between two stores (REL-8).
    private func across(_ property: PropertyDescription, _ object: ManagedObject) -> HornbeamError {
        HornbeamError(
            .relationshipAcrossStores,
            "\(object.scope.entity.name).\(property.name) leads into another store. Put both objects into one store, or keep "
                + "the other's ID in an attribute.",
            entity: object.scope.entity.name, key: property.name, objectIDs: [object.objectID])
    }

    /// Adds the changed members and orders of relationships that cannot be derived from to-one values at the other end.
    private mutating func addLinks(_ object: ManagedObject, _ record: ObjectRecord) throws {
        if record.toMany.isEmpty { return }
        for (index, change) in record.toMany.sorted(by: { $0.key < $1.key }) {
            let property = object.scope.properties[index]
            let followsToOne = property.inverse.map { !$0.isToMany } ?? false
            guard !property.isTransient, !followsToOne || change.order != nil else { continue }
            let member = { (id: ManagedObjectID) in try reference(id, of: property, object) }
            var link = ChangeSet.Link(relationship: property, owner: reference(object).local)
            if !followsToOne {
                link.added = try change.addedInOrder.filter(staysAfterSave).compactMap(member)
                link.removed = try change.removed.sorted { $0.reference < $1.reference }.compactMap(member)
            }
            link.order = try change.order?.filter(staysAfterSave).compactMap(member)
            changes[object.scope.slot].links.append(link)
        }
    }

    /// False for an object that this save deletes. No relationship may refer to it.
    private func staysAfterSave(_ id: ManagedObjectID) -> Bool {
        context.registeredObject(for: id).map { !$0.state.contains(.deleted) } ?? true
    }

    private func reference(_ object: ManagedObject) -> ObjectReference {
        permanentReference(object) ?? object.reference
    }

    private func reference(_ id: ManagedObjectID) -> ObjectReference? {
        guard id.isTemporaryID else { return context.reference(id) }
        return context.registeredObject(for: id).flatMap(permanentReference)
    }

    /// The reference that a new object has after the save; nil for other objects.
    private func permanentReference(_ object: ManagedObject) -> ObjectReference? {
        guard object.state.isSuperset(of: [.inserted, .temporary]), let key = object.record?.permanentKey, key != 0 else { return nil }
        return ObjectReference(object.scope.entity, key | object.scope.keyBits)
    }

    /// The reference of a member, which must be in the owner's store; nil for an object that is not saved.
    private func reference(
        _ id: ManagedObjectID, of property: PropertyDescription, _ owner: ManagedObject
    ) throws -> ObjectReference? {
        guard let reference = reference(id) else { return nil }
        guard reference.slot == owner.scope.slot else { throw across(property, owner) }
        return reference.local
    }
}
