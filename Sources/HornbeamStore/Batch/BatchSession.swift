internal import HornbeamEngine
internal import HornbeamModel

/// One transaction of a batch. It collects index entries and writes them in key order, so that a leaf changes once for many entries.
final class BatchSession {
    /// The bytes of entries of one index that are collected before they are written. Each time, most leaves of a large index are changed.
    private let runBytesMax: Int
    /// The number of rows after which the memory of the collected entries is compared with its limit.
    private static let rowsBetweenChecks = 64
    @safe @exclusivity(unchecked) private var rowsSinceCheck = 0

    let transaction: WriteTransaction
    let row: RowBuffer
    private let store: Store
    private let table: EntityTable
    private let publishesChanges: Bool
    private let thread = BatchThread.current
    // Unchecked for the reason given in `BatchWriter`.
    @safe @exclusivity(unchecked) private var keys: BatchKeys
    @safe @exclusivity(unchecked) private var change = StoreChange()
    /// Entries of each index that wait to be written.
    private let entries: [IndexEntries]
    /// Entries of the members index of each mirror that wait to be written.
    @safe @exclusivity(unchecked) private var memberEntries: [EntryBatch]
    private var touchedOwners: [ObjectReference: PropertyMask] = [:]
    /// The owner to which each mirror added its last member. Members of one owner often follow each other.
    private var lastOwners: [ObjectReference?]
    /// True if the batch looks up unique values before it inserts each row. The lookup reads the index, so unique entries are written immediately.
    private let writesUniqueKeysImmediately: Bool
    /// Inserted rows that still need their derived attributes.
    private var awaitingDerivation: [ObjectReference] = []
    /// Rows that were changed in addition to those, and their unique keys that contain derived attributes.
    private var changedRows: [ObjectReference] = []
    private var keysToDerive: [(index: ValueIndex, object: ObjectReference)] = []
    /// The changed properties of objects outside the batch whose derived attributes must be recomputed.
    private var changesAwaitingDerivation: [ObjectReference: PropertyMask] = [:]
    private let hasDerivations: Bool

    /// - Parameter rowsExpected: The number of keys to request from a custom store at a time.
    init(_ store: Store, _ table: EntityTable, writesUniqueKeysImmediately: Bool, rowsExpected: Int) throws {
        self.store = store
        keys = BatchKeys(table, of: store, rowsExpected: rowsExpected)
        self.table = table
        self.writesUniqueKeysImmediately = writesUniqueKeysImmediately
        try store.requireBatches()
        transaction = try store.beginTransaction()
        row = RowBuffer(layout: try transaction.table(table.tree).layout)
        publishesChanges = !store.publisher.isIdle || store.keepsHistory || store.isQuerying
        hasDerivations = !store.schema.derivations.isEmpty
        entries = table.indexes.map { IndexEntries($0, of: table, store.schema) }
        runBytesMax = min(max(store.engine.options.poolBytes / 8 / max(table.indexes.count, 1), 1 << 20), 1 << 30)
        memberEntries = table.mirrors.map { _ in EntryBatch() }
        lastOwners = table.mirrors.map { _ in nil }
        store.batchThread.begin()
    }

    deinit { store.batchThread.end(thread) }

    /// - Parameter row: The number of the row in the request, for errors.
    func assignKey(row: Int) throws -> UInt64 { try keys.assign(row: row, in: transaction) }

    func recordInserted(_ object: ObjectReference) {
        if publishesChanges { change.inserted.append(object) }
        if hasDerivations { awaitingDerivation.append(object) }
    }

    // MARK: Entries

    /// Adds the entries of the current row to the indexes.
    func addEntries(of object: ObjectReference) throws {
        for entries in entries {
            entries.makeKey(row)
            if entries.excludesRow { continue }
            if entries.key.isTruncated || (entries.index.isUnique && writesUniqueKeysImmediately) {
                try putImmediately(entries, object)
            } else {
                try entries.collect(object)
            }
        }
        rowsSinceCheck += 1
        guard rowsSinceCheck == Self.rowsBetweenChecks else { return }
        rowsSinceCheck = 0
        if entries.contains(where: { $0.batch.memory >= runBytesMax }) || memberEntries.contains(where: { $0.memory >= runBytesMax }) { try writeEntries() }
    }

    /// Writes an entry immediately instead of collecting it: for truncated keys, which are rare, and for unique keys that later rows look up.
    private func putImmediately(_ entries: IndexEntries, _ object: ObjectReference) throws {
        let index = entries.index
        if entries.key.isTruncated, try transaction.value(index.truncatedKeysName) == nil {
            try transaction.setValue(index.truncatedKeysName, [1])
        }
        if index.isUnique {
            if let holder = try UniqueKeys.claim(index, &entries.key, for: object, in: transaction, schema: store.schema) {
                // A key that is written immediately belongs to the last row.
                throw conflict(index, object, holder, row: keys.lastRow)
            }
            return
        }
        entries.key.append(objectKey: object.key)
        try transaction.put(entries.key.bytes, entries.value, in: index.tree)
    }

    /// - Parameter slot: The index of the mirror in `table.mirrors`.
    func addMember(_ object: ObjectReference, _ owner: ObjectReference, ofMirror slot: Int) throws {
        let link = table.mirrors[slot].link
        if lastOwners[slot] != owner {
            lastOwners[slot] = owner
            touch(owner, PropertyMask(CollectionOfOne(link.relationship.index)))
        }
        guard link.order == nil else {
            let writer = MemberWriter(transaction: transaction, schema: store.schema)
            return try writer.add(object, to: owner.key, link.forward)
        }
        var key = (owner.key.bigEndian, object.key.bigEndian)
        let value = link.forward.memberValue(object, position: nil, schema: store.schema)
        unsafe withUnsafeBytes(of: &key) { key in unsafe value.withUnsafeBytes { unsafe memberEntries[slot].append(key, $0) } }
    }

    /// Writes the collected entries.
    func writeEntries() throws {
        for entries in entries { try write(entries.batch, entries.index) }
        for (slot, mirror) in table.mirrors.enumerated() {
            try transaction.put(memberEntries[slot], in: mirror.link.forward.members)
            memberEntries[slot].removeAll()
        }
        try updateDerivedValues()
    }

    /// The changes of the session that are to be published.
    func finishedChange() -> StoreChange {
        guard !touchedOwners.isEmpty else { return change }
        if touchedOwners.keys.contains(where: { $0.entityIndex == table.index }) { for object in change.inserted { touchedOwners[object] = nil } }
        change.updated = touchedOwners.sorted { $0.key < $1.key }
            .map { StoreChange.Updated(reference: $0.key, properties: $0.value) }
        return change
    }

    /// Writes rows that are changed in addition to those that the batch inserts, and records them.
    ///
    /// - Parameter change: Other changes of these objects, which are recorded too.
    func write(_ pending: inout PendingRows, after change: StoreChange) throws {
        var change = change
        try pending.write(&change)
        for object in change.updated { touch(object.reference, object.properties) }
        changedRows += pending.written
        keysToDerive += pending.keysToDerive
    }

    private func touch(_ object: ObjectReference, _ mask: PropertyMask) {
        if publishesChanges { touchedOwners[object, default: PropertyMask()].formUnion(mask) }
        if hasDerivations { changesAwaitingDerivation[object, default: PropertyMask()].formUnion(mask) }
    }

    private func updateDerivedValues() throws {
        guard hasDerivations else { return }
        let execution = SaveExecution(ChangeSet(), transaction: transaction, reader: store.reader)
        execution.keysToDerive = keysToDerive
        do {
            try execution.updateDerivedValues(
                written: awaitingDerivation + changedRows, inserted: awaitingDerivation, changed: changesAwaitingDerivation)
        } catch var conflicts as SaveConflicts {
            conflicts.uniques = conflicts.uniques.map(withRow)
            throw conflicts
        }
        awaitingDerivation.removeAll(keepingCapacity: true)
        changesAwaitingDerivation.removeAll(keepingCapacity: true)
        changedRows.removeAll()
        keysToDerive.removeAll()
        for slot in lastOwners.indices { lastOwners[slot] = nil }
        guard publishesChanges else { return }
        for (object, mask) in execution.masks { touchedOwners[object, default: PropertyMask()].formUnion(mask) }
    }

    private func write(_ batch: EntryBatch, _ index: ValueIndex) throws {
        defer { batch.removeAll() }
        guard index.isUnique else { return try transaction.put(batch, in: index.tree) }
        guard let place = try transaction.putNew(batch, in: index.tree) else { return }
        let (key, value) = batch.entry(at: place)
        guard let stored = try transaction.index(index.tree).get(key) else {
            throw EngineError(.damaged, "The index \(index.tree) refused an entry, and does not have another one of its key. Run check.")
        }
        let object = try UniqueKeys.holder(value, index, schema: store.schema)
        throw conflict(index, object, try UniqueKeys.holder(stored, index, schema: store.schema), row: row(of: object))
    }

    func conflict(
        _ index: ValueIndex, _ object: ObjectReference, _ holder: ObjectReference, row: Int?
    ) -> SaveConflicts {
        var conflicts = SaveConflicts()
        conflicts.uniques = [
            UniqueConflict(
                entity: index.entity, properties: index.elements.map(\.property), values: values(of: holder, index),
                objects: [object], objectIDs: [], row: row, existing: holder, existingID: store.objectID(holder))
        ]
        return conflicts
    }

    /// The conflict with the number of the request's row, if it concerns new objects, which have no IDs yet.
    private func withRow(_ conflict: UniqueConflict) -> UniqueConflict {
        guard let object = conflict.objects.last, let row = row(of: object) else { return conflict }
        var conflict = conflict
        if conflict.existing == nil, let first = conflict.objects.first, first != object {
            (conflict.existing, conflict.existingID) = (first, store.objectID(first))
        }
        (conflict.row, conflict.objects, conflict.objectIDs) = (row, [object], [])
        return conflict
    }

    /// The duplicate unique values. Empty if they cannot be read, so that the conflict is still reported.
    private func values(of holder: ObjectReference, _ index: ValueIndex) -> [PropertyValue] {
        let execution = SaveExecution(ChangeSet(), transaction: transaction, reader: store.reader)
        return (try? execution.values(holder, index)) ?? []
    }

    /// The number of the request's row for an object that this session inserted; nil for any other object.
    private func row(of object: ObjectReference) -> Int? { keys.row(of: object.key) }
}
