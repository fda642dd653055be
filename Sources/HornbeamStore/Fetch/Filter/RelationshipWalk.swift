internal import HornbeamEngine
internal import HornbeamModel

/// Follows relationships from many objects of one store at once, and tests the objects that it reaches.
struct RelationshipWalk {
    let context: FilterContext
    /// The condition on reached objects, by entity index; nil to accept all.
    private let filters: [Filter?]?

    /// A walk of at most this many entries for each owner costs less than one search for each owner.
    private static let entriesPerOwner = 24

    init(_ context: FilterContext, _ predicate: FetchPredicate?, on destination: EntityDescription) {
        self.context = context
        guard let predicate else {
            filters = nil
            return
        }
        var filters = [Filter?](repeating: nil, count: context.schema.tables.count)
        let conjuncts = PredicateAnalysis(predicate).conjuncts
        for table in context.schema.tables(of: destination, includingSubentities: true) {
            filters[Int(table.index)] = FilterCompiler(context.snapshot.reader, table).compile(conjuncts)
        }
        self.filters = filters
    }

    /// Calls `body` with the destinations of each owner. A destination of several owners is passed several times.
    ///
    /// - Parameter owners: Ascending. Owners whose entity does not have the relationship have no destinations.
    func forEachDestination(
        of owners: [ObjectReference], over relationship: PropertyDescription, _ body: (ObjectReference) -> Void
    ) throws(EngineError) {
        if relationship.isToMany {
            try forEachMember(of: owners, relationship, body)
        } else {
            try forEachToOne(of: owners, relationship, body)
        }
    }

    private func forEachToOne(
        of owners: [ObjectReference], _ relationship: PropertyDescription, _ body: (ObjectReference) -> Void
    ) throws(EngineError) {
        // Containers that share a store have equal models, but separate instances.
        let declaring = context.schema.model.entities[relationship.entity.index]
        try forEachRow(owners) { (_, row, table) throws(EngineError) in
            // A sibling of the entity can have another property with the same name or index.
            guard table.entity.isKind(of: declaring), let column = table.columns[relationship.index],
                let destination = column.reference(in: row, schema: context.schema)
            else { return }
            body(destination)
        }
    }

    private func forEachMember(
        of owners: [ObjectReference], _ relationship: PropertyDescription, _ body: (ObjectReference) -> Void
    ) throws(EngineError) {
        guard let first = owners.first, let last = owners.last else { return }
        let reader = try context.reader(context.schema.link(relationship))
        let range = KeyRange(from: MemberTrees.range(ofOwner: first.key).lower, to: MemberTrees.range(ofOwner: last.key).upper)
        guard owners.count > 8, try reader.members.count(in: range) <= owners.count * Self.entriesPerOwner else {
            for owner in owners {
                try reader.forEach(owner: owner.key) { member in
                    body(member)
                    return true
                }
            }
            return
        }
        var place = 0
        try reader.forEachEntry(in: range) { owner, member in
            while owners[place].key < owner, place + 1 < owners.count { place += 1 }
            if owners[place].key == owner { body(member) }
        }
    }

    // MARK: Reached objects

    /// The objects that have a row and satisfy the condition.
    ///
    /// - Parameter objects: Ascending.
    func passing(_ objects: [ObjectReference]) throws(EngineError) -> [ObjectReference] {
        var passing: [ObjectReference] = []
        try forEachRow(objects) { (object, row, table) throws(EngineError) in
            if let filters {
                guard let filter = filters[Int(table.index)], try filter.holds(row, object.key, table, context) else { return }
            }
            passing.append(object)
        }
        return ObjectSet.ascending(passing)
    }

    /// True if reached objects must be tested: for a condition, or because the row of a destination can be missing.
    func mustTest(after relationship: PropertyDescription) -> Bool { filters != nil || relationship.inverse == nil }

    private func forEachRow(
        _ objects: [ObjectReference], _ body: (ObjectReference, RowView, EntityTable) throws(EngineError) -> Void
    ) throws(EngineError) {
        var byEntity: [Int32: [UInt64]] = [:]
        for object in objects { byEntity[object.entityIndex, default: []].append(object.key) }
        for (entity, keys) in byEntity {
            let table = context.schema.table(at: entity)
            context.count(rows: keys.count)
            try context.view(entity).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
                try body(ObjectReference(entityIndex: entity, key: keys[position]), row, table)
                return true
            }
        }
    }
}
