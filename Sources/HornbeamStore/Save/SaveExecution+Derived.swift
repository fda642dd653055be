internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

// The store computes derived attributes (ATT-11) inside the transaction that changes their sources. Therefore a stored derived value always
// matches its stored sources, with any number of contexts. A row keeps its version if only derived values change, because that
// overwrites no edit of a user.

extension SaveExecution {
    /// Computes the derived attributes that depend on written data: rows inserted or updated in this transaction, and changed properties.
    ///
    /// - Throws: `typeMismatch`, `numberTooLarge` and others when a value does not fit its attribute; `SaveConflicts` when a derived value
    ///   violates a unique constraint.
    func updateDerivedValues(written: [ObjectReference], inserted: [ObjectReference], changed: [ObjectReference: PropertyMask]) throws {
        guard !schema.derivations.isEmpty else { return }
        for object in written {
            for own in schema.derivations.own[Int(object.entityIndex)] where own.source == nil { stale.add(own.derived, of: object) }
        }
        for object in inserted {
            for own in schema.derivations.own[Int(object.entityIndex)] { stale.add(own.derived, of: object) }
        }
        let changedObjects = changed.keys.sorted()
        for object in changedObjects {
            guard let mask = changed[object] else { continue }
            for own in schema.derivations.own[Int(object.entityIndex)] {
                if let source = own.source, mask.contains(source) { stale.add(own.derived, of: object) }
            }
        }
        try findStale(by: changedObjects) { object, remote in changed[object]?.contains(remote.source) == true }
        let work = stale.objects.map { object in
            Derivations(table: schema.table(at: object.entityIndex), properties: stale.properties(of: object), keys: [object.key])
        }
        var shared = try derive(work, fresh: [])
        for (index, object) in keysToDerive where !shared.contains(where: { $0.index === index && $0.object == object }) {
            guard let holder = try claim(index, object.key, schema.table(at: object.entityIndex)), holder != object else { continue }
            shared.append(SharedKey(index: index, key: key.bytes, object: object, holder: holder))
        }
        guard !shared.isEmpty else { return }
        var claims = UniqueClaims()
        for key in shared { claims.addConflict(key.index, key.key, key.object, with: key.holder) }
        throw try claims.conflicts(of: self, derived: Set(stale.objects + keysToDerive.map(\.object)))
    }

    /// Updates the derived values after a batch, which writes rows itself. Adds the changes to the batch's published change.
    func updateDerivedValues(
        after change: inout StoreChange, written: [ObjectReference], keys: [(index: ValueIndex, object: ObjectReference)] = []
    ) throws {
        guard !schema.derivations.isEmpty else { return }
        keysToDerive = keys
        let masks = Dictionary(change.updated.map { ($0.reference, $0.properties) }) { a, b in
            var both = a
            both.formUnion(b)
            return both
        }
        try updateDerivedValues(written: written, inserted: [], changed: masks)
        finishChange()
        change.merge(self.change)
    }

    /// Finds the derived attributes that depend on objects which are to be deleted. A to-one that keeps naming a deleted object gives no values.
    /// Call it before the rows are deleted, and `updateDerivedValues` afterwards.
    func findStaleValues(afterDeleting objects: some Collection<ObjectReference>) throws(EngineError) {
        guard !schema.derivations.isEmpty, !objects.isEmpty else { return }
        try findStale(by: Array(objects)) { _, remote in remote.path.last?.isToOne == true }
    }

    /// Derived attributes to compute for objects that have no other changes.
    struct Derivations {
        let table: EntityTable
        let properties: [PropertyDescription]
        let keys: [UInt64]

        /// The constraints that contain the attributes.
        var constraints: [ValueIndex] {
            guard table.hasUniqueIndexes else { return [] }
            return table.indexes.filter { index in
                index.isUnique && index.properties.contains { part in part.isDerived && properties.contains { $0.name == part.name } }
            }
        }

        func object(_ key: UInt64) -> ObjectReference { ObjectReference(entityIndex: table.index, key: key) }
    }

    /// A unique value that an object shares with another one.
    struct SharedKey {
        let index: ValueIndex
        let key: [UInt8]
        let object: ObjectReference
        let holder: ObjectReference
    }

    /// Computes derived attributes. Removes all unique keys that contain them first, so that objects can exchange their values.
    ///
    /// Returns the unique values that several objects have; the caller must abort the transaction if there are any.
    /// - Parameter fresh: The numbers of constraints that contain no keys of these objects yet.
    func derive(_ work: [Derivations], fresh: Set<Int>) throws -> [SharedKey] {
        let now = PropertyValue.date(Date())
        for part in work {
            for index in part.constraints where !fresh.contains(index.number) {
                for key in part.keys { try release(index, key, part.table) }
            }
        }
        for part in work {
            for key in part.keys {
                guard let update = try derivedUpdate(part.properties, of: part.object(key), now: now) else { continue }
                try execute(update)
            }
        }
        var shared: [SharedKey] = []
        for part in work {
            for index in part.constraints {
                for key in part.keys {
                    guard let holder = try claim(index, key, part.table), holder != part.object(key) else { continue }
                    shared.append(SharedKey(index: index, key: self.key.bytes, object: part.object(key), holder: holder))
                }
            }
        }
        return shared
    }

    /// Finds the derived attributes that depend on other objects.
    ///
    /// The objects of an entity are followed together, because a one-way to-one is followed by a scan.
    private func findStale(
        by objects: [ObjectReference], where isSource: (ObjectReference, DerivationPlan.Remote) -> Bool
    ) throws(EngineError) {
        for (entity, part) in Dictionary(grouping: objects, by: \.entityIndex).sorted(by: { $0.key < $1.key }) {
            for remote in schema.derivations.remote[Int(entity)] {
                var owners = part.filter { isSource($0, remote) }
                for relationship in remote.path.reversed() where !owners.isEmpty { owners = try self.owners(of: owners, through: relationship) }
                for owner in owners { stale.add(remote.derived, of: owner) }
            }
        }
    }

    private func owners(of objects: [ObjectReference], through relationship: PropertyDescription) throws(EngineError) -> [ObjectReference] {
        if relationship.inverse == nil, relationship.isToOne { return try rows(naming: Set(objects), relationship) }
        var owners: [ObjectReference] = []
        for object in objects { owners += try self.owners(of: object, through: relationship) }
        return owners
    }

    /// The objects that refer to an object through a relationship.
    private func owners(
        of object: ObjectReference, through relationship: PropertyDescription
    ) throws(EngineError) -> [ObjectReference] {
        let table = schema.table(at: object.entityIndex)
        if let inverse = relationship.inverse {
            guard inverse.isToMany else {
                return try transaction.table(table.tree).withRow(object.key) { (row) throws(EngineError) in
                    table.column(inverse).reference(in: row, schema: schema).map { [$0] } ?? []
                } ?? []
            }
            return try members().reader(schema.link(inverse).forward).references(owner: object.key)
        }
        guard relationship.isToMany, let backward = schema.link(relationship).backward else { return [] }
        return try members().reader(backward).references(owner: object.key)
    }

    /// The objects with a one-way to-one that names one of some objects. Scans all rows, because no reverse index exists.
    private func rows(
        naming objects: Set<ObjectReference>, _ relationship: PropertyDescription
    ) throws(EngineError) -> [ObjectReference] {
        var found: [ObjectReference] = []
        for table in schema.tables(of: relationship.entity, includingSubentities: true) {
            let column = table.column(relationship)
            try transaction.table(table.tree).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count {
                    guard let target = column.reference(in: leaf.row(slot), schema: schema), objects.contains(target) else { continue }
                    found.append(ObjectReference(entityIndex: table.index, key: leaf.key(slot)))
                }
                return true
            }
        }
        return found
    }

    // MARK: Values

    /// The changes of derived attributes; nil when there are none.
    private func derivedUpdate(_ properties: [PropertyDescription], of object: ObjectReference, now: PropertyValue) throws -> UpdateValues? {
        let table = schema.table(at: object.entityIndex)
        guard let stored = try stored(object) else { return nil }
        var changes: [(PropertyDescription, PropertyValue)] = []
        for property in properties {
            let value = try property.coerced(derivedValue(of: property, object, stored.values, now: now))
            if value != stored.values[property.index] { changes.append((property, value)) }
        }
        guard !changes.isEmpty else { return nil }
        assert(changes.allSatisfy { $0.0.isDerived }, "Only derived attributes are computed.")
        let update = ChangeSet.Update(
            entity: table.entity, key: object.key, expectedVersion: stored.version, values: changes)
        return try UpdateValues(update, table: table, keepsVersion: true)
    }

    /// The values of a new object, by property index, with those of its derived attributes.
    ///
    /// - Parameter members: The members of its to-many relationships, by property index.
    func addingDerivedValues(
        to values: [PropertyValue], _ table: EntityTable, _ members: [Int: [ObjectReference]]
    ) throws -> [PropertyValue] {
        var values = values
        let now = PropertyValue.date(Date())
        for property in table.entity.properties where property.isDerived {
            let value = try derivedValue(of: property, table, values, now: now) { relationship in
                var seen: Set<ObjectReference> = []
                return try (members[relationship.index] ?? []).filter { try seen.insert($0).inserted && rowExists($0) }
            }
            values[property.index] = try property.coerced(value)
        }
        return values
    }

    private func derivedValue(
        of property: PropertyDescription, _ object: ObjectReference, _ values: [PropertyValue], now: PropertyValue
    ) throws -> PropertyValue {
        if case .count(let name) = property.derivation {
            let relationship = try schema.model.entities[Int(object.entityIndex)].property(named: name)
            return .int(Int64(try members().reader(schema.link(relationship).forward).count(owner: object.key)))
        }
        return try derivedValue(of: property, schema.table(at: object.entityIndex), values, now: now) { relationship in
            try members().reader(schema.link(relationship).forward).references(owner: object.key)
        }
    }

    /// - Parameter members: Returns the members of a to-many relationship.
    private func derivedValue(
        of property: PropertyDescription, _ table: EntityTable, _ values: [PropertyValue], now: PropertyValue,
        members: (PropertyDescription) throws -> [ObjectReference]
    ) throws -> PropertyValue {
        switch property.derivation {
        case nil: return .null
        case .now: return now
        case .value(let path): return try value(along: path, table, values)
        case .text(let function, let path):
            let text = try value(along: path, table, values)
            return try Derivation.text(function, ["text"]).value(of: ["text": text], now: now)
        case .count(let name): return .int(Int64(try members(table.entity.property(named: name)).count))
        case .aggregate(let aggregate, let name, let attribute):
            let elements = try members(table.entity.property(named: name)).map { PropertyValue.dictionary(["value": try cell(attribute, of: $0)]) }
            return try Derivation.aggregate(aggregate, relationship: "members", attribute: "value")
                .value(of: ["members": .array(elements)], now: now)
        }
    }

    /// The value at the end of a path of to-one relationships; null if an object on the path is missing.
    private func value(along path: [String], _ table: EntityTable, _ values: [PropertyValue]) throws -> PropertyValue {
        let first = try table.entity.property(named: path[0])
        guard path.count > 1, !values[first.index].isNull else { return values[first.index] }
        var next: ObjectReference? = try table.column(first).reference(values[first.index], schema: schema, origin: reader.origins)
        for name in path.dropFirst().dropLast() { next = try next.flatMap { try target(of: name, of: $0) } }
        return try next.map { try cell(path[path.count - 1], of: $0) } ?? .null
    }

    private func target(of name: String, of object: ObjectReference) throws -> ObjectReference? {
        let table = schema.table(at: object.entityIndex)
        let column = table.column(try table.entity.property(named: name))
        return try transaction.table(table.tree).withRow(object.key) { (row) throws(EngineError) in
            column.reference(in: row, schema: schema)
        } ?? nil
    }

    private func cell(_ name: String, of object: ObjectReference) throws -> PropertyValue {
        let table = schema.table(at: object.entityIndex)
        let column = table.column(try table.entity.property(named: name))
        return try transaction.table(table.tree).withRow(object.key) { (row) throws(EngineError) in
            try column.value(in: row, schema: schema, origin: reader.origins)
        } ?? .null
    }
}

/// Derived attributes to compute again, in the order in which they were added.
struct StaleValues {
    private(set) var objects: [ObjectReference] = []
    private var byObject: [ObjectReference: [PropertyDescription]] = [:]

    mutating func add(_ property: PropertyDescription, of object: ObjectReference) {
        assert(property.isDerived, "Only derived attributes are computed.")
        if byObject[object] == nil { objects.append(object) }
        if byObject[object]?.contains(property) != true { byObject[object, default: []].append(property) }
    }

    func properties(of object: ObjectReference) -> [PropertyDescription] { byObject[object] ?? [] }
}
