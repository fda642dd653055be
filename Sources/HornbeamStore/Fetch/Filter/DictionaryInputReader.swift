internal import Foundation
internal import HornbeamEngine
package import HornbeamModel

/// Computes for each row the expressions that a dictionary result needs: columns of the row, columns behind to-one relationships, and other
/// expressions with the evaluator.
final class DictionaryInputReader {
    /// How an input is computed for the rows of one table.
    enum Source {
        case object
        case cell(StoredColumn)
        /// To-ones, then a column of the last object. `input` is the index of the input, which is also the index of its cache.
        case path(StoredColumn, rest: [PropertyDescription], input: Int)
        case general(FetchExpression)
    }

    let context: FilterContext
    private let inputs: [FetchExpression.Node]
    /// Indexed by entity index.
    private var sources: [[Source]?]
    /// For each input, the cached values at the end of its path, keyed by the object key of the first relationship's destination.
    private var pathCaches: [[UInt64: PropertyValue]]
    /// The largest number of cached values for each input. A full cache is emptied.
    private static let cachedValuesMax = 1 << 16

    init(_ inputs: [FetchExpression.Node], _ context: FilterContext) {
        self.inputs = inputs
        self.context = context
        sources = Array(repeating: nil, count: context.schema.tables.count)
        pathCaches = Array(repeating: [:], count: inputs.count)
    }

    func sources(of table: EntityTable) -> [Source] {
        if let known = sources[Int(table.index)] { return known }
        let made = inputs.enumerated().map { source(of: $1, in: table, input: $0) }
        sources[Int(table.index)] = made
        return made
    }

    private func source(of node: FetchExpression.Node, in table: EntityTable, input: Int) -> Source {
        if node == .evaluatedObject { return .object }
        let general = Source.general(FetchExpression(node: node))
        guard case .keyPath(.evaluatedObject, let steps) = node else { return general }
        var path: [PropertyDescription] = []
        var entity: EntityDescription? = table.entity
        for step in steps {
            guard case .name(let name) = step, let property = entity?.propertiesByName[name], property.cellType != nil,
                !property.isTransient
            else { return general }
            path.append(property)
            entity = property.destinationEntity
        }
        guard let first = path.first, let column = table.columns[first.index] else { return general }
        return path.count == 1 ? .cell(column) : .path(column, rest: Array(path.dropFirst()), input: input)
    }

    // MARK: One row

    func value(
        _ source: Source, _ row: RowView, _ key: UInt64, _ table: EntityTable
    ) throws(EngineError) -> PropertyValue {
        switch source {
        case .object: return .objectID(context.snapshot.reader.origins.objectID(ObjectReference(entityIndex: table.index, key: key)))
        case .cell(let column): return try cell(column, row)
        case .path(let column, let rest, let input):
            guard let target = column.reference(in: row, schema: context.schema) else { return .null }
            if let known = pathCaches[input][target.key] { return known }
            let value = try value(at: rest[...], of: target)
            cacheValue(value, target.key, input)
            return value
        case .general(let expression):
            let object = StoredObject(
                ObjectReference(entityIndex: table.index, key: key), row: row, table: table, snapshot: context.snapshot)
            do {
                return try expression.value(with: object).propertyValue ?? .null
            } catch {
                throw context.fail(error)
            }
        }
    }

    func cell(_ column: StoredColumn, _ row: RowView) throws(EngineError) -> PropertyValue {
        try column.value(in: row, schema: context.schema, origin: context.snapshot.reader.origins)
    }

    private func cacheValue(_ value: PropertyValue, _ key: UInt64, _ input: Int) {
        if pathCaches[input].count >= Self.cachedValuesMax { pathCaches[input].removeAll(keepingCapacity: true) }
        pathCaches[input][key] = value
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

    /// Fills the cache of an input: reads the rows of `targets` in key order and follows the rest of the path from each.
    func fillPathCache(_ targets: [ObjectReference], _ rest: [PropertyDescription], _ input: Int) throws(EngineError) {
        let unknown = ObjectSet.ascending(targets).filter { pathCaches[input][$0.key] == nil }
        var byEntity: [Int32: [UInt64]] = [:]
        for target in unknown { byEntity[target.entityIndex, default: []].append(target.key) }
        for (entity, keys) in byEntity {
            let table = context.schema.table(at: entity)
            context.count(rows: keys.count)
            try context.view(entity).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
                cacheValue(try value(at: rest[...], rest[0], row, table), keys[position], input)
                return true
            }
        }
    }
}

extension StoreSnapshot {
    /// Computes the inputs of a program for each object, in the order of `objects`.
    package func inputs(
        of program: DictionaryProgram, for objects: [ObjectReference]
    ) throws -> [[PropertyValue]] {
        let context = FilterContext(self)
        let reader = DictionaryInputReader(program.inputs, context)
        var rows = [[PropertyValue]](repeating: [], count: objects.count)
        try context.run { () throws(EngineError) in
            for start in stride(from: 0, to: objects.count, by: 4096) {
                let places = Array(start ..< min(start + 4096, objects.count)).sorted { objects[$0].key < objects[$1].key }
                var byEntity: [Int32: [Int]] = [:]
                for place in places { byEntity[objects[place].entityIndex, default: []].append(place) }
                for (entity, places) in byEntity {
                    try read(places, of: objects, schema.table(at: entity), reader) { rows[$0] = $1 }
                }
            }
        }
        return rows
    }

    /// Computes the inputs for rows of one table. `places` are indexes into `objects`, sorted by object key.
    private func read(
        _ places: [Int], of objects: [ObjectReference], _ table: EntityTable, _ reader: DictionaryInputReader,
        _ body: (Int, [PropertyValue]) -> Void
    ) throws(EngineError) {
        let keys = places.map { objects[$0].key }
        let sources = reader.sources(of: table)
        for case .path(let column, let rest, let input) in sources {
            var targets: [ObjectReference] = []
            try view(table).forEachRow(keys) { (_, row, _) throws(EngineError) -> Bool in
                if let target = column.reference(in: row, schema: schema) { targets.append(target) }
                return true
            }
            try reader.fillPathCache(targets, rest, input)
        }
        try view(table).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
            var values: [PropertyValue] = []
            values.reserveCapacity(sources.count)
            for source in sources { values.append(try reader.value(source, row, keys[position], table)) }
            body(places[position], values)
            return true
        }
    }
}
