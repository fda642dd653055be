#if Postgres
internal import HornbeamModel

/// Finds the objects and the property of a save that violates a constraint which the model does not have, such as a condition or a foreign key of an existing
/// table.
struct ConstraintViolation {
    private let error: PostgresError
    private let changes: CustomStoreChanges
    private let layout: StoreLayout
    private let connection: Connection
    private let new: Set<CustomStoreKey>
    /// The largest number of objects that an error names.
    private static let objectsMax = 100

    init(_ error: PostgresError, _ changes: CustomStoreChanges, _ layout: StoreLayout, _ connection: Connection) {
        self.error = error
        self.changes = changes
        self.layout = layout
        self.connection = connection
        new = Set(changes.inserted.map(\.object))
    }

    /// Nil for other errors, and for constraints of tables that the model does not have.
    func refusal() throws -> (any Error)? {
        switch error.state {
        case "23502": return missingValue()
        case "23503": return try missingDestinations() ?? protectedObjects()
        case "23514": return try failedCondition()
        default: return error.isUniqueViolation ? try takenValue() : nil
        }
    }

    private func violation(
        _ code: HornbeamError.Code, _ message: String, _ table: TableLayout, _ column: String?, _ objects: [CustomStoreKey]
    ) -> CustomStoreViolation {
        let entityName = objects.first?.entityName ?? table.root.name
        let key = column.flatMap { property($0, of: entityName, in: table)?.name }
        return CustomStoreViolation(
            error: HornbeamError(code, message, entity: entityName, key: key, cause: "SQLSTATE \(error.state): \(error.message)"),
            objects: Array(objects.prefix(Self.objectsMax)))
    }

    // MARK: Kinds of constraints

    private func missingValue() -> (any Error)? {
        guard let table, let column = error.column.map(SQLText.name) else { return nil }
        let objects = rows(in: table).filter { isMissing(column, in: $0, table) }.map(\.object)
        return violation(
            .missingRequiredValue, "The column \(column) of \(table.name) requires a value, and an object has none. Set it before saving.", table, column,
            objects)
    }

    private func isMissing(_ column: String, in row: CustomStoreRow, _ table: TableLayout) -> Bool {
        let isNew = new.contains(row.object)
        guard let property = property(column, of: row.object.entityName, in: table) else { return isNew }
        if property.isRelationship {
            return isNew ? row.destinations[property.name] == nil : changes.cleared[row.object]?.contains(property.name) ?? false
        }
        return row.values[property.name]?.isNull ?? isNew
    }

    private func failedCondition() throws -> (any Error)? {
        guard let table else { return nil }
        let name = error.constraint ?? ""
        let found = try connection.execute(
            Statement(
                """
                SELECT pg_get_expr(c.conbin, c.conrelid), a.attname FROM pg_constraint c \
                LEFT JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey) \
                WHERE c.conrelid = to_regclass($1) AND c.conname = $2 AND c.contype = 'c'
                """, [table.name, name]))
        let columns = (0 ..< found.rowCount).compactMap { found[$0, 1].map(SQLText.name) }
        return violation(
            .validation, "Values violate the condition “\(name)” of the table \(table.name). Correct them before saving.", table,
            columns.count == 1 ? columns[0] : nil, try found.value.map { try objects(in: table, where: "NOT (\($0))") } ?? [])
    }

    private func takenValue() throws -> (any Error)? {
        guard let table else { return nil }
        let name = error.constraint ?? ""
        let found = try connection.execute(
            Statement(
                """
                SELECT a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
                JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
                WHERE i.indrelid = to_regclass($1) AND c.relname = $2 AND i.indisunique AND i.indexprs IS NULL AND i.indpred IS NULL \
                AND i.indnkeyatts = i.indnatts ORDER BY array_position(i.indkey::int2[], a.attnum)
                """, [table.name, name]))
        let columns = (0 ..< found.rowCount).compactMap { found[$0, 0].map(SQLText.name) }
        func isEqual(_ other: String) -> String {
            (columns.map { "\(other).\($0) = r.\($0)" } + ["\(other).\(table.id) <> r.\(table.id)"]).joined(separator: " AND ")
        }
        // Another row of the table or of the save has the values.
        let isTaken = "EXISTS (SELECT FROM \(table.name) t WHERE \(isEqual("t"))) OR EXISTS (SELECT FROM saved s WHERE \(isEqual("s")))"
        let objects = columns.isEmpty ? [] : try objects(in: table, where: isTaken)
        return violation(
            .constraintConflict, "The index “\(name)” of the table \(table.name) requires values that no other row has. Give the object another value.",
            table, columns.first, objects)
    }

    /// The objects to which the save refers and that do not exist.
    private func missingDestinations() throws -> (any Error)? {
        let named = Set((changes.inserted + changes.updated).flatMap { $0.destinations.values }).subtracting(new)
        let missing = named.subtracting(try StoreReader(layout, connection).rows(of: Array(named)).map(\.object))
        return missing.isEmpty ? nil : CustomStoreConflict(deleted: missing.sorted { $0.key < $1.key })
    }

    /// The deleted objects to which rows of the foreign key's table still refer.
    private func protectedObjects() throws -> (any Error)? {
        guard let referring = error.table, let name = error.constraint else { return nil }
        for (table, keys) in try tables(of: changes.deleted) {
            let found = try connection.execute(
                Statement(
                    """
                    SELECT a.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] \
                    JOIN pg_attribute f ON f.attrelid = c.confrelid AND f.attnum = c.confkey[1] \
                    WHERE c.conrelid = to_regclass($1) AND c.conname = $2 AND c.confrelid = to_regclass($3) AND f.attname = $4 \
                    AND c.contype = 'f' AND cardinality(c.conkey) = 1
                    """, [referring, name, table.name, SQLText.unquoted(table.id)]))
            guard let column = found.value.map(SQLText.name) else { continue }
            let objects = try self.objects(keys, with: column, in: referring)
            return violation(
                .deleteDenied,
                "Rows of the table \(referring) refer to objects of \(table.root.name) that the save deletes, which the foreign key “\(name)” forbids. "
                    + "Change or delete these rows first.", table, nil, objects)
        }
        return nil
    }

    /// The objects to which rows refer that the save neither changes nor deletes.
    private func objects(_ objects: [CustomStoreKey], with column: String, in referring: String) throws -> [CustomStoreKey] {
        let table = layout.tables.first { $0.name == referring }
        let own = layout.keysByTable(changes.deleted + changes.updated.map(\.object))[referring] ?? []
        let isOther = table.map { " AND NOT \($0.id) = ANY($2::bigint[])" } ?? " AND cardinality($2::bigint[]) = 0"
        let found = try connection.execute(
            Statement(
                "SELECT DISTINCT \(column) FROM \(referring) WHERE \(column) = ANY($1::bigint[])\(isOther) LIMIT \(Self.objectsMax)",
                [SQLText.array(keys: objects.map(\.key)), SQLText.array(keys: own)]))
        let keys = Set((0 ..< found.rowCount).compactMap { found[$0, 0].flatMap(UInt64.init) })
        return objects.filter { keys.contains($0.key) }
    }

    private func tables(of objects: [CustomStoreKey]) throws -> [(TableLayout, [CustomStoreKey])] {
        let groups = try Dictionary(grouping: objects) { try layout.table(of: $0.entityName).name }
        return layout.tables.compactMap { table in groups[table.name].map { (table, $0) } }
    }

    // MARK: Rows

    /// The table of the constraint.
    private var table: TableLayout? { layout.tables.first { $0.name == error.table } }

    /// The new and changed rows in a table.
    private func rows(in table: TableLayout) -> [CustomStoreRow] {
        (changes.inserted + changes.updated).filter { (try? layout.table(of: $0.object.entityName).name) == table.name }
    }

    /// The property of an entity that is stored in a column.
    private func property(_ column: String, of entityName: String, in table: TableLayout) -> PropertyDescription? {
        table.columns.first { $0.name == column && table.column($0.property.name, of: entityName)?.property === $0.property }?.property
    }

    /// The objects for whose rows, with the values of the save, a condition on `r` is true. It can name all rows of the save as `saved`.
    private func objects(in table: TableLayout, where condition: String) throws -> [CustomStoreKey] {
        var groups: [[String]: [CustomStoreRow]] = [:]
        for row in rows(in: table) {
            var cells = RowCells(table)
            try cells.add(row, cleared: changes.cleared[row.object] ?? [])
            groups[cells.names, default: []].append(row)
        }
        if groups.isEmpty { return [] }
        var parameters = ParameterList()
        let saved = try groups.values.map { try select($0, table, &parameters) }.joined(separator: " UNION ALL ")
        let statement = Statement(
            "WITH saved AS (\(saved)) SELECT r.\(table.id), \(table.entity(of: "r")) FROM saved r WHERE \(condition)", parameters.values)
        // The server may be unable to test the condition, for example one that names the table.
        guard let found = try? connection.execute(statement) else { return [] }
        return (0 ..< found.rowCount).compactMap { row in found[row, 0].flatMap(UInt64.init).map { CustomStoreKey(found[row, 1] ?? "", $0) } }
            .sorted { $0.key < $1.key }
    }

    /// Selects rows with the same changed columns. Those that exist have their stored values in the other columns.
    private func select(_ rows: [CustomStoreRow], _ table: TableLayout, _ parameters: inout ParameterList) throws -> String {
        var cells = RowCells(table)
        for row in rows { try cells.add(row, cleared: changes.cleared[row.object] ?? []) }
        var arrays = [parameters.add(SQLText.array(keys: rows.map(\.object.key)), as: "bigint[]")]
        if table.kind != nil { arrays.append(parameters.add(SQLText.array(rows.map { $0.object.entityName as String? }), as: "text[]")) }
        arrays += cells.arrays(&parameters)
        let names = [table.id] + (table.kind.map { [$0] } ?? []) + cells.names
        return """
            SELECT (jsonb_populate_record(t, to_jsonb(u))).* FROM (SELECT * FROM unnest(\(arrays.joined(separator: ", ")))) \
            AS u(\(names.joined(separator: ", "))) LEFT JOIN \(table.name) t ON t.\(table.id) = u.\(table.id)
            """
    }
}
#endif
