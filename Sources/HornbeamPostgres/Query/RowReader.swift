#if Postgres
internal import HornbeamModel

/// Reads rows of a table: makes the SELECT clause, and decodes its results, which can be binary.
struct RowReader {
    let table: TableLayout
    private let layout: StoreLayout

    init(_ table: TableLayout, _ layout: StoreLayout) {
        self.table = table
        self.layout = layout
    }

    /// The columns of a SELECT over the table with the alias `t`.
    func columns() throws -> String {
        let own = table.columns.flatMap { column in [column.result(of: "t")] + (column.entityName.map { ["t.\($0)"] } ?? []) }
        return (["t.\(table.id)", table.entity(of: "t"), "t.\(table.version)"] + own + (try table.lists.map(members))).joined(separator: ", ")
    }

    /// A subselect with the members of a relationship as text: `7:Book,9:Song`.
    private func members(_ relationship: PropertyDescription) throws -> String {
        let destination = try layout.table(of: relationship.destinationEntity?.name ?? "")
        let keys = "d.\(destination.id) || ':' || \(destination.entity(of: "d"))"
        let (id, sameShard) = ("t.\(table.id)", StoreLayout.sameShard(destination, "d", table, "t"))
        guard let join = layout.join(of: relationship) else {
            let inverse = try inverseColumn(relationship, destination)
            let order = relationship.isOrdered ? "array_position(t.\(StoreLayout.orderColumn(relationship)), d.\(destination.id)), " : ""
            return """
                (SELECT string_agg(\(keys), ',' ORDER BY \(order)d.\(destination.id)) \
                FROM \(destination.name) d WHERE d.\(inverse) = \(id)\(sameShard))
                """
        }
        let ends = JoinEnds(relationship, join)
        return """
            (SELECT string_agg(\(keys), ',' ORDER BY \(ends.order)d.\(destination.id)) FROM \(join.name) j \
            JOIN \(destination.name) d ON d.\(destination.id) = \(ends.member(id)) WHERE \(ends.owns(id))\(sameShard)\(join.sameShard("j", table, "t")))
            """
    }

    private func inverseColumn(_ relationship: PropertyDescription, _ destination: TableLayout) throws -> String {
        guard let inverse = relationship.inverse, let column = destination.column(inverse.name, of: inverse.entity.name) else {
            throw HornbeamError(.modelMismatch, "\(relationship.name) has no column in the PostgreSQL store.", key: relationship.name)
        }
        return column.name
    }

    /// The rows of a result with the columns of `columns`.
    func rows(_ result: QueryResult) throws -> [CustomStoreRow] {
        try requireTypes(result)
        var forms = RowForms(self)
        return try (0 ..< result.rowCount).map { try row($0, of: result, &forms) }
    }

    /// The objects of a result, and the rows of those that are not cached.
    func answer(_ result: QueryResult, _ query: StoreQuery) throws -> StoreAnswer {
        try requireTypes(result)
        if var compact = CompactRowReader(table, layout) {
            try compact.read(result, query)
            return .objects(compact.keys, rows: [], tables: compact.tables)
        }
        var forms = RowForms(self)
        var keys: [CustomStoreKey] = []
        var rows: [CustomStoreRow] = []
        keys.reserveCapacity(result.rowCount)
        for number in 0 ..< result.rowCount {
            let (object, version) = try object(number, of: result)
            keys.append(object)
            if !table.lists.isEmpty || !query.isCached(layout.outer(object).key, version: version) { rows.append(try row(number, of: result, &forms)) }
        }
        return .objects(keys.map(layout.outer), rows: layout.outer(rows))
    }

    /// Throws if another program has changed the type of a column since the store was opened. A binary value would be read as another one.
    private func requireTypes(_ result: QueryResult) throws {
        try require(.bigint, table.id, result.type(0))
        try require(.bigint, table.version, result.type(2))
        var place = 3
        for column in table.columns {
            try require(column.type, column.name, result.type(place))
            place += column.entityName == nil ? 1 : 2
        }
    }

    private func require(_ type: ColumnType, _ name: String, _ found: UInt32) throws {
        if type.resultTypes.contains(found) { return }
        throw HornbeamError(
            .storeOperationFailed,
            "The type of the column \(name) of \(table.name) was changed since the store was opened. Close the store, correct the column or the model, and "
                + "open it again.")
    }

    static func invalidRow(of table: TableLayout) -> HornbeamError {
        HornbeamError(.storeOperationFailed, "A row of \(table.root.name) in PostgreSQL has no valid key or version.")
    }

    private func object(_ number: Int, of result: QueryResult) throws -> (object: CustomStoreKey, version: UInt64) {
        if let key = result.integer(number, 0) { try layout.requireKey(key, of: table.root.name, in: "The column \(table.id) of \(table.name)") }
        guard let key = result.integer(number, 0), let entityName = result[number, 1], let version = result.integer(number, 2), key > 0, version > 0
        else { throw Self.invalidRow(of: table) }
        return (CustomStoreKey(entityName, UInt64(key)), UInt64(version))
    }

    private func row(_ number: Int, of result: QueryResult, _ forms: inout RowForms) throws -> CustomStoreRow {
        let (object, version) = try object(number, of: result)
        var row = CustomStoreRow(object, version: version)
        let form = try forms.form(of: object.entityName)
        row.values.reserveCapacity(form.attributeCount)
        for (column, place) in form.columns {
            if column.property.isAttribute {
                let value = try ColumnValue.value(result, number, place, column.property.attributeType)
                if value != .null { row.values[column.property.name] = value }
            } else if let target = result.integer(number, place),
                let name = destinationEntity(column, column.entityName == nil ? nil : result[number, place + 1])
            {
                try layout.requireKey(target, of: name, in: "The column \(column.name) of \(table.name)")
                row.destinations[column.property.name] = CustomStoreKey(name, UInt64(target))
            }
        }
        if let shard = table.shard, let value = row.values[shard.property.name] { layout.shards.remember(try shard.text(of: value), of: object) }
        for (list, place) in form.lists { row.members[list.name] = try keys(result[number, place] ?? "") }
        return row
    }

    /// The columns of an entity in a result, with their places.
    fileprivate func form(of entityName: String) throws -> RowForms.Form {
        let entity = try layout.model.entity(named: entityName)
        var form = RowForms.Form()
        var place = 3
        for column in table.columns {
            if entity.propertiesByName[column.property.name] === column.property {
                form.columns.append((column, place))
                if column.property.isAttribute { form.attributeCount += 1 }
            }
            place += column.entityName == nil ? 1 : 2
        }
        for list in table.lists {
            if entity.propertiesByName[list.name] === list { form.lists.append((list, place)) }
            place += 1
        }
        return form
    }

    private func destinationEntity(_ column: TableLayout.Column, _ stored: String?) -> String? {
        stored ?? column.property.destinationEntity?.concreteDescendants.first?.name
    }

    private func keys(_ text: String) throws -> [CustomStoreKey] {
        guard let keys = KeyList.keys(text) else {
            throw HornbeamError(.storeOperationFailed, "A relationship in PostgreSQL has an invalid member.")
        }
        for key in keys { try layout.requireKey(Int64(clamping: key.key), of: key.entityName, in: "A relationship of \(table.name)") }
        return keys
    }
}

/// The columns of the entities of a table in a result.
private struct RowForms {
    struct Form {
        var columns: [(column: TableLayout.Column, place: Int)] = []
        var lists: [(list: PropertyDescription, place: Int)] = []
        var attributeCount = 0
    }

    private let reader: RowReader
    private var forms: [String: Form] = [:]

    init(_ reader: RowReader) { self.reader = reader }

    mutating func form(of entityName: String) throws -> Form {
        if let form = forms[entityName] { return form }
        let form = try reader.form(of: entityName)
        forms[entityName] = form
        return form
    }
}

/// The columns of a join table, seen from the owners of a relationship.
struct JoinEnds {
    /// The alias of the table.
    let pair: String
    /// The column with the owners.
    let owner: String
    /// The column with the members.
    let member: String
    /// The column with the members' order.
    let place: String
    /// The beginning of an ORDER BY clause for the members.
    let order: String
    private let isSource: Bool
    private let source: String
    private let target: String
    /// True if a relationship is its own inverse, so that each pair stands for both directions.
    let isSymmetric: Bool

    init(_ relationship: PropertyDescription, _ join: JoinTable, pair: String = "j") {
        self.pair = pair
        isSource = JoinTable.isSource(relationship)
        owner = isSource ? join.source : join.target
        member = isSource ? join.target : join.source
        place = isSource ? "source_place" : "target_place"
        order = join.isMapped ? "" : "\(pair).\(place), "
        (source, target) = (join.source, join.target)
        isSymmetric = relationship.inverse === relationship
    }

    /// The condition that a pair belongs to an owner.
    func owns(_ key: String) -> String {
        isSymmetric ? "(\(pair).\(source) = \(key) OR \(pair).\(target) = \(key))" : "\(pair).\(owner) = \(key)"
    }

    /// The member of a pair of an owner.
    func member(_ key: String) -> String {
        isSymmetric ? "CASE WHEN \(pair).\(source) = \(key) THEN \(pair).\(target) ELSE \(pair).\(source) END" : "\(pair).\(member)"
    }

    /// A pair as source and target.
    func pair(_ owner: UInt64, _ member: UInt64) -> (source: UInt64, target: UInt64) {
        if isSymmetric { return (min(owner, member), max(owner, member)) }
        return isSource ? (owner, member) : (member, owner)
    }
}
#endif
