internal import Foundation
internal import HornbeamModel

/// The prepared part of a participant, stored in it as JSON until it is applied.
struct PreparedChanges: Codable, Sendable {
    /// The identifier of the two-phase commit.
    var decision: UUID
    /// The identifier of the coordinating store.
    var decider: UUID
    var deciderLocation: String
    var author: String?
    var contextName: String?
    private var inserts: [Row]
    private var updates: [Row]
    private var deletes: [Row]
    private var links: [Link]

    private struct Row: Codable, Sendable {
        var entity: String
        var key: UInt64
        var version: UInt32
        var values: [String: Value]
    }

    private struct Link: Codable, Sendable {
        var entity: String
        var relationship: String
        var owner: Reference
        var added: [Reference]
        var removed: [Reference]
        var order: [Reference]?
    }

    private struct Reference: Codable, Sendable {
        var entity: String
        var key: UInt64
    }

    /// An exact encoding of values. The JSON of `PropertyValue` has dates of another epoch, which are rounded, and IDs without an entity.
    private enum Value: Codable, Sendable {
        case plain(PropertyValue)
        case date(UInt64)
        case object(Reference)
        case array([Value])
        case record([String: Value])
    }

    init(_ changes: ChangeSet, decision: UUID, decider: Store, model: ManagedObjectModel) {
        self.decision = decision
        self.decider = decider.identifier
        deciderLocation = decider.location.description
        author = changes.author
        contextName = changes.contextName
        func reference(_ object: ObjectReference) -> Reference {
            Reference(entity: model.entities[Int(object.entityIndex)].name, key: object.key)
        }
        func kept(_ value: PropertyValue, isToOne: Bool) -> Value {
            switch value {
            case .date(let date): .date(date.timeIntervalSinceReferenceDate.bitPattern)
            case .objectID(let id) where isToOne: .object(Reference(entity: id.entityName, key: id.reference))
            case .array(let values): .array(values.map { kept($0, isToOne: false) })
            case .dictionary(let values): .record(values.mapValues { kept($0, isToOne: false) })
            default: .plain(value)
            }
        }
        func named(_ values: [(PropertyDescription, PropertyValue)]) -> [String: Value] {
            Dictionary(
                values.map { ($0.0.name, kept($0.1, isToOne: $0.0.isRelationship)) }, uniquingKeysWith: { $1 })
        }
        inserts = changes.inserts.map { Row(entity: $0.entity.name, key: $0.key, version: 0, values: named($0.values)) }
        updates = changes.updates.map {
            Row(entity: $0.entity.name, key: $0.key, version: $0.expectedVersion, values: named($0.values))
        }
        deletes = changes.deletes.map { Row(entity: $0.entity.name, key: $0.key, version: $0.expectedVersion, values: [:]) }
        links = changes.links.map {
            Link(
                entity: $0.relationship.entity.name, relationship: $0.relationship.name, owner: reference($0.owner),
                added: $0.added.map(reference), removed: $0.removed.map(reference), order: $0.order?.map(reference))
        }
    }

    /// The changes for the store that prepared them. Values without a column are left out.
    ///
    /// - Throws: `damaged` for objects of abstract entities, and for members of something other than a to-many relationship.
    func changeSet(for store: Store) throws -> ChangeSet {
        var changes = ChangeSet()
        changes.author = author
        changes.contextName = contextName
        for row in inserts {
            let entity = try entity(named: row.entity, store)
            changes.inserts.append(.init(entity: entity, key: row.key, values: try values(row, entity, store)))
        }
        for row in updates {
            let entity = try entity(named: row.entity, store)
            changes.updates.append(
                .init(entity: entity, key: row.key, expectedVersion: row.version, values: try values(row, entity, store)))
        }
        for row in deletes {
            changes.deletes.append(
                .init(entity: try entity(named: row.entity, store), key: row.key, expectedVersion: row.version))
        }
        func reference(_ object: Reference) throws -> ObjectReference {
            ObjectReference(try entity(named: object.entity, store), object.key)
        }
        for link in links {
            let relationship = try store.model.entity(named: link.entity).property(named: link.relationship)
            guard relationship.isStoredToMany else { throw Self.damaged(store) }
            changes.links.append(
                .init(
                    relationship: relationship, owner: try reference(link.owner), added: try link.added.map(reference),
                    removed: try link.removed.map(reference), order: try link.order?.map(reference)))
        }
        return changes
    }

    private func values(
        _ row: Row, _ entity: EntityDescription, _ store: Store
    ) throws -> [(PropertyDescription, PropertyValue)] {
        try row.values.sorted { $0.key < $1.key }.compactMap { name, value in
            let property = try entity.property(named: name)
            return property.cellType == nil ? nil : (property, try given(value, store))
        }
    }

    /// An entity with rows.
    private func entity(named name: String, _ store: Store) throws -> EntityDescription {
        let entity = try store.model.entity(named: name)
        guard !entity.isAbstract else { throw Self.damaged(store) }
        return entity
    }

    private static func damaged(_ store: Store) -> HornbeamError {
        HornbeamError(
            .damaged, "“\(store.location)” has a part of an interrupted save that does not fit its model. Restore the store from a backup.")
    }

    private func given(_ value: Value, _ store: Store) throws -> PropertyValue {
        switch value {
        case .plain(let value): value
        case .date(let bits): .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
        case .object(let object):
            .objectID(store.objectID(ObjectReference(try entity(named: object.entity, store), object.key)))
        case .array(let values): .array(try values.map { try given($0, store) })
        case .record(let values): .dictionary(try values.mapValues { try given($0, store) })
        }
    }

    /// The error with which a store refuses writes until the outcome is known.
    func doubt(_ location: Store.Location) -> HornbeamError {
        HornbeamError(
            .incompleteSave,
            "“\(location)” has a part of an interrupted save over several stores. Only the store “\(deciderLocation)” "
                + "contains its outcome. Add both stores to one coordinator; until then this one can be read but not written.")
    }
}
