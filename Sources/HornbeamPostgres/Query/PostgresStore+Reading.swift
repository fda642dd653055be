#if Postgres
public import HornbeamModel

extension PostgresStore {
    public func rows(for need: CustomStoreNeed) throws -> [CustomStoreRow] {
        let layout = try layout
        switch need {
        case .everything: return layout.outer(try withConnection(isCancellable: true) { try StoreReader(layout, $0).everything() })
        case .fetch(let request): return layout.outer(try rows(for: request, layout))
        case .objects(let keys): return layout.outer(try withConnection { try StoreReader(layout, $0).rows(of: keys.map(layout.inner)) })
        case .members(let owner, let relationship): return try members(of: [owner], relationship: relationship)
        }
    }

    public func members(of owners: [CustomStoreKey], relationship: String) throws -> [CustomStoreRow] {
        let layout = try layout
        return layout.outer(try withConnection { try StoreReader(layout, $0).members(of: owners.map(layout.inner), relationship) })
    }

    private func rows(for request: FetchDescription, _ layout: StoreLayout) throws -> [CustomStoreRow] {
        func read() throws -> [CustomStoreRow] { try withConnection(isCancellable: true) { try StoreReader(layout, $0).rows(for: request) } }
        // One statement reads one state.
        if try request.relatedPaths(in: layout.model.entity(named: request.entityName)) == [] { return try read() }
        var rows: [CustomStoreRow] = []
        try readOneState { rows = try read() }
        return rows
    }
}

/// Reads rows with one connection.
struct StoreReader {
    private let layout: StoreLayout
    private let connection: Connection
    /// True if the connection is in a transaction of the caller.
    private let isInTransaction: Bool

    init(_ layout: StoreLayout, _ connection: Connection, isInTransaction: Bool = false) {
        self.isInTransaction = isInTransaction
        self.layout = layout
        self.connection = connection
    }

    /// All rows of all tables.
    func everything() throws -> [CustomStoreRow] {
        try rows(try layout.tables.map { (RowReader($0, layout), try select($0, "TRUE")) })
    }

    /// The rows with given keys.
    func rows(of keys: [CustomStoreKey]) throws -> [CustomStoreRow] {
        try rows(try layout.groups(keys).map { group in
            (RowReader(group.table, layout), try select(group.table, "t.\(group.table.id) = ANY($1::bigint[])", [SQLText.array(keys: group.keys)], group.shard))
        })
    }

    /// The members of a to-many relationship, and the owners.
    func members(of owners: [CustomStoreKey], _ name: String) throws -> [CustomStoreRow] {
        guard let first = owners.first else { return [] }
        let relationship = try layout.model.entity(named: first.entityName).property(named: name)
        let (own, other) = (try layout.table(of: first.entityName), try layout.table(of: relationship.destinationEntity?.name ?? ""))
        return try rows(
            try layout.groups(owners).flatMap { group in
                let keys = SQLText.array(keys: group.keys)
                return [
                    (RowReader(own, layout), try select(own, "t.\(own.id) = ANY($1::bigint[])", [keys], group.shard)),
                    (RowReader(other, layout), try select(other, try isMember(relationship, other, group.shard), [keys], group.shard)),
                ]
            })
    }

    /// The condition that a row `t` is a member of a relationship of one of the owners `$1`.
    ///
    /// - Parameter shard: The shard key of the owners and members, which is the parameter `$2`.
    private func isMember(_ relationship: PropertyDescription, _ table: TableLayout, _ shard: String?) throws -> String {
        guard let join = layout.join(of: relationship) else {
            guard let inverse = relationship.inverse, let column = table.column(inverse.name, of: inverse.entity.name) else { return "FALSE" }
            return "t.\(column.name) = ANY($1::bigint[])"
        }
        let ends = JoinEnds(relationship, join)
        let test = shard == nil ? "" : join.shard.map { " AND j.\(JoinTable.shardColumn) = $2::\($0.parameterType)" } ?? ""
        let direct = "t.\(table.id) IN (SELECT j.\(ends.member) FROM \(join.name) j WHERE j.\(ends.owner) = ANY($1::bigint[])\(test))"
        guard ends.isSymmetric else { return direct }
        return "(\(direct) OR t.\(table.id) IN (SELECT j.\(ends.owner) FROM \(join.name) j WHERE j.\(ends.member) = ANY($1::bigint[])\(test)))"
    }

    /// The objects that can be results of a request, and those that it reads through relationships.
    func rows(for request: FetchDescription) throws -> [CustomStoreRow] {
        let entity = try layout.model.entity(named: request.entityName)
        guard let paths = request.relatedPaths(in: entity) else { return try everything() }
        var query = QueryTranslator(request, entity, excluding: [], layout)
        let (reader, statement) = try query.superset()
        let found = try reader.rows(try connection.execute(statement))
        return try found + paths.flatMap { try related(to: found, along: $0) }
    }

    private func related(to start: [CustomStoreRow], along path: [String]) throws -> [CustomStoreRow] {
        var all: [CustomStoreRow] = []
        var level = start
        for name in path {
            var next: [CustomStoreRow] = []
            for (entityName, rows) in Dictionary(grouping: level, by: \.object.entityName).sorted(by: { $0.key < $1.key }) {
                guard let property = try layout.model.entity(named: entityName).relationshipsByName[name], !property.isTransient else { continue }
                if property.isToMany {
                    next += try members(of: rows.map(\.object), name)
                } else {
                    next += try self.rows(of: Array(Set(rows.compactMap { $0.destinations[name] })))
                }
            }
            all += next
            level = next
        }
        return all
    }

    private func rows(_ selects: [(RowReader, Statement)]) throws -> [CustomStoreRow] {
        if selects.isEmpty { return [] }
        var rows: [CustomStoreRow] = []
        let statements = selects.map(\.1)
        let results = isInTransaction ? try connection.execute(all: statements) : try connection.read(statements)
        for (result, select) in zip(results, selects) { rows += try select.0.rows(result) }
        return rows
    }

    /// - Parameter shard: The shard key of the rows, which becomes the last parameter; nil if it is not known.
    private func select(_ table: TableLayout, _ condition: String, _ parameters: [String?] = [], _ shard: String? = nil) throws -> Statement {
        if let shard, let column = table.shard {
            let test = "\(condition) AND t.\(column.name) = $\(parameters.count + 1)::\(column.parameterType)"
            return try select(table, test, parameters + [shard])
        }
        return try self.statement(table, condition, parameters)
    }

    private func statement(_ table: TableLayout, _ condition: String, _ parameters: [String?]) throws -> Statement {
        var statement = Statement("SELECT \(try RowReader(table, layout).columns()) FROM \(table.name) t WHERE \(condition)", parameters)
        statement.hasBinaryResult = true
        return statement
    }
}
#endif
