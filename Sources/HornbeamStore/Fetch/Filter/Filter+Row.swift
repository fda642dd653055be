internal import HornbeamEngine
internal import HornbeamModel

/// Filters on one row.
extension Filter {
    func holds(
        _ row: RowView, _ key: UInt64, _ table: EntityTable, _ context: FilterContext
    ) throws(EngineError) -> Bool {
        switch self {
        case .constant(let result): return result
        case .range(let test): return test.holds(row)
        case .flag(let test): return test.holds(row)
        case .null(let test): return test.holds(row)
        case .reference(let test): return test.holds(row)
        case .numbers(let test): return test.holds(row)
        case .text(let test): return try test.holds(row, context)
        case .texts(let test): return try test.holds(row)
        case .bytes(let test): return try test.holds(row)
        case .keys(let keys): return keys.contains(key)
        case .path(let test): return try test.holds(row, context)
        case .members(let test): return try test.holds(owner: key, context)
        case .and(let filters):
            for filter in filters where try !filter.holds(row, key, table, context) { return false }
            return true
        case .or(let filters):
            for filter in filters where try filter.holds(row, key, table, context) { return true }
            return false
        case .not(let filter): return try !filter.holds(row, key, table, context)
        case .general(let test): return try test.holds(row, key, table, context)
        }
    }
}

extension GeneralTest {
    func holds(
        _ row: RowView, _ key: UInt64, _ table: EntityTable, _ context: FilterContext
    ) throws(EngineError) -> Bool {
        let object = StoredObject(
            ObjectReference(entityIndex: table.index, key: key), row: row, table: table, snapshot: context.snapshot)
        do {
            return try predicate.evaluate(with: object)
        } catch {
            throw context.fail(error)
        }
    }
}
