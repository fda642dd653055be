internal import HornbeamModel

// Derived attributes of a querying store's objects are computed in the cache. Before the cache takes a row whose derived attributes read other objects, it
// needs all of these, such as all members of a relationship that is counted.

extension Store {
    /// Runs reads of a querying store from one state if its rows can have derived attributes, which read other rows.
    func readingDerivationSources<Result>(_ body: () throws -> Result) throws -> Result {
        guard let backing, !schema.derivations.isEmpty else { return try body() }
        return try backing.readingOneState(body)
    }

    /// The rows, with those from which the derived attributes of rows with new versions are computed.
    func withDerivationSources(_ rows: [CustomStoreRow]) throws -> [CustomStoreRow] {
        guard let backing, let querying = backing.querying, !schema.derivations.isEmpty else { return rows }
        var all = rows
        var visited: Set<UInt64> = []
        var next = backing.unknown(rows)
        while !next.isEmpty {
            let added = next.filter { visited.insert($0.object.key).inserted }
            next = []
            for (name, rows) in Dictionary(grouping: added, by: \.object.entityName).sorted(by: { $0.key < $1.key }) {
                for path in Self.relationshipPaths(of: try model.entity(named: name)) { next += try related(to: rows, along: path, querying) }
            }
            all += next
            next = backing.unknown(next).filter { !visited.contains($0.object.key) }
        }
        return all
    }

    /// The relationships through which derived attributes of an entity read other objects.
    private static func relationshipPaths(of entity: EntityDescription) -> [[String]] {
        var paths: Set<[String]> = []
        for property in entity.properties where property.isDerived {
            var path: [String] = []
            var current: EntityDescription? = entity
            for name in property.derivation?.path ?? [] {
                guard let relationship = current?.relationshipsByName[name], !relationship.isTransient else { break }
                path.append(name)
                current = relationship.destinationEntity
            }
            if !path.isEmpty { paths.insert(path) }
        }
        return paths.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func related(to start: [CustomStoreRow], along path: [String], _ querying: any QueryingStore) throws -> [CustomStoreRow] {
        var found: [CustomStoreRow] = []
        var level = start
        for name in path {
            var next: [CustomStoreRow] = []
            for (entityName, rows) in Dictionary(grouping: level, by: \.object.entityName).sorted(by: { $0.key < $1.key }) {
                guard let property = try model.entity(named: entityName).relationshipsByName[name] else { continue }
                if property.isToMany {
                    next += try querying.members(of: rows.map(\.object), relationship: name)
                } else {
                    let destinations = Set(rows.compactMap { $0.destinations[name] })
                    if !destinations.isEmpty { next += try querying.rows(for: .objects(destinations.sorted { $0.key < $1.key })) }
                }
            }
            found += next
            level = next
        }
        return found
    }
}
