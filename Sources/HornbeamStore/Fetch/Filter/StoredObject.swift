internal import HornbeamEngine
internal import HornbeamModel

/// An object of a snapshot, from which the predicate evaluator reads values by key.
///
/// Valid only inside the closure that received its row.
struct StoredObject: KeyedValues {
    let reference: ObjectReference
    /// The row of the object; nil when it must be looked up.
    private let row: RowView?
    private let table: EntityTable
    private let snapshot: StoreSnapshot

    init(_ reference: ObjectReference, row: RowView?, table: EntityTable, snapshot: StoreSnapshot) {
        self.reference = reference
        self.row = row
        self.table = table
        self.snapshot = snapshot
    }

    init(_ reference: ObjectReference, snapshot: StoreSnapshot) {
        self.init(reference, row: nil, table: snapshot.schema.table(at: reference.entityIndex), snapshot: snapshot)
    }

    var evaluatedIdentity: PropertyValue? { .objectID(snapshot.reader.origins.objectID(reference)) }

    var evaluatedKeys: [String]? { table.entity.attributes.filter { !$0.isTransient }.map(\.name) }

    func evaluatedValue(forKey key: String) throws -> EvaluatedValue {
        let property = try table.entity.property(named: key)
        if property.isStoredToMany { return try members(property) }
        guard let column = table.columns[property.index] else { throw transient(property) }
        return try EngineError.translated { () throws(EngineError) in
            if let row { return try value(column, row) }
            let view = snapshot.view(table)
            return try view.withRow(reference.key) { (row) throws(EngineError) -> EvaluatedValue in
                try value(column, row)
            } ?? .value(.null)
        }
    }

    private func value(_ column: StoredColumn, _ row: RowView) throws(EngineError) -> EvaluatedValue {
        guard column.type == .reference else {
            return .value(try column.value(in: row, schema: snapshot.schema, origin: snapshot.reader.origins))
        }
        guard !row.isNull(column.column), let target = column.reference(in: row, schema: snapshot.schema) else {
            return .value(.null)
        }
        return .object(StoredObject(target, snapshot: snapshot))
    }

    private func members(_ relationship: PropertyDescription) throws -> EvaluatedValue {
        let members = try snapshot.members(of: relationship, owner: reference.key)
        return .collection(
            members.map { .object(StoredObject($0, snapshot: snapshot)) }, isOrdered: relationship.isOrdered)
    }

    private func transient(_ property: PropertyDescription) -> HornbeamError {
        HornbeamError(
            .predicateInvalid,
            "“\(property.entity.name).\(property.name)” is transient, so no store can search by it. Filter the fetched objects instead.",
            entity: property.entity.name, key: property.name)
    }
}
