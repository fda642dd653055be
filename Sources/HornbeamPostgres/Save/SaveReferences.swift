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

    init(_ changes: CustomStoreChanges, _ layout: StoreLayout) throws {
        self.layout = layout
        let referring = changes.inserted.filter { !$0.destinations.isEmpty } + changes.updated.filter { !$0.destinations.isEmpty }
        if referring.isEmpty { return }
        let own = Set(changes.inserted.map(\.object)).union(changes.versions.keys)
        var found: Set<CustomStoreKey> = []
        for row in referring {
            let entity = try layout.model.entity(named: row.object.entityName)
            for (name, destination) in row.destinations where !own.contains(destination) {
                if let property = entity.relationshipsByName[name], Self.isChecked(property) { found.insert(destination) }
            }
        }
        destinations = found.sorted { $0.key < $1.key }
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
