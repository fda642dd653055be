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

extension PathTest {
    func holds(_ row: RowView, _ context: FilterContext) throws(EngineError) -> Bool {
        if row.isNull(column.column) { return missingResult }
        guard let target = column.reference(in: row, schema: context.schema),
            let filter = filters[Int(target.entityIndex)]
        else { return missingResult }
        context.count(rows: 1)
        let table = context.schema.table(at: target.entityIndex)
        return try context.view(target.entityIndex).withRow(target.key) { (row) throws(EngineError) -> Bool in
            try filter.holds(row, target.key, table, context)
        } ?? missingResult
    }
}

extension MembersTest {
    func holds(owner: UInt64, _ context: FilterContext) throws(EngineError) -> Bool {
        let reader = try context.reader(link)
        if case .containing(let keys) = wanted {
            for key in keys where try reader.contains(key, owner: owner) { return true }
            return false
        }
        guard let filters else {
            return isWanted(count: Int64(try reader.count(owner: owner)))
        }
        var passing: Int64 = 0
        for member in try reader.references(owner: owner) {
            let passes = try holds(member, filters, context)
            switch wanted {
            case .any where passes: return true
            case .all where !passes: return false
            default: passing += passes ? 1 : 0
            }
        }
        return isWanted(count: passing)
    }

    /// The answer once all members are counted.
    private func isWanted(count: Int64) -> Bool {
        switch wanted {
        case .any: filters == nil && count > 0
        case .all: true
        case .containing: false
        case .count(let range, let isNegated): range.contains(count) != isNegated
        }
    }

    private func holds(
        _ member: ObjectReference, _ filters: [Filter?], _ context: FilterContext
    ) throws(EngineError) -> Bool {
        guard let filter = filters[Int(member.entityIndex)] else { return false }
        context.count(rows: 1)
        let table = context.schema.table(at: member.entityIndex)
        return try context.view(member.entityIndex).withRow(member.key) { (row) throws(EngineError) -> Bool in
            try filter.holds(row, member.key, table, context)
        } ?? false
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
