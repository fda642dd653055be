#if Postgres
internal import HornbeamModel

/// The rows over which a query or one of its subselects runs, and the rows to which their to-one relationships lead.
struct QueryScope {
    /// The alias of the rows.
    let row: String
    let entity: EntityDescription
    /// The joins along to-one relationships, to be added to the FROM clause of the rows.
    var joins = ""
    /// The joined rows by the names of the alias and of the relationship that lead to them.
    var joined: [String: (alias: String, entity: EntityDescription)] = [:]
}

/// The value at the end of a key path over to-one relationships.
struct QueryValue {
    let sql: String
    let type: AttributeType
    let property: PropertyDescription?
    /// The column with the entity of a reference; nil if there is one entity only, and for attributes.
    var entitySQL: String?
    /// The entity of the object to which the value refers; nil for attributes.
    var objectEntity: String?
}

/// A FROM clause over the members of to-many relationships, without the joins of its scope.
struct QueryMembers {
    let from: String
    /// The condition that a row is a member.
    let condition: String
    let scope: Int
}

extension ConditionTranslator {
    /// The value at the end of a key path; nil if it is not in a column that to-one relationships lead to.
    mutating func value(_ path: [String], in scope: Int) -> QueryValue? {
        guard let name = path.last else {
            guard let table = try? layout.table(of: scopes[scope].entity.name) else { return nil }
            return QueryValue(sql: "\(scopes[scope].row).\(table.id)", type: .objectID, property: nil, objectEntity: scopes[scope].entity.name)
        }
        guard let (alias, entity) = follow(path.dropLast(), in: scope), let property = entity.propertiesByName[name],
            let column = try? layout.table(of: entity.name).column(name, of: entity.name)
        else { return nil }
        return QueryValue(
            sql: column.value(of: alias), type: property.attributeType, property: property, entitySQL: column.entityName.map { "\(alias).\($0)" },
            objectEntity: property.destinationEntity?.name)
    }

    /// Joins the tables along to-one relationships.
    mutating func follow(_ path: ArraySlice<String>, in scope: Int) -> (alias: String, entity: EntityDescription)? {
        var current = (alias: scopes[scope].row, entity: scopes[scope].entity)
        for name in path {
            guard let property = current.entity.relationshipsByName[name], !property.isToMany, let destination = property.destinationEntity,
                let column = try? layout.table(of: current.entity.name).column(name, of: current.entity.name),
                let table = try? layout.table(of: destination.name)
            else { return nil }
            let key = "\(current.alias).\(name)"
            if let known = scopes[scope].joined[key] {
                current = known
                continue
            }
            let alias = newAlias("t")
            let before = try? layout.table(of: current.entity.name)
            let sameShard = before.map { StoreLayout.sameShard(table, alias, $0, current.alias) } ?? ""
            scopes[scope].joins += " LEFT JOIN \(table.name) \(alias) ON \(alias).\(table.id) = \(current.alias).\(column.name)\(sameShard)"
            scopes[scope].joined[key] = (alias, destination)
            current = (alias, destination)
        }
        return current
    }

    /// Divides a key path after its last to-many relationship. Nil if there is none, or a to-one relationship between two of them: nil at its end
    /// would be a member.
    func divided(_ path: [String], in scope: Int) -> (members: [String], rest: [String])? {
        var entity = scopes[scope].entity
        var last: Int?
        for (place, name) in path.enumerated() {
            guard let relationship = entity.relationshipsByName[name], let destination = relationship.destinationEntity else { break }
            if relationship.isToMany {
                if let last, last != place - 1 { return nil }
                last = place
            }
            entity = destination
        }
        return last.map { (Array(path[...$0]), Array(path[($0 + 1)...])) }
    }

    /// The members at the end of a key path of to-one relationships and then to-many relationships, as a new scope.
    mutating func members(_ path: [String], in scope: Int) -> QueryMembers? {
        let first = path.indices.first { follows(path[..<$0], in: scope)?.relationshipsByName[path[$0]]?.isToMany ?? false }
        guard let first, var owner = follow(path[..<first], in: scope) else { return nil }
        var from = ""
        var condition = ""
        for name in path[first...] {
            guard let relationship = owner.entity.relationshipsByName[name], relationship.isToMany, let destination = relationship.destinationEntity,
                let table = try? layout.table(of: destination.name), let ownerTable = try? layout.table(of: owner.entity.name)
            else { return nil }
            let alias = newAlias("m")
            let sameShard = StoreLayout.sameShard(table, alias, ownerTable, owner.alias)
            let ownerKey = "\(owner.alias).\(ownerTable.id)"
            let link: String
            if let join = layout.join(of: relationship) {
                let ends = JoinEnds(relationship, join, pair: newAlias("j"))
                let pairs = "\(join.name) \(ends.pair)"
                let target = "JOIN \(table.name) \(alias) ON \(alias).\(table.id) = \(ends.member(ownerKey))\(join.sameShard(ends.pair, table, alias))"
                link = ends.owns(ownerKey) + join.sameShard(ends.pair, ownerTable, owner.alias)
                from += from.isEmpty ? "\(pairs) \(target)" : " JOIN \(pairs) ON \(link) \(target)"
            } else {
                guard let inverse = relationship.inverse, let column = table.column(inverse.name, of: inverse.entity.name) else { return nil }
                link = "\(alias).\(column.name) = \(ownerKey)\(sameShard)"
                from += from.isEmpty ? "\(table.name) \(alias)" : " JOIN \(table.name) \(alias) ON \(link)"
            }
            if condition.isEmpty { condition = link }
            owner = (alias, destination)
        }
        scopes.append(QueryScope(row: owner.alias, entity: owner.entity))
        return QueryMembers(from: from, condition: condition, scope: scopes.count - 1)
    }

    /// The entity at the end of a path of to-one relationships.
    private func follows(_ path: ArraySlice<String>, in scope: Int) -> EntityDescription? {
        path.reduce(scopes[scope].entity) { entity, name in
            entity?.relationshipsByName[name].flatMap { $0.isToMany ? nil : $0.destinationEntity }
        }
    }

    /// The FROM and WHERE clauses over members. Made last, because conditions add joins.
    func clause(_ members: QueryMembers, _ condition: String? = nil) -> String {
        "FROM \(members.from)\(scopes[members.scope].joins) WHERE \(members.condition)" + (condition.map { " AND \($0)" } ?? "")
    }
}
#endif
