#if Postgres
internal import HornbeamModel

/// Reads rows of a table: makes the SELECT clause, and decodes its results.
struct RowReader {
    let table: TableLayout
    private let layout: StoreLayout

    init(_ table: TableLayout, _ layout: StoreLayout) {
        self.table = table
        self.layout = layout
    }

    /// The columns of a SELECT over the table with the alias `t`.
    func columns() throws -> String {
        let own = table.columns.flatMap { column in ["t.\(column.name)"] + (column.entityName.map { ["t.\($0)"] } ?? []) }
        return (["t._id", "t._entity", "t._version"] + own + (try table.lists.map(members))).joined(separator: ", ")
    }

    /// A subselect with the members of a relationship as text: `7:Book,9:Song`.
    private func members(_ relationship: PropertyDescription) throws -> String {
        let destination = try layout.table(of: relationship.destinationEntity?.name ?? "")
        guard let join = layout.join(of: relationship) else {
            let inverse = try inverseColumn(relationship, destination)
            let order = "array_position(t.\(StoreLayout.orderColumn(relationship)), d._id)"
            return "(SELECT string_agg(d._id || ':' || d._entity, ',' ORDER BY \(order), d._id) FROM \(destination.name) d WHERE d.\(inverse) = t._id)"
        }
        let ends = JoinEnds(relationship)
        return """
            (SELECT string_agg(d._id || ':' || d._entity, ',' ORDER BY j.\(ends.place), d._id) FROM \(join.name) j \
            JOIN \(destination.name) d ON d._id = \(ends.member("t._id")) WHERE \(ends.owns("t._id")))
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
        var rows: [CustomStoreRow] = []
        rows.reserveCapacity(result.rowCount)
        for row in 0 ..< result.rowCount { rows.append(try self.row(row, of: result)) }
        return rows
    }

    private func row(_ number: Int, of result: QueryResult) throws -> CustomStoreRow {
        guard let key = result[number, 0].flatMap(UInt64.init), let entityName = result[number, 1],
            let version = result[number, 2].flatMap(UInt64.init)
        else { throw HornbeamError(.storeOperationFailed, "A row of \(table.root.name) in PostgreSQL has no valid key or version.") }
        let entity = try layout.model.entity(named: entityName)
        var row = CustomStoreRow(CustomStoreKey(entityName, key), version: version)
        var place = 3
        for column in table.columns {
            let text = result[number, place]
            place += 1
            defer { if column.entityName != nil { place += 1 } }
            guard entity.propertiesByName[column.property.name] === column.property, let text else { continue }
            if column.property.isAttribute {
                row.values[column.property.name] = try ColumnValue.value(of: text, column.property.attributeType)
            } else if let target = UInt64(text), let name = destinationEntity(column, column.entityName == nil ? nil : result[number, place]) {
                row.destinations[column.property.name] = CustomStoreKey(name, target)
            }
        }
        for list in table.lists {
            defer { place += 1 }
            guard entity.propertiesByName[list.name] === list else { continue }
            row.members[list.name] = try keys(result[number, place] ?? "")
        }
        return row
    }

    private func destinationEntity(_ column: TableLayout.Column, _ stored: String?) -> String? {
        stored ?? column.property.destinationEntity?.concreteDescendants.first?.name
    }

    private func keys(_ text: String) throws -> [CustomStoreKey] {
        try text.split(separator: ",").map { part in
            let ends = part.split(separator: ":", maxSplits: 1)
            guard ends.count == 2, let key = UInt64(ends[0]) else {
                throw HornbeamError(.storeOperationFailed, "A relationship in PostgreSQL has an invalid member.")
            }
            return CustomStoreKey(String(ends[1]), key)
        }
    }
}

/// The columns of a join table, seen from the owners of a relationship.
struct JoinEnds {
    /// The column with the owners.
    let owner: String
    /// The column with the members.
    let member: String
    /// The column with the members' order.
    let place: String
    /// True if a relationship is its own inverse, so that each pair stands for both directions.
    let isSymmetric: Bool

    init(_ relationship: PropertyDescription) {
        let isSource = JoinTable.isSource(relationship)
        owner = isSource ? "source" : "target"
        member = isSource ? "target" : "source"
        place = isSource ? "source_place" : "target_place"
        isSymmetric = relationship.inverse === relationship
    }

    /// The condition that a pair `j` belongs to an owner.
    func owns(_ key: String) -> String {
        isSymmetric ? "(j.source = \(key) OR j.target = \(key))" : "j.\(owner) = \(key)"
    }

    /// The member of a pair `j` of an owner.
    func member(_ key: String) -> String {
        isSymmetric ? "CASE WHEN j.source = \(key) THEN j.target ELSE j.source END" : "j.\(member)"
    }

    /// A pair as source and target.
    func pair(_ owner: UInt64, _ member: UInt64) -> (source: UInt64, target: UInt64) {
        if isSymmetric { return (min(owner, member), max(owner, member)) }
        return self.owner == "source" ? (owner, member) : (member, owner)
    }
}
#endif
