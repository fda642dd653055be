#if Postgres
internal import Foundation
internal import HornbeamModel

/// Compares the existing tables of a model with the catalogue of the server, without changing them.
struct MappedTables {
    private struct Column {
        let type: String
        let isRequired: Bool
        /// True if the server gives a value to rows without one.
        let hasDefault: Bool
        /// True if the collation takes some different texts for equal.
        let equatesTexts: Bool
    }

    private let layout: StoreLayout
    private let connection: Connection
    private var problems: [HornbeamError] = []

    init(_ layout: StoreLayout, _ connection: Connection) {
        self.layout = layout
        self.connection = connection
    }

    /// Returns the sequences of the keys.
    ///
    /// - Throws: `modelMismatch` with each difference as a detail.
    mutating func validate() throws -> [String: String] {
        for table in layout.tables where table.isMapped { try validate(table) }
        for join in layout.joins where join.isMapped { try validate(join) }
        for unique in layout.uniques where unique.table.isMapped { try validate(unique) }
        let sequences = problems.isEmpty ? try keySequences() : [:]
        if problems.isEmpty { return sequences }
        throw HornbeamError(
            .modelMismatch,
            "Existing tables do not fit the model: "
                + (problems.count == 1 ? problems[0].message : "\(problems.count) differences are among the details, the first: \(problems[0].message)"),
            details: problems)
    }

    private mutating func add(_ text: String, _ entity: EntityDescription, _ property: PropertyDescription? = nil) {
        problems.append(HornbeamError(.modelMismatch, text, entity: entity.name, key: property?.name))
    }

    // MARK: Tables

    private mutating func validate(_ table: TableLayout) throws {
        guard let columns = try columns(of: table.name) else { return add("There is no table \(table.name).", table.root) }
        require(table.id, ["smallint", "integer", "bigint"], columns, table, "the key", isRequired: true)
        require(table.version, ["integer", "bigint"], columns, table, "the version", isRequired: true)
        if let kind = table.kind { require(kind, ["text", "character varying"], columns, table, "the entity", isRequired: true) }
        if try columns[table.id] != nil && !isUnique([table.id], in: table.name) {
            add("The column \(table.id) of \(table.name) has no unique index, and is the key.", table.root)
        }
        for column in table.columns { require(column, columns, table) }
        let known = Set([table.id, table.version] + (table.kind.map { [$0] } ?? []) + table.columns.map(\.name))
        for (name, column) in columns.sorted(by: { $0.key < $1.key }) where !known.contains(name) && column.isRequired && !column.hasDefault {
            add(
                "The column \(name) of \(table.name) is NOT NULL, has no default, and is no attribute of \(table.root.name): new rows have no value.",
                table.root)
        }
    }

    private mutating func require(
        _ name: String, _ types: [String], _ columns: [String: Column], _ table: TableLayout, _ part: String, isRequired: Bool,
        _ property: PropertyDescription? = nil
    ) {
        guard let column = columns[name] else {
            let remedy = name == table.version ? " Add it: ALTER TABLE \(table.name) ADD COLUMN \(name) bigint NOT NULL DEFAULT 1." : ""
            return add("The table \(table.name) has no column \(name) for \(part).\(remedy)", table.root, property)
        }
        if !types.contains(column.type) {
            let wanted = types.joined(separator: " or ")
            add("The column \(name) of \(table.name) has the type \(column.type). For \(part) it must be \(wanted).", table.root, property)
        }
        if isRequired && !column.isRequired { add("The column \(name) of \(table.name) can be NULL, and is \(part).", table.root, property) }
    }

    private mutating func require(_ column: TableLayout.Column, _ columns: [String: Column], _ table: TableLayout) {
        let property = column.property
        if let type = property.userInfo[TableMapping.type], property.attributeType != .date || !["timestamptz", "timestamp"].contains(type) {
            add("userInfo[\"\(TableMapping.type)\"] is “\(type)”. It is timestamptz or timestamp, of a date attribute.", table.root, property)
        }
        require(column.name, column.acceptedTypes, columns, table, "\(property.entity.name).\(property.name)", isRequired: false, property)
        if let found = columns[column.name], found.isRequired, property.isOptional || property.entity !== table.root {
            add("The column \(column.name) of \(table.name) is NOT NULL, and \(property.entity.name).\(property.name) is optional.", table.root, property)
        }
        if columns[column.name]?.equatesTexts == true {
            add(
                "The column \(column.name) of \(table.name) has a nondeterministic collation, by which different texts are equal. Comparisons of "
                    + "\(property.entity.name).\(property.name) would have other results.", table.root, property)
        }
    }

    private mutating func validate(_ join: JoinTable) throws {
        let entity = join.relationship.entity
        guard let columns = try columns(of: join.name) else { return add("There is no table \(join.name).", entity, join.relationship) }
        for name in [join.source, join.target] {
            guard let column = columns[name] else {
                add("The table \(join.name) has no column \(name) for \(entity.name).\(join.relationship.name).", entity, join.relationship)
                continue
            }
            guard !["smallint", "integer", "bigint"].contains(column.type) else { continue }
            add("The column \(name) of \(join.name) has the type \(column.type) instead of bigint.", entity, join.relationship)
        }
        if try columns[join.source] != nil && columns[join.target] != nil && !isUnique([join.source, join.target], in: join.name) {
            add("The columns \(join.source) and \(join.target) of \(join.name) have no unique index.", entity, join.relationship)
        }
        let others = columns.filter { ![join.source, join.target].contains($0.key) }
        for (name, column) in others.sorted(by: { $0.key < $1.key }) where column.isRequired && !column.hasDefault {
            add("The column \(name) of \(join.name) is NOT NULL and has no default: new pairs have no value.", entity, join.relationship)
        }
    }

    private mutating func validate(_ unique: UniqueColumns) throws {
        guard try !isUnique(unique.columns, in: unique.table.name) else { return }
        add(
            "\(unique.entity.name) has the unique values \(unique.names.joined(separator: ", ")), and \(unique.table.name) has no unique index over "
                + "\(unique.columns.joined(separator: ", ")).", unique.entity)
    }

    // MARK: Keys

    /// The sequences of the keys, by the names of the tables.
    private mutating func keySequences() throws -> [String: String] {
        var sequences: [String: String] = [:]
        for table in layout.tables where table.isMapped {
            let found = try connection.execute(Statement("SELECT pg_get_serial_sequence($1, $2)", [table.name, SQLText.unquoted(table.id)]))
            guard let sequence = found.value else {
                add(
                    "The key \(table.id) of \(table.name) has no sequence for new objects: make it an identity column, or let a sequence belong to it.",
                    table.root)
                continue
            }
            sequences[table.name] = sequence
        }
        return sequences
    }

    /// The numbers of the tables, which the store keeps, by their names.
    func tableNumbers() throws -> [String: UInt64] {
        let stored = try connection.execute(Statement("SELECT value FROM \(layout.settings) WHERE name = 'tables'")).value
        var numbers = try stored.map { try JSONDecoder().decode([String: UInt64].self, from: Data($0.utf8)) } ?? [:]
        let new = layout.tables.filter { $0.isMapped && numbers[$0.name] == nil }
        if new.isEmpty { return numbers }
        for table in new { numbers[table.name] = (numbers.values.max() ?? 0) + 1 }
        let last = try connection.execute(Statement("SELECT last_value FROM \(layout.keys)")).value.flatMap(UInt64.init) ?? 0
        guard numbers.count <= StoreLayout.mappedTablesMax, last < StoreLayout.rowKeyMax / 2 else {
            throw HornbeamError(
                .modelMismatch,
                "A store has at most \(StoreLayout.mappedTablesMax) existing tables, and uses less than \(StoreLayout.rowKeyMax / 2) keys of its own "
                    + "beside them.")
        }
        try connection.execute(
            Statement(
                "INSERT INTO \(layout.settings) VALUES ('tables', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                [String(decoding: try JSONEncoder().encode(numbers), as: UTF8.self)]))
        return numbers
    }

    // MARK: Versions

    /// Adds the columns of versions that are missing, with triggers by which changes of other programs count.
    func addVersions() throws {
        for table in layout.tables where table.isMapped {
            guard let columns = try columns(of: table.name), columns[table.version] == nil else { continue }
            let function = "\(layout.schema).\(SQLText.name(SQLText.shortened("_hornbeam_version_\(SQLText.unquoted(table.ownName))")))"
            let statements = [
                "ALTER TABLE \(table.name) ADD COLUMN \(table.version) bigint NOT NULL DEFAULT 1",
                """
                CREATE OR REPLACE FUNCTION \(function)() RETURNS trigger LANGUAGE plpgsql AS $function$ BEGIN
                    IF NEW.\(table.version) = OLD.\(table.version) THEN NEW.\(table.version) := OLD.\(table.version) + 1; END IF;
                    RETURN NEW;
                END $function$
                """,
                "CREATE TRIGGER _hornbeam_version BEFORE UPDATE ON \(table.name) FOR EACH ROW EXECUTE FUNCTION \(function)()",
            ]
            for statement in statements { try connection.execute(Statement(statement)) }
        }
    }

    // MARK: Catalogue

    /// The columns by quoted name; nil if there is no table.
    private func columns(of table: String) throws -> [String: Column]? {
        let found = try connection.execute(
            Statement(
                """
                SELECT a.attname, format_type(a.atttypid, NULL), a.attnotnull, a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> '', \
                EXISTS (SELECT FROM pg_collation c WHERE c.oid = a.attcollation AND NOT c.collisdeterministic) \
                FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
                """, [table]))
        if found.rowCount == 0 { return nil }
        var columns: [String: Column] = [:]
        for row in 0 ..< found.rowCount {
            columns[SQLText.name(found[row, 0] ?? "")] = Column(
                type: found[row, 1] ?? "", isRequired: found[row, 2] == "t", hasDefault: found[row, 3] == "t", equatesTexts: found[row, 4] == "t")
        }
        return columns
    }

    /// True if a unique index has exactly these columns, in any order.
    private func isUnique(_ columns: [String], in table: String) throws -> Bool {
        let found = try connection.execute(
            Statement(
                """
                SELECT (SELECT json_agg(quote_ident(a.attname) ORDER BY a.attname) FROM pg_attribute a \
                WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)), \
                (SELECT json_agg(quote_ident(n) ORDER BY n) FROM unnest($2::text[]) AS u(n)) FROM pg_index i \
                WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts
                """, [table, SQLText.array(columns.map { SQLText.unquoted($0) as String? })]))
        return (0 ..< found.rowCount).contains { found[$0, 0] == found[$0, 1] }
    }
}

extension TableLayout.Column {
    /// The types of an existing column that can have the values.
    var acceptedTypes: [String] {
        if isTimestamp { return [hasTimeZone ? "timestamp with time zone" : "timestamp without time zone"] }
        switch type {
        case .bigint: return ["smallint", "integer", "bigint"]
        case .integer: return ["smallint", "integer"]
        case .text: return ["text", "character varying"]
        default: return [type.sql]
        }
    }
}
#endif
