internal import HornbeamModel
internal import HornbeamStore

/// One attempt to save: the changes of a context as the values that the store takes.
///
/// Temporary IDs are replaced on the way, while the objects keep theirs until the save has succeeded.
struct SaveDraft {
    let context: ManagedObjectContext
    var changes = ChangeSet()
    /// The keys that new objects will have.
    var newKeys: [(ManagedObject, UInt64)] = []
    var deleted: [ManagedObject] = []
    private var updatedIDs: Set<ManagedObjectID> = []

    init(_ context: ManagedObjectContext) {
        self.context = context
        changes.author = context.transactionAuthor
        changes.contextName = context.name
        changes.originator = context.token
    }

    /// The object that has, or will have, a key.
    func object(withKey key: UInt64) -> ManagedObject? {
        newKeys.first { $0.1 == key }?.0 ?? context.registry[key]
    }

    /// The IDs for the notification.
    var announcement: ObjectChanges {
        ObjectChanges(
            inserted: Set(changes.inserts.map { ManagedObjectID(origin: context.scope(at: $0.entity.index).origin, reference: $0.key) }),
            updated: updatedIDs,
            deleted: Set(deleted.map(\.objectID)),
            author: context.transactionAuthor, contextName: context.name)
    }

    mutating func build() throws {
        try reserveKeys()
        for object in context.tracked.all {
            if object.state.contains(.deleted) {
                addDelete(object)
            } else if object.isInserted {
                try addInsert(object)
            } else if object.isUpdated {
                try addUpdate(object)
            } else if object.state.contains(.watched) {
                addCheck(object)
            }
        }
    }

    private mutating func reserveKeys() throws {
        let temporary = context.tracked.all.filter { $0.isInserted && $0.state.contains(.temporary) }
        guard !temporary.isEmpty else { return }
        let first = try context.store().reserveKeys(temporary.count)
        newKeys.reserveCapacity(temporary.count)
        changes.inserts.reserveCapacity(temporary.count)
        for (offset, object) in temporary.enumerated() {
            let key = first + UInt64(offset)
            newKeys.append((object, key))
            object.record?.permanentKey = key
        }
    }

    private mutating func addInsert(_ object: ManagedObject) throws {
        guard let record = object.record else { return }
        let key = reference(object).key
        changes.inserts.append(
            .init(entity: object.scope.entity, key: key, values: try values(of: object, record.held, record)))
        addLinks(object, record)
    }

    private mutating func addUpdate(_ object: ManagedObject) throws {
        guard let record = object.record else { return }
        let values = try values(of: object, record.changed, record)
        updatedIDs.insert(object.objectID)
        if !values.isEmpty {
            changes.updates.append(
                .init(
                    entity: object.scope.entity, key: object.key, expectedVersion: record.version,
                    values: values))
        }
        addLinks(object, record)
    }

    private mutating func addDelete(_ object: ManagedObject) {
        deleted.append(object)
        guard !object.state.contains(.gone) else { return }
        changes.deletes.append(
            .init(
                entity: object.scope.entity, key: object.key,
                expectedVersion: object.record?.version ?? object.storedVersion()))
    }

    private mutating func addCheck(_ object: ManagedObject) {
        changes.checks.append(
            .init(
                entity: object.scope.entity, key: object.key,
                expectedVersion: object.record?.version ?? object.storedVersion()))
    }

    /// The values to be written; derived ones are the store's to compute.
    private func values(
        of object: ManagedObject, _ indexes: PropertySet, _ record: ObjectRecord
    ) throws -> [(PropertyDescription, PropertyValue)] {
        var result: [(PropertyDescription, PropertyValue)] = []
        result.reserveCapacity(indexes.underestimatedCount)
        for index in indexes {
            let property = object.scope.properties[index]
            guard !property.isToMany, !property.isTransient, !property.isDerived else { continue }
            let value = record.values[index]
            if case .objectID(let id) = value, property.isRelationship {
                result.append((property, try destination(id, of: property, object)))
            } else {
                result.append((property, value))
            }
        }
        return result
    }

    /// The permanent ID of a to-one destination; an object that is being deleted is none.
    private func destination(
        _ id: ManagedObjectID, of property: PropertyDescription, _ object: ManagedObject
    ) throws -> PropertyValue {
        if let target = context.registeredObject(for: id), target.state.contains(.deleted),
            property.deleteRule != .noAction || property.inverse != nil
        {
            return .null
        }
        guard id.isTemporaryID else { return .objectID(id) }
        guard let reference = reference(id) else {
            throw HornbeamError(
                .objectNotFound,
                "\(object.scope.entity.name).\(property.name) points at an object that will not be saved: it was "
                    + "deleted, or belongs to another context.",
                entity: object.scope.entity.name, key: property.name, objectIDs: [object.objectID])
        }
        return .objectID(context.objectID(reference))
    }

    /// Changed members of relationships that the to-one values at the other end do not tell.
    private mutating func addLinks(_ object: ManagedObject, _ record: ObjectRecord) {
        for (index, change) in record.toMany.sorted(by: { $0.key < $1.key }) {
            let property = object.scope.properties[index]
            let followsToOne = property.inverse.map { !$0.isToMany } ?? false
            guard !property.isTransient, !followsToOne || change.order != nil else { continue }
            var link = ChangeSet.Link(relationship: property, owner: reference(object))
            if !followsToOne {
                link.added = change.addedInOrder.compactMap(reference)
                link.removed = change.removed.sorted { $0.reference < $1.reference }.compactMap(reference)
            }
            link.order = change.order?.compactMap(reference)
            changes.links.append(link)
        }
    }

    private func reference(_ object: ManagedObject) -> ObjectReference {
        permanentReference(object) ?? ObjectReference(object.scope.entity, object.key)
    }

    private func reference(_ id: ManagedObjectID) -> ObjectReference? {
        guard id.isTemporaryID else { return context.reference(id) }
        return context.registeredObject(for: id).flatMap(permanentReference)
    }

    /// What a new object will be called.
    private func permanentReference(_ object: ManagedObject) -> ObjectReference? {
        guard object.state.isSuperset(of: [.inserted, .temporary]), let key = object.record?.permanentKey, key != 0 else { return nil }
        return ObjectReference(object.scope.entity, key)
    }
}
