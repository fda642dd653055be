#if Postgres
internal import HornbeamModel

/// The objects to which a save refers, and the columns that may refer to the objects that it deletes.
///
/// Only relationships whose inverse has a delete rule that removes references are checked. As in Hornbeam's own stores, others may refer to objects that do
/// not exist.
struct SaveReferences {
    /// Objects that are not written by the save, without duplicates.
    private(set) var destinations: [CustomStoreKey] = []
    private let layout: StoreLayout

    /// - Parameter inserted: The new objects.
    init(_ changes: CustomStoreChanges, inserted: [CustomStoreTable], _ layout: StoreLayout) throws {
        self.layout = layout
        var found = Self.destinations(of: inserted)
        for row in changes.updated where !row.destinations.isEmpty {
            let entity = try layout.model.entity(named: row.object.entityName)
            for (name, destination) in row.destinations {
                if let property = entity.relationshipsByName[name], Self.isChecked(property) { found.insert(destination) }
            }
        }
        if found.isEmpty { return }
        found.subtract(changes.versions.keys)
        let names = Set(found.map(\.entityName))
        for table in inserted where names.contains(table.entity.name) { found.subtract(table.keys.lazy.map { CustomStoreKey(table.entity.name, $0) }) }
        destinations = found.sorted { $0.key < $1.key }
    }

    private static func destinations(of tables: [CustomStoreTable]) -> Set<CustomStoreKey> {
        var found: Set<CustomStoreKey> = []
        for table in tables {
            let toOnes = table.properties.enumerated().filter { $0.element.isRelationship }
            for (number, toOne) in toOnes.enumerated() where isChecked(toOne.element) {
                var last: UInt64?
                for row in 0 ..< table.count {
                    let key = table.values[row * table.properties.count + toOne.offset].bits
                    guard let entity = table.destination(row * table.destinationCount + number), last != key else { continue }
                    // Consecutive objects often have the same destination. Keys are unique within the tables of a relationship.
                    last = key
                    found.insert(CustomStoreKey(entity.name, key))
                }
            }
        }
        return found
    }

    private static func isChecked(_ relationship: PropertyDescription) -> Bool {
        relationship.inverse.map { $0.deleteRule != .noAction } ?? false
    }

    /// Statements that find objects outside the save that refer to deleted objects.
    ///
    /// - Parameter shardTest: A further condition on the rows of a table.
    func referring(toDeleted changes: CustomStoreChanges, _ shardTest: (TableLayout, inout [String?]) -> String) -> [Statement] {
        if changes.deleted.isEmpty { return [] }
        // Keys are unique within a table.
        let deleted = layout.keysByTable(changes.deleted)
        let own = layout.keysByTable(changes.deleted + changes.updated.map(\.object))
        return layout.tables.flatMap { table in
            table.columns.compactMap { column in
                guard column.property.isRelationship, Self.isChecked(column.property),
                    let destination = try? layout.table(of: column.property.destinationEntity?.name ?? ""), let keys = deleted[destination.name]
                else { return nil }
                var parameters: [String?] = [SQLText.array(keys: keys), SQLText.array(keys: own[table.name] ?? [])]
                let test = shardTest(table, &parameters)
                return Statement(
                    """
                    SELECT \(table.id), \(table.entity()) FROM \(table.name) WHERE \(column.name) = ANY($1::bigint[]) \
                    AND NOT \(table.id) = ANY($2::bigint[])\(test) LIMIT \(Self.reportedMax)
                    """, parameters)
            }
        }
    }

    /// The largest number of objects of one relationship that an error names.
    private static let reportedMax = 100
}
#endif
