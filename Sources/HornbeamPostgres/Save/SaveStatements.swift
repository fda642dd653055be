#if Postgres
internal import Foundation
internal import HornbeamModel

/// The statements of a save. Their number depends on the tables, on the combinations of changed columns, and on the size of the values.
struct SaveStatements {
    /// Statements that write rows.
    private enum Write {
        case statement(Statement)
        case insertion(TableInsertion)
    }

    /// A statement that locks rows and returns their keys and versions.
    struct Lock {
        let statement: Statement
        let keys: [CustomStoreKey]
    }

    private let changes: CustomStoreChanges
    private let inserted: [CustomStoreTable]
    private let layout: StoreLayout
    private(set) var locks: [Lock] = []
    /// Lock the objects to which the save refers, and fail with a division by zero if one of them does not exist.
    private(set) var references: [Statement] = []
    private var writes: [Write] = []
    private let referenced: SaveReferences
    /// The shard key of all objects that have one.
    private let shard: String?

    init(_ changes: CustomStoreChanges, _ layout: StoreLayout) throws {
        try self.init(changes, layout, shard: nil)
        if !layout.isSharded { try addAll() }
        for part in try layout.isSharded ? ShardedChanges(changes, layout).parts : [] {
            var statements = try SaveStatements(part.changes, layout, shard: part.shard)
            try statements.addAll()
            locks += statements.locks
            references += statements.references
            writes += statements.writes
        }
        try addHistory()
    }

    private init(_ changes: CustomStoreChanges, _ layout: StoreLayout, shard: String?) throws {
        self.changes = changes
        self.layout = layout
        self.shard = shard
        inserted = try changes.insertedRows.tables(in: layout.model)
        referenced = try SaveReferences(changes, inserted: inserted, layout)
    }

    /// A further condition on the rows of a table, which names the shard key.
    private func shardTest(_ table: TableLayout, row: String = "", _ parameters: inout [String?]) -> String {
        guard let column = table.shard, let shard else { return "" }
        parameters.append(shard)
        return " AND \(row)\(column.name) = $\(parameters.count)::\(column.parameterType)"
    }

    private func shardTest(_ join: JoinTable, _ parameters: inout [String?]) -> String {
        guard let column = join.shard, let shard else { return "" }
        parameters.append(shard)
        return " AND \(JoinTable.shardColumn) = $\(parameters.count)::\(column.parameterType)"
    }

    private mutating func addAll() throws {
        references = try byTable(referenced.destinations).map { table, keys in
            var parameters: [String?] = [SQLText.array(keys: keys.map(\.key)), String(keys.count)]
            // The rows are locked until the end of the transaction, so that no other process deletes them meanwhile. Changes of them do not wait.
            let sql = """
                SELECT 1 / (count(*) = $2::bigint)::int FROM \
                (SELECT FROM \(table.name) WHERE \(table.id) = ANY($1::bigint[])\(shardTest(table, &parameters)) ORDER BY \(table.id) FOR KEY SHARE) AS r
                """
            return Statement(sql, parameters)
        }
        try addLocks()
        if layout.hasMappedTables {
            // Existing tables can have foreign keys that are checked after each statement.
            try addInserts()
            try addUpdates()
            try addMembers()
            try addDeletes()
        } else {
            try addDeletes()
            try addUpdates()
            try addInserts()
            try addMembers()
        }
    }

    private mutating func write(_ statement: Statement) { writes.append(.statement(statement)) }

    /// Passes the statements that write rows, in order. Those of many new rows are made one by one, so that the server can execute one while the next is made.
    func forEachWrite(_ body: (Statement) throws -> Void) throws {
        for write in writes {
            switch write {
            case .statement(let statement): try body(statement)
            case .insertion(var insertion): while let statement = try insertion.nextStatement() { try body(statement) }
            }
        }
    }

    /// The statement that records the save for other processes, and limits the waits for locks of the transaction.
    func record(_ token: UUID, source: UUID, lockMilliseconds: Int64) -> Statement {
        Statement(
            """
            INSERT INTO \(layout.saves) (token, source, author, context, changed, deleted) \
            SELECT $1::uuid, $2::uuid, $3::text, $4::text, $5::text, $6::text FROM set_config('lock_timeout', $7::text, true)
            """,
            [
                token.uuidString, source.uuidString, changes.author.map(ColumnValue.escaped), changes.contextName.map(ColumnValue.escaped),
                changedKeys, KeyList.text(changes.deleted), String(lockMilliseconds),
            ])
    }

    private var changedKeys: String {
        var others = Set(changes.updated.map(\.object) + changes.members.flatMap { [$0.owner] + $0.added + $0.removed })
        if !others.isEmpty {
            others.subtract(changes.deleted)
            for table in inserted { others.subtract(table.keys.lazy.map { CustomStoreKey(table.entity.name, $0) }) }
        }
        return KeyList.text(inserted, others)
    }

    /// Records the save in the history. Nothing must wait for other transactions after it, so deferred constraints are checked before, also those that
    /// existing tables may have.
    private mutating func addHistory() throws {
        guard let entry = changes.history else { return }
        if !layout.uniques.isEmpty || layout.hasMappedTables { write(Statement("SET CONSTRAINTS ALL IMMEDIATE")) }
        write(try entry.insertion(into: layout.history))
    }

    // MARK: Versions

    /// Locks rows in the order of their keys, so that two saves wait for each other in one direction. Only a lock of deleted rows makes saves wait that refer
    /// to them.
    private mutating func addLocks() throws {
        let deleted = Set(changes.deleted)
        for (table, keys) in try byTable(Array(changes.versions.keys)) {
            for (keys, mode) in [(keys.filter(deleted.contains), "UPDATE"), (keys.filter { !deleted.contains($0) }, "NO KEY UPDATE")] where !keys.isEmpty {
                var parameters: [String?] = [SQLText.array(keys: keys.map(\.key))]
                let test = shardTest(table, &parameters)
                let sql = """
                    SELECT \(table.id), \(table.version) FROM \(table.name) WHERE \(table.id) = ANY($1::bigint[])\(test) ORDER BY \(table.id) FOR \(mode)
                    """
                locks.append(Lock(statement: Statement(sql, parameters), keys: keys))
            }
        }
        locks += referenced.referring(toDeleted: changes) { shardTest($0, &$1) }.map { Lock(statement: $0, keys: []) }
    }

    /// The conflict of a save that refers to objects which no longer exist; nil if they all exist.
    func missingReferences(reading read: ([CustomStoreKey]) throws -> [CustomStoreRow]) throws -> CustomStoreConflict? {
        if referenced.destinations.isEmpty { return nil }
        // With their entities: rows of existing tables can have equal keys.
        let missing = Set(referenced.destinations).subtracting(try read(referenced.destinations).map(\.object)).sorted { $0.key < $1.key }
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
        let deleted = layout.keysByTable(changes.deleted)
        for join in layout.joins {
            let ends = [(join.relationship.entity, join.source), (join.relationship.destinationEntity ?? join.relationship.entity, join.target)]
            for (entity, column) in ends {
                guard let keys = deleted[try layout.table(of: entity.name).name] else { continue }
                var parameters: [String?] = [SQLText.array(keys: keys)]
                let test = shardTest(join, &parameters)
                write(Statement("DELETE FROM \(join.name) WHERE \(column) = ANY($1::bigint[])\(test)", parameters))
            }
        }
        for (table, keys) in try inOrder(byTable(changes.deleted)).reversed() {
            var parameters: [String?] = [SQLText.array(keys: keys.map(\.key))]
            let test = shardTest(table, &parameters)
            write(Statement("DELETE FROM \(table.name) WHERE \(table.id) = ANY($1::bigint[])\(test)", parameters))
        }
    }

    /// Groups of rows in an order in which those of a table come after those to which they refer.
    private func inOrder<Rows>(_ groups: [(TableLayout, Rows)]) -> [(TableLayout, Rows)] {
        guard layout.hasMappedTables else { return groups }
        let places = Dictionary(layout.tablesByDependency.enumerated().map { ($1.name, $0) }) { first, _ in first }
        return groups.sorted { (places[$0.0.name] ?? 0) < (places[$1.0.name] ?? 0) }
    }

    private mutating func addInserts() throws {
        // Arrays of one element would cost the server a fifth of the time of a save.
        if let table = inserted.first, inserted.count == 1, table.count == 1,
            let insertion = try layout.table(of: table.entity.name).insertions[table.entity.name]
        {
            return write(try insertion.statement(table))
        }
        var groups: [String: (table: TableLayout, rows: [CustomStoreTable])] = [:]
        for rows in inserted {
            let table = try layout.table(of: rows.entity.name)
            groups[table.name, default: (table, [])].rows.append(rows)
        }
        for (table, rows) in inOrder(groups.sorted { $0.key < $1.key }.map { ($0.value.table, $0.value.rows) }) {
            writes.append(.insertion(TableInsertion(rows, into: table)))
        }
    }

    /// One statement for each combination of changed columns, and more for large values.
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
                for part in try RowCells.parts(of: rows, in: table, cleared: changes.cleared) { addUpdate(part.rows, part.cells, names, table) }
            }
        }
    }

    private mutating func addUpdate(_ rows: ArraySlice<CustomStoreRow>, _ cells: RowCells, _ names: [String], _ table: TableLayout) {
        var parameters = ParameterList()
        let arrays = [parameters.add(SQLText.array(keys: rows.map(\.object.key)), as: "bigint[]")] + cells.arrays(&parameters)
        let aliases = (0 ... names.count).map { "c\($0)" }.joined(separator: ", ")
        let sets = names.enumerated().map { "\($1) = u.c\($0 + 1)" } + ["\(table.version) = t.\(table.version) + 1"]
        var values = parameters.values
        let test = shardTest(table, row: "t.", &values)
        write(
            Statement(
                """
                UPDATE \(table.name) AS t SET \(sets.joined(separator: ", ")) \
                FROM unnest(\(arrays.joined(separator: ", "))) AS u(\(aliases)) WHERE t.\(table.id) = u.c0\(test)
                """, values))
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
            let ends = JoinEnds(relationship, join)
            for member in change.removed { removed[join.name, default: Pairs()].add(ends.pair(change.owner.key, member.key)) }
            for member in change.added { added[join.name, default: Pairs()].add(ends.pair(change.owner.key, member.key)) }
        }
        for join in layout.joins {
            guard let pairs = removed[join.name] else { continue }
            var parameters = pairs.parameters
            let test = shardTest(join, &parameters)
            write(
                Statement(
                    """
                    DELETE FROM \(join.name) j USING unnest($1::bigint[], $2::bigint[]) AS u(source, target) \
                    WHERE j.\(join.source) = u.source AND j.\(join.target) = u.target\(test)
                    """, parameters))
        }
        for join in layout.joins {
            guard let pairs = added[join.name] else { continue }
            let (source, target) = (
                try layout.table(of: join.relationship.entity.name), try layout.table(of: join.relationship.destinationEntity?.name ?? "")
            )
            var parameters = pairs.parameters
            let column = shard != nil && join.shard != nil ? "\(JoinTable.shardColumn), " : ""
            var value = ""
            if !column.isEmpty, let type = join.shard?.parameterType {
                parameters.append(shard)
                value = "$\(parameters.count)::\(type), "
            }
            let (isSource, isTarget) = (shardTest(source, &parameters), shardTest(target, &parameters))
            // As in Hornbeam's own stores, an object that another process has deleted does not become a member.
            write(
                Statement(
                    """
                    INSERT INTO \(join.name) (\(column)\(join.source), \(join.target)) \
                    SELECT \(value)u.* FROM unnest($1::bigint[], $2::bigint[]) AS u(source, target) \
                    JOIN (SELECT \(source.id) AS id FROM \(source.name) WHERE \(source.id) = ANY($1::bigint[])\(isSource) FOR KEY SHARE) AS s \
                    ON s.id = u.source \
                    JOIN (SELECT \(target.id) AS id FROM \(target.name) WHERE \(target.id) = ANY($2::bigint[])\(isTarget) FOR KEY SHARE) AS t \
                    ON t.id = u.target ON CONFLICT DO NOTHING
                    """, parameters))
        }
        for change in changes.members { try setPlaces(change) }
    }

    /// Sets the order of an ordered relationship with a to-one inverse.
    private mutating func setOrder(_ change: CustomStoreChanges.Members, _ relationship: PropertyDescription) throws {
        guard let order = change.order else { return }
        let table = try layout.table(of: change.owner.entityName)
        var parameters: [String?] = [SQLText.array(keys: order.map(\.key)), String(change.owner.key)]
        let test = shardTest(table, &parameters)
        write(
            Statement(
                "UPDATE \(table.name) SET \(StoreLayout.orderColumn(relationship)) = $1::bigint[] WHERE \(table.id) = $2::bigint\(test)", parameters))
    }

    /// Sets the order of an ordered relationship with a join table.
    private mutating func setPlaces(_ change: CustomStoreChanges.Members) throws {
        let relationship = try layout.model.entity(named: change.owner.entityName).property(named: change.relationship)
        guard let order = change.order, let join = layout.join(of: relationship) else { return }
        let ends = JoinEnds(relationship, join)
        var parameters: [String?] = [SQLText.array(keys: order.map(\.key)), String(change.owner.key)]
        let test = shardTest(join, &parameters)
        write(
            Statement(
                """
                UPDATE \(join.name) j SET \(ends.place) = u.place FROM unnest($1::bigint[]) WITH ORDINALITY AS u(member, place) \
                WHERE j.\(ends.owner) = $2::bigint AND j.\(ends.member) = u.member\(test)
                """, parameters))
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
