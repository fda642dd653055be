internal import HornbeamEngine
internal import HornbeamModel

/// Finds the values of one table that break the limits, patterns and rules of the model, which a save would refuse.
struct ValueCheck {
    private let table: EntityTable
    private let reader: RowReader
    private let columns: [(property: PropertyDescription, column: StoredColumn)]
    /// By property and kind of error: the first error, and the objects.
    private var found: [Fault: (error: HornbeamError, objects: [ObjectReference], count: Int)] = [:]

    private struct Fault: Hashable {
        let key: String
        let code: HornbeamError.Code
    }

    init(_ table: EntityTable, _ reader: RowReader) {
        self.table = table
        self.reader = reader
        columns = table.entity.attributes.filter { !$0.isTransient && !$0.isDerived && $0.limitsValues }.map { ($0, table.column($0)) }
    }

    mutating func run(over rows: TableView) throws(EngineError) {
        guard !columns.isEmpty else { return }
        var check = self
        try rows.forEachLeaf { (leaf) throws(EngineError) -> Bool in
            for slot in 0 ..< leaf.count {
                for (property, column) in check.columns where !leaf.row(slot).isNull(column.column) {
                    let value = try column.value(in: leaf.row(slot), schema: reader.schema, origin: reader.origins)
                    for error in property.errors(for: value) { check.add(error, property, leaf.key(slot)) }
                }
            }
            return true
        }
        self = check
    }

    private mutating func add(_ error: HornbeamError, _ property: PropertyDescription, _ key: UInt64) {
        var entry = found[Fault(key: property.name, code: error.code)] ?? (error, [], 0)
        entry.count += 1
        if entry.objects.count < MigrationBuild.violationsMax { entry.objects.append(ObjectReference(entityIndex: table.index, key: key)) }
        found[Fault(key: property.name, code: error.code)] = entry
    }

    /// One error for each property and kind of fault, with its objects.
    func violations(_ objectID: (ObjectReference) -> ManagedObjectID) -> [HornbeamError] {
        found.sorted { ($0.key.key, $0.key.code.rawValue) < ($1.key.key, $1.key.code.rawValue) }.map { fault, entry in
            HornbeamError(
                fault.code,
                "\(entry.count) objects of \(table.entity.name) have a value in “\(fault.key)” that breaks a rule of the new model: "
                    + entry.error.message,
                entity: table.entity.name, key: fault.key, objectIDs: entry.objects.map(objectID))
        }
    }
}
