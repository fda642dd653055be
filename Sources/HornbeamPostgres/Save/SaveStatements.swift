#if Postgres
internal import Foundation
internal import HornbeamModel

/// The statements of a save. Their number depends on the tables and on the combinations of changed columns, not on the number of objects.
struct SaveStatements {
    /// A statement that locks rows and returns their keys and versions.
    struct Lock {
        let statement: Statement
        let keys: [CustomStoreKey]
    }

    private let changes: CustomStoreChanges
    private let layout: StoreLayout
    private(set) var locks: [Lock] = []
    /// Lock the objects to which the save refers, and fail with a division by zero if one of them does not exist.
    private(set) var references: [Statement] = []
    private(set) var writes: [Statement] = []
    private let referenced: SaveReferences

    init(_ changes: CustomStoreChanges, _ layout: StoreLayout) throws {
        self.changes = changes
        self.layout = layout
        referenced = try SaveReferences(changes, layout)
        references = try byTable(referenced.destinations).map { table, keys in
            // The rows are locked until the end of the transaction, so that no other process deletes them meanwhile. Changes of them do not wait.
            Statement(
                """
                SELECT 1 / (count(*) = $2::bigint)::int FROM \
                (SELECT FROM \(table.name) WHERE _id = ANY($1::bigint[]) ORDER BY _id FOR KEY SHARE) AS r
                """, [SQLText.array(keys: keys.map(\.key)), String(keys.count)])
        }
        try addLocks()
        try addDeletes()
        try addUpdates()
        try addInserts()
        try addMembers()
    }

    /// The statement that records the save for other processes.
    func record(_ token: UUID, source: UUID) -> Statement {
        let members = changes.members.flatMap { [$0.owner] + $0.added + $0.removed }
        let changed = Set(changes.inserted.map(\.object) + changes.updated.map(\.object) + members).subtracting(changes.deleted)
        return Statement(
            "INSERT INTO \(layout.saves) (token, source, author, context, changed, deleted) VALUES ($1, $2, $3, $4, $5, $6)",
            [
                token.uuidString, source.uuidString, changes.author.map(ColumnValue.escaped), changes.contextName.map(ColumnValue.escaped),
                KeyList.text(changed), KeyList.text(changes.deleted),
            ])
    }

    // MARK: Versions

    /// Locks rows in the order of their keys, so that two saves wait for each other in one direction. Only a lock of deleted rows makes saves wait that refer
    /// to them.
    private mutating func addLocks() throws {
        let deleted = Set(changes.deleted)
        for (table, keys) in try byTable(Array(changes.versions.keys)) {
            for (keys, mode) in [(keys.filter(deleted.contains), "UPDATE"), (keys.filter { !deleted.contains($0) }, "NO KEY UPDATE")] where !keys.isEmpty {
                let sql = "SELECT _id, _version FROM \(table.name) WHERE _id = ANY($1::bigint[]) ORDER BY _id FOR \(mode)"
                locks.append(Lock(statement: Statement(sql, [SQLText.array(keys: keys.map(\.key))]), keys: keys))
            }
        }
        locks += referenced.referring(toDeleted: changes).map { Lock(statement: $0, keys: []) }
    }

    /// The conflict of a save that refers to objects which no longer exist; nil if they all exist.
    func missingReferences(reading read: ([CustomStoreKey]) throws -> [CustomStoreRow]) throws -> CustomStoreConflict? {
        if referenced.destinations.isEmpty { return nil }
        let present = Set(try read(referenced.destinations).map(\.object.key))
        let missing = referenced.destinations.filter { !present.contains($0.key) }
        return missing.isEmpty ? nil : CustomStoreConflict(deleted: missing)
    }

    /// The conflict of rows with other versions than those on which the save is based; nil if there are none.
    func conflict(_ results: [QueryResult], _ read: ([CustomStoreKey]) throws -> [CustomStoreRow]) throws -> CustomStoreConflict? {
        var changed: [CustomStoreKey] = []
        var deleted: [CustomStoreKey] = []
        var referring: [CustomStoreKey] = []
        for (lock, result) in zip(locks, results) {
            if lock.keys.isEmpty {
                referring += (0 ..< result.rowCount).compactMap { row in
                    result[row, 0].flatMap(UInt64.init).map { CustomStoreKey(result[row, 1] ?? "", $0) }
                }
                continue
            }
            var versions: [UInt64: UInt64] = [:]
            for row in 0 ..< result.rowCount {
                if let key = result[row, 0].flatMap(UInt64.init) { versions[key] = result[row, 1].flatMap(UInt64.init) }
            }
            for key in lock.keys where versions[key.key] != changes.versions[key] {
                if versions[key.key] == nil { deleted.append(key) } else { changed.append(key) }
            }
        }
        if changed.isEmpty && deleted.isEmpty && referring.isEmpty { return nil }
        let rows = changed.isEmpty && referring.isEmpty ? [] : try read(Array(Set(changed + referring)))
        return CustomStoreConflict(rows: rows, deleted: deleted, referring: referring)
    }

    private func byTable(_ objects: [CustomStoreKey]) throws -> [(TableLayout, [CustomStoreKey])] {
        var groups: [String: (TableLayout, [CustomStoreKey])] = [:]
        for object in objects {
            let table = try layout.table(of: object.entityName)
            groups[table.name, default: (table, [])].1.append(object)
        }
        return groups.sorted { $0.key < $1.key }.map { ($0.value.0, $0.value.1.sorted { $0.key < $1.key }) }
    }

    // MARK: Rows

    private mutating func addDeletes() throws {
        if changes.deleted.isEmpty { return }
        for (table, keys) in try byTable(changes.deleted) {
            writes.append(Statement("DELETE FROM \(table.name) WHERE _id = ANY($1::bigint[])", [SQLText.array(keys: keys.map(\.key))]))
        }
        let keys = SQLText.array(keys: changes.deleted.map(\.key))
        for join in layout.joins {
            writes.append(Statement("DELETE FROM \(join.name) WHERE source = ANY($1::bigint[]) OR target = ANY($1::bigint[])", [keys]))
        }
    }

    private mutating func addInserts() throws {
        var groups: [String: (table: TableLayout, rows: [CustomStoreRow])] = [:]
        for row in changes.inserted {
            let table = try layout.table(of: row.object.entityName)
            groups[table.name, default: (table, [])].rows.append(row)
        }
        for (_, group) in groups.sorted(by: { $0.key < $1.key }) {
            let table = group.table
            let inserted = group.rows.sorted { $0.object.key < $1.object.key }
            var cells = RowCells(table)
            for row in inserted { try cells.add(row, cleared: []) }
            var parameters = ParameterList()
            let arrays = [
                parameters.add(SQLText.array(keys: inserted.map(\.object.key)), as: "bigint[]"),
                parameters.add(SQLText.array(inserted.map { $0.object.entityName as String? }), as: "text[]"),
            ] + cells.arrays(&parameters)
            let names = ["_id", "_entity"] + cells.names
            let aliases = names.indices.map { "c\($0)" }.joined(separator: ", ")
            writes.append(
                Statement(
                    """
                    INSERT INTO \(table.name) (\(names.joined(separator: ", ")), _version) \
                    SELECT u.*, 1 FROM unnest(\(arrays.joined(separator: ", "))) AS u(\(aliases))
                    """, parameters.values))
        }
    }

    /// One statement for each combination of changed columns.
    private mutating func addUpdates() throws {
        let rows = Dictionary(changes.updated.map { ($0.object, $0) }) { first, _ in first }
        for (table, keys) in try byTable(changes.updated.map(\.object)) {
            var groups: [[String]: [CustomStoreRow]] = [:]
            for row in keys.compactMap({ rows[$0] }) {
                var cells = RowCells(table)
                try cells.add(row, cleared: changes.cleared[row.object] ?? [])
                groups[cells.names, default: []].append(row)
            }
            for (names, rows) in groups.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                var cells = RowCells(table)
                for row in rows { try cells.add(row, cleared: changes.cleared[row.object] ?? []) }
                var parameters = ParameterList()
                let arrays = [parameters.add(SQLText.array(keys: rows.map(\.object.key)), as: "bigint[]")] + cells.arrays(&parameters)
                let aliases = (0 ... names.count).map { "c\($0)" }.joined(separator: ", ")
                let sets = names.enumerated().map { "\($1) = u.c\($0 + 1)" } + ["_version = t._version + 1"]
                writes.append(
                    Statement(
                        """
                        UPDATE \(table.name) AS t SET \(sets.joined(separator: ", ")) \
                        FROM unnest(\(arrays.joined(separator: ", "))) AS u(\(aliases)) WHERE t._id = u.c0
                        """, parameters.values))
            }
        }
    }

    // MARK: Members

    private mutating func addMembers() throws {
        var removed: [String: Pairs] = [:]
        var added: [String: Pairs] = [:]
        for change in changes.members {
            let relationship = try layout.model.entity(named: change.owner.entityName).property(named: change.relationship)
            guard let join = layout.join(of: relationship) else {
                try setOrder(change, relationship)
                continue
            }
            let ends = JoinEnds(relationship)
            for member in change.removed { removed[join.name, default: Pairs()].add(ends.pair(change.owner.key, member.key)) }
            for member in change.added { added[join.name, default: Pairs()].add(ends.pair(change.owner.key, member.key)) }
        }
        for (name, pairs) in removed.sorted(by: { $0.key < $1.key }) {
            writes.append(
                Statement(
                    """
                    DELETE FROM \(name) j USING unnest($1::bigint[], $2::bigint[]) AS u(source, target) \
                    WHERE j.source = u.source AND j.target = u.target
                    """, pairs.parameters))
        }
        for join in layout.joins {
            guard let pairs = added[join.name] else { continue }
            let (source, target) = (
                try layout.table(of: join.relationship.entity.name), try layout.table(of: join.relationship.destinationEntity?.name ?? "")
            )
            // As in Hornbeam's own stores, an object that another process has deleted does not become a member.
            writes.append(
                Statement(
                    """
                    INSERT INTO \(join.name) (source, target) SELECT u.* FROM unnest($1::bigint[], $2::bigint[]) AS u(source, target) \
                    JOIN (SELECT _id FROM \(source.name) WHERE _id = ANY($1::bigint[]) FOR KEY SHARE) AS s ON s._id = u.source \
                    JOIN (SELECT _id FROM \(target.name) WHERE _id = ANY($2::bigint[]) FOR KEY SHARE) AS t ON t._id = u.target ON CONFLICT DO NOTHING
                    """, pairs.parameters))
        }
        for change in changes.members { try setPlaces(change) }
    }

    /// Sets the order of an ordered relationship with a to-one inverse.
    private mutating func setOrder(_ change: CustomStoreChanges.Members, _ relationship: PropertyDescription) throws {
        guard let order = change.order else { return }
        let table = try layout.table(of: change.owner.entityName)
        writes.append(
            Statement(
                "UPDATE \(table.name) SET \(StoreLayout.orderColumn(relationship)) = $1::bigint[] WHERE _id = $2::bigint",
                [SQLText.array(keys: order.map(\.key)), String(change.owner.key)]))
    }

    /// Sets the order of an ordered relationship with a join table.
    private mutating func setPlaces(_ change: CustomStoreChanges.Members) throws {
        let relationship = try layout.model.entity(named: change.owner.entityName).property(named: change.relationship)
        guard let order = change.order, let join = layout.join(of: relationship) else { return }
        let ends = JoinEnds(relationship)
        writes.append(
            Statement(
                """
                UPDATE \(join.name) j SET \(ends.place) = u.place FROM unnest($1::bigint[]) WITH ORDINALITY AS u(member, place) \
                WHERE j.\(ends.owner) = $2::bigint AND j.\(ends.member) = u.member
                """, [SQLText.array(keys: order.map(\.key)), String(change.owner.key)]))
    }
}

/// Pairs of a join table.
private struct Pairs {
    private var sources: [UInt64] = []
    private var targets: [UInt64] = []

    mutating func add(_ pair: (source: UInt64, target: UInt64)) {
        sources.append(pair.source)
        targets.append(pair.target)
    }

    var parameters: [String?] { [SQLText.array(keys: sources), SQLText.array(keys: targets)] }
}
#endif
