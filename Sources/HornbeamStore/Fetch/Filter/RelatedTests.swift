internal import HornbeamEngine
internal import HornbeamModel

// Filters through relationships, applied to whole leaves. For the first leaves, the related rows are looked up in key order. Then all
// related rows are read once, and further leaves are tested against the resulting set.

/// A filter on the destination of a to-one.
final class PathTest: Sendable {
    let column: StoredColumn
    /// Indexed by entity index of the destination; nil for entities that cannot be a destination.
    let filters: [Filter?]
    /// The result when the to-one is null or its object is deleted: the result for nil.
    let missingResult: Bool

    init(column: StoredColumn, filters: [Filter?], missingResult: Bool) {
        self.column = column
        self.filters = filters
        self.missingResult = missingResult
    }

    var cost: Int { filters.lazy.compactMap { $0?.cost }.max() ?? 0 }

    // MARK: One row

    func holds(_ row: RowView, _ context: FilterContext) throws(EngineError) -> Bool {
        guard let target = column.reference(in: row, schema: context.schema) else { return missingResult }
        return try holds(target, context)
    }

    private func holds(_ target: ObjectReference, _ context: FilterContext) throws(EngineError) -> Bool {
        guard let filter = filters[Int(target.entityIndex)] else { return missingResult }
        context.count(rows: 1)
        let table = context.schema.table(at: target.entityIndex)
        return try context.snapshot.readRow(target.key, of: table) { (row) throws(EngineError) -> Bool in
            try filter.holds(row, target.key, table, context)
        } ?? missingResult
    }

    // MARK: A leaf

    func narrow(
        _ selection: inout Selection, _ leaf: LeafView, _ table: EntityTable, _ context: FilterContext
    ) throws(EngineError) {
        let others = try others(selection, leaf, table, context)
        let missing = missingResult
        selection.filter { slot in
            guard let target = column.reference(in: leaf.row(slot), schema: context.schema) else { return missing }
            return others.contains(target.key) != missing
        }
    }

    /// The keys of the destinations whose result differs from `missingResult`.
    private func others(
        _ selection: Selection, _ leaf: LeafView, _ table: EntityTable, _ context: FilterContext
    ) throws(EngineError) -> KeySet {
        if let known = context.keySets[ObjectIdentifier(self)] { return known }
        if context.readsAllRelatedRows(of: ObjectIdentifier(self), filters, from: table) {
            var found: [UInt64] = []
            try context.scan(filters, passing: !missingResult) { reference, _ in found.append(reference.key) }
            let set = KeySet(found)
            context.keySets[ObjectIdentifier(self)] = set
            return set
        }
        return KeySet(try matchingTargets(selection, leaf, context))
    }

    private func matchingTargets(
        _ selection: Selection, _ leaf: LeafView, _ context: FilterContext
    ) throws(EngineError) -> [UInt64] {
        var targets: [ObjectReference] = []
        _ = selection.forEach { slot in
            if let target = column.reference(in: leaf.row(slot), schema: context.schema) { targets.append(target) }
            return true
        }
        var byEntity: [Int32: [UInt64]] = [:]
        for target in ObjectSet.ascending(targets) { byEntity[target.entityIndex, default: []].append(target.key) }
        var found: [UInt64] = []
        for (entity, keys) in byEntity {
            guard let filter = filters[Int(entity)] else { continue }
            context.count(rows: keys.count)
            let table = context.schema.table(at: entity)
            try context.view(entity).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
                if try filter.holds(row, keys[position], table, context) != missingResult { found.append(keys[position]) }
                return true
            }
        }
        return found
    }
}

/// A filter on the members of a to-many: ANY, ALL, or a count.
final class MembersTest: Sendable {
    enum Condition: Sendable {
        case any
        case all
        /// True if one of these objects is a member.
        case containing(Set<UInt64>)
        /// The number of matching members is in the range or, if `isNegated`, outside it.
        case count(ClosedRange<Int64>, isNegated: Bool)
    }

    let link: LinkIndex
    /// Indexed by entity index of the members; nil means that all members match, so the number of entries decides.
    let filters: [Filter?]?
    let condition: Condition

    init(link: LinkIndex, filters: [Filter?]?, condition: Condition) {
        self.link = link
        self.filters = filters
        self.condition = condition
    }

    // MARK: One owner

    func holds(owner: UInt64, _ context: FilterContext) throws(EngineError) -> Bool {
        let reader = try context.reader(link)
        if case .containing(let keys) = condition {
            for key in keys where try reader.contains(key, owner: owner) { return true }
            return false
        }
        guard let filters else {
            return isSatisfied(count: Int64(try reader.count(owner: owner)))
        }
        var passing: Int64 = 0
        for member in try reader.references(owner: owner) {
            let passes = try context.passes(member, filters)
            switch condition {
            case .any where passes: return true
            case .all where !passes: return false
            default: passing += passes ? 1 : 0
            }
        }
        return isSatisfied(count: passing)
    }

    /// The result after all members are counted.
    private func isSatisfied(count: Int64) -> Bool {
        switch condition {
        case .any: filters == nil && count > 0
        case .all: true
        case .containing: false
        case .count(let range, let isNegated): range.contains(count) != isNegated
        }
    }

    // MARK: A leaf

    func narrow(
        _ selection: inout Selection, _ leaf: LeafView, _ table: EntityTable, _ context: FilterContext
    ) throws(EngineError) {
        if let tally = try tally(table, context) {
            return selection.filter { slot in
                let count = tally[leaf.key(slot)] ?? 0
                switch condition {
                case .any: return count > 0
                // For `all`, the members that do not match are counted.
                case .all: return count == 0
                default: return isSatisfied(count: count)
                }
            }
        }
        if filters == nil, case .count = condition, try countByWalking(&selection, leaf, context) { return }
        try selection.filter { (slot) throws(EngineError) in try holds(owner: leaf.key(slot), context) }
    }

    /// The number of matching members of each owner (for ALL, of those that do not match), from one scan of the members' rows; nil when
    /// lookups cost less.
    private func tally(_ table: EntityTable, _ context: FilterContext) throws(EngineError) -> [UInt64: Int64]? {
        let this = ObjectIdentifier(self)
        if let known = context.memberCounts[this] { return known }
        guard let filters, let inverse = context.mirroredToOne(link) else { return nil }
        if case .containing = condition { return nil }
        guard context.readsAllRelatedRows(of: this, filters, from: table) else { return nil }
        var passing = true
        if case .all = condition { passing = false }
        let tally = try context.tally(filters, by: inverse, passing: passing)
        context.memberCounts[this] = tally
        return tally
    }

    /// Counts the members of all owners of a leaf in one walk of the members index. Returns false when lookups cost less.
    private func countByWalking(
        _ selection: inout Selection, _ leaf: LeafView, _ context: FilterContext
    ) throws(EngineError) -> Bool {
        let selected = selection.selectedCount
        guard selected > 8 else { return false }
        let reader = try context.reader(link)
        let first = MemberTrees.range(ofOwner: leaf.key(0)).lower
        let range = KeyRange(from: first, to: MemberTrees.range(ofOwner: leaf.key(leaf.count - 1)).upper)
        guard try reader.members.count(in: range) <= selected * 32 else { return false }
        var counts: [UInt64: Int64] = [:]
        unsafe try reader.members.forEach(in: range) { (key, _) throws(EngineError) -> Bool in
            if key.count >= 16 { unsafe counts[KeyBytes.number(key, at: 0), default: 0] += 1 }
            return true
        }
        selection.filter { isSatisfied(count: counts[leaf.key($0)] ?? 0) }
        return true
    }
}

extension FilterContext {
    /// The to-one by whose values members can be found; nil when members do not store their owner. Also nil in the cache of a querying store: a row without
    /// entries can refer to an owner that it has no longer.
    func mirroredToOne(_ link: LinkIndex) -> PropertyDescription? { link.kind == .mirror && schema.findsByIndexes ? link.relationship.inverse : nil }

    /// True if a test through a relationship reads all related rows instead of looking up those of each leaf.
    func readsAllRelatedRows(of test: ObjectIdentifier, _ filters: [Filter?], from table: EntityTable) -> Bool {
        leavesSeen[test, default: 0] += 1
        guard leavesSeen[test, default: 0] > lookupLeavesMax else { return false }
        return canReadAllRelatedRows(filters, for: snapshot.view(table).count)
    }

    /// True if reading all rows that have a filter costs less than following a relationship from a number of objects.
    func canReadAllRelatedRows(_ filters: [Filter?], for count: Int) -> Bool {
        // The evaluator can throw. It must not be called for objects to which no row refers.
        guard !filters.contains(where: { $0?.kind == .evaluator }) else { return false }
        var rows = 0
        for table in schema.tables { if let table, filters[Int(table.index)] != nil { rows += snapshot.view(table).count } }
        return rows <= count * 8
    }

    /// Tests a related object, which can have been deleted.
    func passes(_ object: ObjectReference, _ filters: [Filter?]) throws(EngineError) -> Bool {
        guard let filter = filters[Int(object.entityIndex)] else { return false }
        count(rows: 1)
        let table = schema.table(at: object.entityIndex)
        return try snapshot.readRow(object.key, of: table) { (row) throws(EngineError) -> Bool in
            try filter.holds(row, object.key, table, self)
        } ?? false
    }

    /// The number of matching rows by the destination of a to-one or, if `passing` is false, of the rows that do not match.
    func tally(
        _ filters: [Filter?], by toOne: PropertyDescription, passing: Bool = true
    ) throws(EngineError) -> [UInt64: Int64] {
        var tally: [UInt64: Int64] = [:]
        try scan(filters, passing: passing) { reference, row in
            let column = schema.table(at: reference.entityIndex).column(toOne).column
            if !row.isNull(column) { tally[row.load(column, as: UInt64.self), default: 0] += 1 }
        }
        return tally
    }

    /// Calls `body` with every row that matches its filter or, if `passing` is false, with every row that does not match.
    func scan(
        _ filters: [Filter?], passing: Bool, _ body: (ObjectReference, RowView) -> Void
    ) throws(EngineError) {
        for case let table? in schema.tables {
            guard let filter = filters[Int(table.index)] else { continue }
            var rows = 0
            try snapshot.view(table).forEachLeaf { (leaf) throws(EngineError) -> Bool in
                rows += leaf.count
                var selection = Selection(all: leaf.count)
                try filter.narrow(&selection, leaf, table, self)
                if !passing {
                    var failing = Selection(all: leaf.count)
                    failing.subtract(selection)
                    selection = failing
                }
                return selection.forEach { slot in
                    body(ObjectReference(entityIndex: table.index, key: leaf.key(slot)), leaf.row(slot))
                    return true
                }
            }
            count(rows: rows)
        }
    }
}
