internal import Foundation
internal import HornbeamModel

/// The store identities of objects: one shared `StoreIdentity` per entity.
package struct StoreIdentities: Sendable {
    private let identifier: UUID
    private let origins: [ManagedObjectID.StoreIdentity]
    /// Entity numbers → `entity.index`, without abstract entities, which have no objects.
    private let indexes: [Int: Int32]
    /// Current names of entities by the names in older versions.
    private let formerNames: [String: String]

    init(identifier: UUID, model: ManagedObjectModel, catalogue: Catalogue) {
        self.identifier = identifier
        origins = model.entities.map { entity in
            ManagedObjectID.StoreIdentity(
                entityName: entity.name, storeIdentifier: identifier,
                entityNumber: catalogue.entity(named: entity.name)?.number ?? -1)
        }
        formerNames = model.formerEntityNames
        indexes = Dictionary(
            uniqueKeysWithValues: zip(origins, model.entities).filter { !$1.isAbstract }.map { ($0.entityNumber, Int32($1.index)) })
    }

    func origin(_ entity: EntityDescription) -> ManagedObjectID.StoreIdentity { origins[entity.index] }

    @inline(__always)
    func objectID(_ reference: ObjectReference) -> ManagedObjectID {
        ManagedObjectID(origin: origins[Int(reference.entityIndex)], reference: reference.key)
    }

    /// Nil for temporary IDs and for IDs of other stores.
    func reference(_ id: ManagedObjectID) -> ObjectReference? {
        guard let index = entityIndex(id.origin) else { return nil }
        return ObjectReference(entityIndex: index, key: id.reference)
    }

    /// The index of a concrete entity; nil for IDs of other stores.
    func entityIndex(_ origin: ManagedObjectID.StoreIdentity) -> Int32? {
        guard origin.storeIdentifier == identifier else { return nil }
        if origin.entityNumber > 0 { return indexes[origin.entityNumber] }
        // An ID that was read from a URI has the name of its entity only.
        return own(named: origin.entityName).flatMap { indexes[$0.entityNumber] }
    }

    /// The identity of an entity of this store, by its name now or in an older version.
    private func own(named name: String) -> ManagedObjectID.StoreIdentity? {
        let current = formerNames[name] ?? name
        return origins.first { $0.entityName == current }
    }

    /// The ID that a cell of type `objectID` contains as URI, of this store or another.
    func storedID(_ url: URL) -> ManagedObjectID? {
        guard let parts = ManagedObjectID.URIParts(url), !parts.isTemporary else { return nil }
        let origin = (parts.storeIdentifier == identifier ? own(named: parts.entityName) : nil)
            ?? ManagedObjectID.StoreIdentity(
                entityName: parts.entityName, storeIdentifier: parts.storeIdentifier, entityNumber: 0)
        return ManagedObjectID(origin: origin, reference: parts.reference)
    }
}
