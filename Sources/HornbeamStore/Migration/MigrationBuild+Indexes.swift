internal import HornbeamEngine
internal import HornbeamModel

extension MigrationBuild {
    /// Fills a constraint or a fetch index from the rows, and records objects with the same unique value.
    func build(_ step: IndexStep) throws {
        guard let index = schema.indexes.first(where: { $0.number == step.stored.number }) else { return }
        let duplicates = Duplicates()
        let sorter = EntrySorter(self, threads: threads) { [schema] (key, value, held) throws(EngineError) in
            duplicates.add(
                try UniqueKeys.holder(value, index, schema: schema), sharing: key, with: try UniqueKeys.holder(held, index, schema: schema))
        }
        for table in draft.tables where table.entity.isKind(of: index.entity) && table.rowCount > 0 && !isDerived(index, in: table.entity) {
            try collect(index, from: table, sorter, duplicates)
        }
        try sorter.finish(into: index.tree)
        take(duplicates.violations(of: index, oldID))
        try flush()
    }

    /// True for a constraint over derived attributes that the switch to the new version computes: it adds their unique keys.
    private func isDerived(_ index: ValueIndex, in entity: EntityDescription) -> Bool {
        guard index.isUnique else { return false }
        let derived = draft.derived(in: entity)
        return index.properties.contains { property in derived.contains { $0.name == property.name } }
    }

    private func collect(_ index: ValueIndex, from step: TableStep, _ sorter: EntrySorter, _ duplicates: Duplicates) throws {
        let table = schema.table(step.entity)
        let rows = try rows(step)
        let workers = sorter.parts.map { EntryCollector(index, table, schema, $0) }
        var window = RowWindow(count: rows.count, rowsMax: options.batchSize, first: 1_024, memory: sorter.bytesMax)
        while let range = window.next() {
            let before = sorter.usedBytes
            try rows.share(range, parts: window.parts(threads)) { part, leaf, slots in
                for slot in slots { try workers[part].collect(leaf.row(slot), leaf.key(slot)) }
            }
            try translated { () throws(EngineError) in
                for worker in workers { try put(worker.takeCutKeys(), index, duplicates) }
                if workers.contains(where: \.hasCutKeys) { try transaction.setValue(index.truncatedKeysName, [1]) }
                try advance("index \(index.title)", by: range.count)
            }
            window.countWritten(sorter.usedBytes - before)
            try sorter.spillIfFull()
        }
    }

    /// Puts truncated keys of a unique constraint, which are compared with those of other objects.
    private func put(
        _ entries: [(key: IndexKey, object: ObjectReference)], _ index: ValueIndex, _ duplicates: Duplicates
    ) throws(EngineError) {
        for var entry in entries {
            let holder = try UniqueKeys.claim(index, &entry.key, for: entry.object, in: transaction, schema: schema)
            if let holder { duplicates.add(entry.object, sharing: entry.key.bytes, with: holder) }
            try countWritten(bytes: entry.key.bytes.count)
        }
    }

    // MARK: Required properties

    func checkRequired() throws {
        for required in draft.required {
            guard let step = draft.tables.first(where: { $0.entity === required.entity }) else { continue }
            let missing = try objects(of: step, without: required.property)
            guard !missing.isEmpty else { continue }
            recordViolation(
                .missingRequiredValue,
                "\(missing.count) objects of \(required.entity.name) have none in “\(required.property.name)”, which is required now.",
                required.entity, required.property.name, Array(missing.prefix(Self.violationsMax)))
        }
    }

    private func objects(of step: TableStep, without property: PropertyDescription) throws -> [ObjectReference] {
        let table = schema.table(step.entity)
        let rows = try rows(step)
        let members = property.isStoredToMany ? try engine.snapshot(isPinned: true).index(schema.link(property).members) : nil
        let column = property.isStoredToMany ? nil : table.column(property)
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

/// Makes the entries of rows. Used by one thread.
private final class EntryCollector {
    private let index: ValueIndex
    private let table: EntityTable
    private let schema: Schema
    private let entries: SortedRun
    private let entityNumber: [UInt8]
    private var key = IndexKey()
    private var truncatedKeysMark: [(key: IndexKey, object: ObjectReference)] = []
    private(set) var hasCutKeys = false

    init(_ index: ValueIndex, _ table: EntityTable, _ schema: Schema, _ entries: SortedRun) {
        self.index = index
        self.table = table
        self.schema = schema
        self.entries = entries
        entityNumber = index.isPolymorphic ? EntityNumber.bytes(table.number) : []
    }

    func collect(_ row: RowView, _ objectKey: UInt64) throws(EngineError) {
        try index.fill(&key, from: row, of: table)
        if key.isExcluded || (index.isUnique && key.hasNull) { return }
        if key.isTruncated { hasCutKeys = true }
        guard index.isUnique else {
            key.append(objectKey: objectKey)
            return entries.append(key.bytes, entityNumber)
        }
        let object = ObjectReference(entityIndex: table.index, key: objectKey)
        if key.isTruncated {
            truncatedKeysMark.append((key, object))
        } else {
            entries.append(key.bytes, UniqueKeys.value(index, object, schema: schema))
        }
    }

    func takeCutKeys() -> [(key: IndexKey, object: ObjectReference)] {
        defer { truncatedKeysMark = [] }
        return truncatedKeysMark
    }
}
