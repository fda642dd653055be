internal import HornbeamModel

// Caches the rows of a querying store that a batch reads. Without a custom store, all rows are there.

extension Store {
    func load(for update: BatchUpdate) throws {
        guard let backing, isQuerying else { return }
        backing.forgetMembers()
        let fetch = try ValidatedFetch(update.request, in: model)
        try load(fetch)
        // Expressions can read related objects too.
        var request = update.request
        request.propertiesToFetch = update.assignments.map { .expression(name: $0.property.name, $0.expression, type: nil) }
        if request.relatedPaths(in: fetch.entity) != update.request.relatedPaths(in: fetch.entity) {
            _ = try loadRows(readBy: request, of: fetch.entity, from: backing)
        }
        let targets = try update.assignments.flatMap { assignment -> [ObjectReference] in
            guard assignment.property.isToOne, let id = assignment.expression.constantValue else { return [] }
            return try loadTargets([(assignment.property, id)])
        }
        let partners = update.assignments.map(\.property).filter(\.hasToOneInverse)
        if partners.isEmpty && targets.isEmpty { return }
        let found = try snapshot().fetch(fetch.withoutOrder).references
        for property in partners { try forEachEntity(found) { entity, owners in _ = try loadRelated(to: owners, by: entity.properties[property.index]) } }
    }

    /// Caches the objects that a batch deletes, and those that their delete rules concern.
    func load(for delete: BatchDelete) throws {
        guard let backing, isQuerying else { return }
        backing.forgetMembers()
        let fetch = try ValidatedFetch(delete.request, in: model)
        try load(fetch)
        var level = try snapshot().fetch(fetch).references
        var seen = Set(level)
        while !level.isEmpty {
            var next: [ObjectReference] = []
            try forEachEntity(level) { entity, owners in
                for property in entity.properties where property.isRelationship && !property.isTransient && property.deleteRule != .noAction {
                    _ = try loadRelated(to: owners, by: property)
                    if property.deleteRule == .cascade { next += try destinations(of: owners, property, entity).filter { seen.insert($0).inserted } }
                }
            }
            level = next
        }
    }

    /// Caches the objects that the rows of a batch insert refer to.
    func load(for rows: [BufferedBatchInsert.Row], of entity: EntityDescription) throws {
        backing?.forgetMembers()
        var assigned: [(PropertyDescription, PropertyValue)] = []
        var members: [ObjectReference] = []
        for row in rows {
            for property in entity.properties where property.isToOne && !property.isTransient {
                if let value = row.values[property.index], !value.isNull { assigned.append((property, value)) }
            }
            members += row.members.values.joined()
        }
        _ = try loadTargets(assigned)
        try loadMissing(members)
    }

    /// Caches the destinations of new to-one references, the order in which ordered inverses have their members, and former partners in one-to-one
    /// relationships. Returns the destinations.
    private func loadTargets(_ assigned: [(PropertyDescription, PropertyValue)]) throws -> [ObjectReference] {
        var targets: [PropertyDescription: Set<ObjectReference>] = [:]
        for case (let property, .objectID(let id)) in assigned {
            if let target = reference(id) { targets[property, default: []].insert(target) }
        }
        try loadMissing(targets.values.flatMap(\.self))
        for (property, targets) in targets.sorted(by: { $0.key.index < $1.key.index }) {
            guard let inverse = property.inverse, inverse.isToOne || inverse.isOrdered else { continue }
            try forEachEntity(targets.sorted()) { entity, owners in _ = try loadRelated(to: owners, by: entity.properties[inverse.index]) }
        }
        return targets.values.flatMap(\.self)
    }

    private func loadMissing(_ objects: [ObjectReference]) throws {
        let snapshot = try snapshot()
        let missing = try Set(objects).filter { try !snapshot.exists(model.entities[Int($0.entityIndex)], $0.key) }
        if !missing.isEmpty { try reload(missing.sorted()) }
    }

    private func destinations(
        of owners: [ObjectReference], _ property: PropertyDescription, _ entity: EntityDescription
    ) throws -> [ObjectReference] {
        let snapshot = try snapshot()
        return try owners.flatMap { owner -> [ObjectReference] in
            if property.isToMany { return try snapshot.members(of: property, owner: owner.key) }
            var hint = RowHint()
            return try (snapshot.toOne(of: property, entity, owner.key, &hint) ?? nil).map { [$0] } ?? []
        }
    }

    private func forEachEntity(_ objects: [ObjectReference], _ body: (EntityDescription, [ObjectReference]) throws -> Void) throws {
        for (index, objects) in Dictionary(grouping: objects, by: \.entityIndex).sorted(by: { $0.key < $1.key }) {
            try body(model.entities[Int(index)], objects)
        }
    }
}
