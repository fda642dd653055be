internal import HornbeamEngine
package import HornbeamModel

/// Makes the dictionaries of requests of a shape from the rows of a direct fetch, without an execution, a sink and the tables for groups of many rows.
///
/// A context keeps it like the direct fetch.
package final class DirectDictionaries {
    private let program: DictionaryProgram
    private let objects: DirectFetch
    private let table: EntityTable
    private let reader: DictionaryInputReader
    private let inputPrograms: [ColumnProgram]
    private let convertsColumns: Bool
    // A request changes them and calls nothing that could use them meanwhile, so the check of exclusive access is omitted, as in `DirectFetch`. Between
    // requests they hold no values of rows, which a context should not retain.

    /// The totals of a fetch whose only result they are; empty for others.
    @safe @exclusivity(unchecked) private var accumulators: [AggregateAccumulator]
    /// The inputs of an object, or the totals.
    @safe @exclusivity(unchecked) private var values: [PropertyValue] = []

    /// Nil for columns that read other rows than those of the results. The program satisfies `canServe`.
    init?(_ objects: DirectFetch, _ program: DictionaryProgram, in snapshot: StoreSnapshot) {
        table = snapshot.schema.table(at: objects.entityIndex)
        reader = DictionaryInputReader(program.inputs, FilterContext(snapshot))
        inputPrograms = reader.programs(of: table).programs
        guard inputPrograms.allSatisfy(\.readsOnlyItsRow) else { return nil }
        accumulators = program.hasOnlyTotals ? program.totals.map { AggregateAccumulator($0.function, isDistinct: $0.isDistinct) } : []
        convertsColumns = program.convertsColumns
        self.program = program
        self.objects = objects
    }

    /// False for a program that sorts plain dictionaries or removes equal ones.
    static func canServe(_ program: DictionaryProgram) -> Bool { program.isGrouped || !program.windowAppliesToDictionaries }

    /// The places of the values in a row, by the name of their column.
    package var places: [String: Int] { program.places }

    /// The dictionaries, and the number of rows read; nil if the request must be planned.
    package func dictionaries(of request: FetchDescription) throws -> (results: [[String: PropertyValue]], rowsRead: Int)? {
        try results(of: request) { values in program.places.mapValues { values[$0] } }
    }

    /// The values of the dictionaries by column, and the number of rows read; nil if the request must be planned.
    package func rows(of request: FetchDescription) throws -> (results: [[PropertyValue]], rowsRead: Int)? { try results(of: request) { $0 } }

    private func results<Result>(of request: FetchDescription, _ make: ([PropertyValue]) -> Result) throws -> (results: [Result], rowsRead: Int)? {
        let selectsObjects = !program.isGrouped || (request.window.isWhole && request.sortDescriptors.isEmpty)
        guard let found = try objects.find(selectsObjects ? request : program.objects(of: request)) else { return nil }
        defer { values.removeAll(keepingCapacity: true) }
        guard program.isGrouped else { return (try plain(found.keys, make), found.rowsRead) }
        // Without an order and a limit, the plan is a search for one value, whose entries are in the order of the keys.
        assert(zip(found.keys, found.keys.dropFirst()).allSatisfy(<), "Sums are rounded as in the general path, which adds rows in the order of their keys.")
        let results = try program.hasOnlyTotals ? [make(totals(found.keys))] : groups(found.keys).map(make)
        // A search without further conditions reads no rows.
        return (results, max(found.rowsRead, found.keys.count))
    }

    // MARK: The forms of results

    private func plain<Result>(_ keys: [UInt64], _ make: ([PropertyValue]) -> Result) throws -> [Result] {
        var results: [Result] = []
        results.reserveCapacity(keys.count)
        try forEachObject(keys) { _, hasRow in
            // In a damaged store an index can name an object without a row.
            if !hasRow { values = Array(repeating: .null, count: inputPrograms.count) }
            results.append(make(try convertsColumns ? program.row(ofInputs: values) : values))
        }
        return results
    }

    private func groups(_ keys: [UInt64]) throws -> [[PropertyValue]] {
        var groups = GroupTable(program)
        try forEachObject(keys) { key, hasRow in if hasRow { groups.add(values, object: key) } }
        return try groups.rows()
    }

    private func totals(_ keys: [UInt64]) throws -> [PropertyValue] {
        defer { for place in accumulators.indices { accumulators[place].removeAll() } }
        try forEachObject(keys) { _, hasRow in
            guard hasRow else { return }
            for (place, total) in program.totals.enumerated() { accumulators[place].add(values[total.input]) }
        }
        values.removeAll(keepingCapacity: true)
        for place in accumulators.indices { values.append(accumulators[place].result) }
        return try program.row(ofTotals: values)
    }

    /// Calls `body` with the key of each object, and whether it has a row, whose inputs are then in `values`.
    private func forEachObject(_ keys: [UInt64], _ body: (UInt64, Bool) throws -> Void) throws {
        let cells = reader.context.snapshot.cells(table)
        var location = RowLocation()
        for key in keys {
            values.removeAll(keepingCapacity: true)
            let hasRow = try EngineError.translated { () throws(EngineError) in
                try cells.readRow(key, at: &location) { (row) throws(EngineError) in
                    for program in inputPrograms { values.append(try reader.value(program, row, key, table)) }
                }
            }
            try body(key, hasRow)
        }
    }
}

extension ColumnProgram {
    /// True if the program reads no other rows than the one for which it computes a value, and keeps no values of other rows.
    fileprivate var readsOnlyItsRow: Bool {
        switch self {
        case .object, .constant, .cell, .length: true
        case .function(_, let arguments): arguments.allSatisfy(\.readsOnlyItsRow)
        case .path, .memberCount, .memberTotal, .general: false
        }
    }
}
