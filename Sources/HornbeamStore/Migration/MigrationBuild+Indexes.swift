internal import HornbeamEngine
internal import HornbeamModel

extension MigrationBuild {
    /// Fills a constraint or a fetch index from the rows, and records objects with the same unique value.
    func build(_ step: IndexStep) throws {
        guard let index = schema.indexes.first(where: { $0.number == step.stored.number }) else { return }
        var duplicates = Duplicates()
        for table in draft.tables where table.entity.isKind(of: index.entity) && table.rowCount > 0 {
            try fill(index, from: table, &duplicates)
        }
        for group in duplicates.groups {
            recordViolation(
                .constraintValidation,
                "\(group.count) objects have the same value for the new constraint \(index.title), which must be unique.",
                index.entity, index.elements[0].name, group)
        }
        try flush()
    }

    private func fill(_ index: ValueIndex, from step: TableStep, _ duplicates: inout Duplicates) throws {
        let table = schema.table(step.entity)
        let rows = try rows(step)
        var key = IndexKey()
        var entries = SortedEntries()
        var found = duplicates
        try translated { () throws(EngineError) in
            try rows.forEachLeaf { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count {
                    try index.fill(&key, from: leaf.row(slot), of: table)
                    if key.isExcluded || (index.isUnique && key.hasNull) { continue }
                    let object = ObjectReference(entityIndex: table.index, key: leaf.key(slot))
                    if key.isTruncated { try transaction.setValue(index.truncatedKeysName, [1]) }
                    if key.isTruncated && index.isUnique {
                        let holder = try UniqueKeys.claim(index, &key, for: object, in: transaction, schema: schema)
                        if let holder { found.add(object, sharing: key.bytes, with: holder) }
                        continue
                    }
                    let value = index.isUnique ? UniqueKeys.value(index, object, schema: schema)
                        : index.isPolymorphic ? EntityNumber.bytes(table.number) : []
                    if !index.isUnique { key.append(objectKey: object.key) }
                    entries.append(key.bytes, value)
                }
                if entries.count >= options.batchSize { try write(&entries, index, &found) }
                try advance("index \(index.title)", by: leaf.count)
                return true
            }
            try write(&entries, index, &found)
        }
        duplicates = found
    }

    private func write(_ entries: inout SortedEntries, _ index: ValueIndex, _ found: inout Duplicates) throws(EngineError) {
        var rivals: [(key: [UInt8], object: ObjectReference, holder: ObjectReference)] = []
        try entries.write(to: index.tree, in: transaction) { (key, value) throws(EngineError) in
            guard let held = try transaction.index(index.tree).get(key) else { return }
            rivals.append(
                (key, try UniqueKeys.holder(value, index, schema: schema), try UniqueKeys.holder(held, index, schema: schema)))
        }
        for rival in rivals { found.add(rival.object, sharing: rival.key, with: rival.holder) }
        try flush()
    }

    // MARK: Required relationships

    func checkRequired() throws {
        for link in draft.required {
            guard let step = draft.tables.first(where: { $0.entity === link.entity }) else { continue }
            let missing = try objects(of: step, without: link.relationship)
            guard !missing.isEmpty else { continue }
            recordViolation(
                .missingRequiredValue,
                "\(missing.count) objects of \(link.entity.name) have none in “\(link.relationship.name)”, which is required now.",
                link.entity, link.relationship.name, Array(missing.prefix(Self.violationsMax)))
        }
    }

    private func objects(of step: TableStep, without relationship: PropertyDescription) throws -> [ObjectReference] {
        let table = schema.table(step.entity)
        let rows = try rows(step)
        let members = relationship.isToMany ? try engine.snapshot().index(schema.link(relationship).members) : nil
        let column = relationship.isToMany ? nil : table.column(relationship)
        var missing: [ObjectReference] = []
        try translated { () throws(EngineError) in
            try rows.forEachLeaf { (leaf) throws(EngineError) -> Bool in
                for slot in 0 ..< leaf.count {
                    let key = leaf.key(slot)
                    let isEmpty = if let members {
                        try members.count(in: MemberTrees.range(ofOwner: key)) == 0
                    } else {
                        column.map { leaf.row(slot).isNull($0.column) } ?? false
                    }
                    if isEmpty { missing.append(ObjectReference(entityIndex: table.index, key: key)) }
                }
                return true
            }
        }
        return missing
    }
}

/// The objects with the same unique value, one group for each value.
private struct Duplicates {
    private var order: [[UInt8]] = []
    private var objects: [[UInt8]: [ObjectReference]] = [:]

    var groups: [[ObjectReference]] { order.map { objects[$0]?.sorted() ?? [] } }

    mutating func add(_ object: ObjectReference, sharing key: [UInt8], with holder: ObjectReference) {
        if objects[key] == nil {
            guard order.count < MigrationBuild.violationsMax else { return }
            order.append(key)
            objects[key] = [holder]
        }
        objects[key]?.append(object)
    }
}
