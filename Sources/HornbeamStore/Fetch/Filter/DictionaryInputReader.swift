internal import HornbeamEngine
package import HornbeamModel

/// Computes for each row the expressions that a dictionary result needs, with programs compiled for the row's table.
final class DictionaryInputReader {
    let context: FilterContext
    private let inputs: [FetchExpression.Node]
    /// Indexed by entity index.
    private var programs: [ColumnPrograms?]
    /// The indexes of the caches, by path.
    private var caches: [FetchExpression.Node: Int] = [:]
    /// For each path, the cached values at its end, keyed by the object key of the first relationship's destination.
    private var pathCaches: [[UInt64: PropertyValue]] = []
    /// The largest number of cached values for each path. A full cache is emptied.
    private static let cachedValuesMax = 1 << 16

    init(_ inputs: [FetchExpression.Node], _ context: FilterContext) {
        self.inputs = inputs
        self.context = context
        programs = Array(repeating: nil, count: context.schema.tables.count)
    }

    func programs(of table: EntityTable) -> ColumnPrograms {
        if let known = programs[Int(table.index)] { return known }
        let compiler = ColumnProgramCompiler(reader: context.snapshot.reader, table: table) { self.cache(of: $0) }
        let made = ColumnPrograms(inputs.map(compiler.compile))
        programs[Int(table.index)] = made
        return made
    }

    private func cache(of path: FetchExpression.Node) -> Int {
        if let known = caches[path] { return known }
        caches[path] = pathCaches.count
        pathCaches.append([:])
        return pathCaches.count - 1
    }

    // MARK: One row

    func value(
        _ program: ColumnProgram, _ row: RowView, _ key: UInt64, _ table: EntityTable
    ) throws(EngineError) -> PropertyValue {
        switch program {
        case .object: return .objectID(context.snapshot.reader.origins.objectID(ObjectReference(entityIndex: table.index, key: key)))
        case .constant(let value): return value
        case .cell(let column): return try cell(column, row)
        case .path(let column, let rest, let cache):
            guard let target = column.reference(in: row, schema: context.schema) else { return .null }
            if let known = pathCaches[cache][target.key] { return known }
            let value = try value(at: rest[...], of: target)
            cacheValue(value, target.key, cache)
            return value
        case .length(let column):
            if row.isNull(column.column) { return .null }
            return .int(try length(column, row))
        case .memberCount(let counter): return .int(try counter.count(owner: key, context))
        case .memberTotal(let operation, let attribute, let link): return try total(operation, of: attribute, link, owner: key)
        case .function(let function, let arguments):
            var values: [EvaluatedValue] = []
            values.reserveCapacity(arguments.count)
            for argument in arguments { values.append(.value(try value(argument, row, key, table))) }
            return function.result(values).propertyValue ?? .null
        case .general(let expression): return try evaluated(expression, row, key, table)
        }
    }

    private func length(_ column: StoredColumn, _ row: RowView) throws(EngineError) -> Int64 {
        unsafe try row.withBytes(column.column) { bytes throws(EngineError) in unsafe Self.utf16Count(bytes) }
    }

    /// The total of an attribute of the members of an owner.
    private func total(
        _ operation: FetchExpression.CollectionOperator, of attribute: PropertyDescription, _ link: LinkIndex, owner: UInt64
    ) throws(EngineError) -> PropertyValue {
        let members = try context.reader(link).references(owner: owner)
        var values: [PropertyValue] = []
        values.reserveCapacity(members.count)
        if let entity = members.first?.entityIndex, members.allSatisfy({ $0.entityIndex == entity }),
            let column = context.schema.table(at: entity).columns[attribute.index] {
            context.count(rows: members.count)
            try context.view(entity).forEachRow(members.map(\.key)) { (_, row, _) throws(EngineError) -> Bool in
                values.append(try cell(column, row))
                return true
            }
        } else {
            for member in members { values.append(try value(at: [attribute], of: member)) }
        }
        return operation.total(values.filter { $0 != .null }) ?? .null
    }

    /// A whole number, a Boolean or a reference as bits that are equal if and only if the values are equal; nil for programs with other values.
    func number(_ program: ColumnProgram, _ row: RowView, _ key: UInt64) throws(EngineError) -> (bits: UInt64, isNull: Bool)? {
        switch program {
        case .cell(let column):
            guard let width = column.type.cellWidth else { return nil }
            return row.isNull(column.column) ? (0, true) : (column.bits(in: row, width), false)
        case .length(let column): return row.isNull(column.column) ? (0, true) : (UInt64(bitPattern: try length(column, row)), false)
        case .memberCount(let counter): return (UInt64(bitPattern: try counter.count(owner: key, context)), false)
        case .object, .constant, .path, .memberTotal, .function, .general: return nil
        }
    }

    private func evaluated(
        _ expression: FetchExpression, _ row: RowView, _ key: UInt64, _ table: EntityTable
    ) throws(EngineError) -> PropertyValue {
        let object = StoredObject(
            ObjectReference(entityIndex: table.index, key: key), row: row, table: table, snapshot: context.snapshot)
        do {
            return try expression.value(with: object).propertyValue ?? .null
        } catch {
            throw context.fail(error)
        }
    }

    /// The number of UTF-16 code units of a text in UTF-8: one for each scalar, and a second for scalars of four bytes.
    private static func utf16Count(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        var start = 0
        // Eight ASCII characters at a time.
        while start + 8 <= bytes.count, unsafe bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 { start += 8 }
        var count = start
        for place in start..<bytes.count {
            let byte = unsafe bytes[place]
            count += (byte & 0xC0 != 0x80 ? 1 : 0) + (byte >= 0xF0 ? 1 : 0)
        }
        return Int64(count)
    }

    /// The number at the end of a path from an object, as `number` returns it; nil if the path ends with another value.
    func number(atEndOf path: [PropertyDescription], of object: ObjectReference) throws(EngineError) -> (bits: UInt64, isNull: Bool)? {
        guard let width = path.last?.cellType?.cellWidth else { return nil }
        var object = object
        for property in path.dropLast() {
            guard let column = context.schema.table(at: object.entityIndex).columns[property.index] else { return (0, true) }
            let next = try readRelated(object) { column.reference(in: $0, schema: context.schema) } ?? nil
            guard let next else { return (0, true) }
            object = next
        }
        guard let column = context.schema.table(at: object.entityIndex).columns[path[path.count - 1].index] else { return (0, true) }
        return try readRelated(object) { $0.isNull(column.column) ? (0, true) : (column.bits(in: $0, width), false) } ?? (0, true)
    }

    @inline(__always)
    private func readRelated<R>(_ object: ObjectReference, _ body: (RowView) -> R) throws(EngineError) -> R? {
        context.count(rows: 1)
        var result: R?
        var location = RowLocation()
        _ = try context.snapshot.cells(context.schema.table(at: object.entityIndex)).readRow(object.key, at: &location) { row in result = body(row) }
        return result
    }

    func cell(_ column: StoredColumn, _ row: RowView) throws(EngineError) -> PropertyValue {
        try column.value(in: row, schema: context.schema, origin: context.snapshot.reader.origins)
    }

    private func cacheValue(_ value: PropertyValue, _ key: UInt64, _ cache: Int) {
        if pathCaches[cache].count >= Self.cachedValuesMax { pathCaches[cache].removeAll(keepingCapacity: true) }
        pathCaches[cache][key] = value
    }

    private func value(
        at path: ArraySlice<PropertyDescription>, of object: ObjectReference
    ) throws(EngineError) -> PropertyValue {
        guard let property = path.first else { return .null }
        context.count(rows: 1)
        let table = context.schema.table(at: object.entityIndex)
        return try context.view(object.entityIndex).withRow(object.key) { (row) throws(EngineError) -> PropertyValue in
            try value(at: path, property, row, table)
        } ?? .null
    }

    private func value(
        at path: ArraySlice<PropertyDescription>, _ property: PropertyDescription, _ row: RowView, _ table: EntityTable
    ) throws(EngineError) -> PropertyValue {
        guard let column = table.columns[property.index] else { return .null }
        if path.count == 1 { return try cell(column, row) }
        guard let next = column.reference(in: row, schema: context.schema) else { return .null }
        return try value(at: path.dropFirst(), of: next)
    }

    // MARK: Many rows

    /// Reads the related objects of several rows, in key order.
    func prepare(_ rows: RowBatch, expecting expected: Int, _ programs: ColumnPrograms) throws(EngineError) {
        if case .row = rows { return }
        guard !programs.paths.isEmpty || !programs.counters.isEmpty else { return }
        var keys: [UInt64] = []
        try rows.forEach { (row) throws(EngineError) in keys.append(row.key) }
        try prepare(keys, expecting: expected, programs) { body throws(EngineError) in
            try rows.forEach { (row) throws(EngineError) in body(row) }
        }
    }

    /// Reads the related objects of rows at once: the values at the ends of paths, and the numbers of members.
    ///
    /// - Parameters:
    ///   - keys: The keys of the rows, ascending.
    ///   - expected: The number of rows for which the caller will compute values in total, if it is known.
    ///   - forEachRow: Passes each row to its argument.
    func prepare(
        _ keys: [UInt64], expecting expected: Int, _ programs: ColumnPrograms,
        forEachRow: ((RowView) -> Void) throws(EngineError) -> Void
    ) throws(EngineError) {
        for (column, rest, cache) in programs.paths {
            var targets: [ObjectReference] = []
            try forEachRow { row in
                if let target = column.reference(in: row, schema: context.schema) { targets.append(target) }
            }
            try fillPathCache(targets, rest, cache)
        }
        for counter in programs.counters { try counter.fill(keys, expecting: expected, context) }
    }

    /// Fills the cache of a path: reads the rows of `targets` in key order and follows the rest of the path from each.
    private func fillPathCache(_ targets: [ObjectReference], _ rest: [PropertyDescription], _ cache: Int) throws(EngineError) {
        let unknown = ObjectSet.ascending(targets).filter { pathCaches[cache][$0.key] == nil }
        var byEntity: [Int32: [UInt64]] = [:]
        for target in unknown { byEntity[target.entityIndex, default: []].append(target.key) }
        for (entity, keys) in byEntity {
            let table = context.schema.table(at: entity)
            context.count(rows: keys.count)
            try context.view(entity).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
                cacheValue(try value(at: rest[...], rest[0], row, table), keys[position], cache)
                return true
            }
        }
    }
}

extension StoreSnapshot {
    /// The values of expressions for objects: for each expression its values in the order of `objects`.
    package func columns(
        _ inputs: [FetchExpression.Node], of objects: [ObjectReference]
    ) throws -> [[PropertyValue]] {
        let context = FilterContext(self)
        let reader = DictionaryInputReader(inputs, context)
        var columns = inputs.map { _ in [PropertyValue](repeating: .null, count: objects.count) }
        try context.run { () throws(EngineError) in
            for start in stride(from: 0, to: objects.count, by: 4096) {
                let places = Array(start ..< min(start + 4096, objects.count)).sorted { objects[$0].key < objects[$1].key }
                var byEntity: [Int32: [Int]] = [:]
                for place in places { byEntity[objects[place].entityIndex, default: []].append(place) }
                for (entity, places) in byEntity {
                    try read(places, of: objects, schema.table(at: entity), reader, into: &columns)
                }
            }
        }
        return columns
    }

    /// Computes the columns for rows of one table. `places` are indexes into `objects`, sorted by object key.
    private func read(
        _ places: [Int], of objects: [ObjectReference], _ table: EntityTable, _ reader: DictionaryInputReader,
        into columns: inout [[PropertyValue]]
    ) throws(EngineError) {
        let keys = places.map { objects[$0].key }
        let view = view(table)
        let programs = reader.programs(of: table)
        try reader.prepare(keys, expecting: objects.count, programs) { body throws(EngineError) in
            try view.forEachRow(keys) { (_, row, _) throws(EngineError) -> Bool in
                body(row)
                return true
            }
        }
        try view.forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
            for (input, program) in programs.programs.enumerated() {
                columns[input][places[position]] = try reader.value(program, row, keys[position], table)
            }
            return true
        }
    }
}
