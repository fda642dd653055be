internal import HornbeamEngine
internal import HornbeamModel

/// Collects the conflicts between the unique keys that a save adds and existing keys.
struct UniqueClaims {
    private struct Claim: Hashable {
        let index: Int
        let key: [UInt8]
    }

    private var order: [Claim] = []
    private var collisions: [Claim: (index: ValueIndex, objects: [ObjectReference], holder: ObjectReference)] = [:]

    mutating func addConflict(
        _ index: ValueIndex, _ key: [UInt8], _ object: ObjectReference, with holder: ObjectReference
    ) {
        let claim = Claim(index: index.number, key: key)
        if collisions[claim] == nil {
            order.append(claim)
            collisions[claim] = (index, [], holder)
        }
        assert(collisions.count == order.count, "Each conflict has a place in the order.")
        collisions[claim]?.objects.append(object)
    }

    /// Sorts the conflicts by the order of the objects; conflicts of objects outside this list come first.
    mutating func restoreOrder(of objects: [ObjectReference]) {
        guard order.count > 1 else { return }
        let positions = Dictionary(objects.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        func position(_ claim: Claim) -> Int { collisions[claim].flatMap { positions[$0.objects[0]] } ?? -1 }
        order = order.enumerated().sorted { a, b in
            let (x, y) = (position(a.element), position(b.element))
            return x == y ? a.offset < b.offset : x < y
        }.map(\.element)
        assert(order.count == collisions.count, "Each conflict is reported once.")
    }

    /// Returns all conflicts, in the order in which they were found. If this save inserts or changes the object that has a key, the conflict
    /// lists it among the objects of the save.
    ///
    /// - Parameter derived: The objects whose derived attributes the save has computed.
    func conflicts(
        of save: SaveExecution, _ updates: [UpdateValues] = [], _ inserts: [InsertValues] = [], derived: Set<ObjectReference> = []
    ) throws -> SaveConflicts {
        var conflicts = SaveConflicts()
        guard !order.isEmpty else { return conflicts }
        let inserted = Set(inserts.map(\.reference))
        for claim in order {
            guard let collision = collisions[claim] else { continue }
            let isOwn = inserted.contains(collision.holder) || derived.contains(collision.holder)
                || updates.contains { $0.reference == collision.holder && $0.changes(collision.index) }
            let objects = (isOwn ? [collision.holder] : []) + collision.objects
            let stored = isOwn ? nil : try save.stored(collision.holder)
            conflicts.uniques.append(
                UniqueConflict(
                    entity: collision.index.entity, properties: collision.index.elements.map(\.property),
                    values: try save.values(collision.objects[0], collision.index), objects: objects,
                    objectIDs: objects.map(save.reader.origins.objectID), existing: isOwn ? nil : collision.holder,
                    existingID: isOwn ? nil : save.reader.origins.objectID(collision.holder),
                    existingVersion: stored?.version ?? 0, existingValues: stored?.values))
        }
        return conflicts
    }
}

extension SaveExecution {
    /// The values that an object of this save would have in an index.
    func values(_ object: ObjectReference, _ index: ValueIndex) throws -> [PropertyValue] {
        let given = changes.inserts.first { $0.key == object.key }?.values
            ?? changes.updates.first { $0.key == object.key }?.values ?? []
        let stored = try stored(object)?.values
        return index.elements.map { element in
            (given.last { $0.0 == element.property }?.1 ?? stored?[element.property.index] ?? .null).part(element.partSteps)
        }
    }
}
