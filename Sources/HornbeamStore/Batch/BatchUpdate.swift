internal import HornbeamEngine
package import HornbeamModel
internal import HornbeamThreads

/// Sets properties of all objects that a request finds, without creating managed objects (BAT-2).
package struct BatchUpdate: Sendable {
    package struct Assignment: Sendable {
        package var property: PropertyDescription
        package var expression: FetchExpression

        package init(_ property: PropertyDescription, _ expression: FetchExpression) {
            self.property = property
            self.expression = expression
        }
    }

    package var request: FetchDescription
    /// Attributes and to-ones, each at most once. Expressions read the values before the update.
    package var assignments: [Assignment]
    package var collectsObjects = false
    /// True validates values against the model's limits. Required values are always validated.
    package var validatesValues = false
    package var origin = BatchOrigin()

    package init(request: FetchDescription, assignments: [Assignment]) {
        self.request = request
        self.assignments = assignments
    }
}

extension Store {
    /// Executes a batch update in one transaction.
    ///
    /// - Throws: `SaveConflicts` when a unique value would occur twice; `HornbeamError` for invalid or missing values.
    package func update(_ update: BatchUpdate) throws -> BatchOutcome {
        if let outcome = try executed(update) { return outcome }
        return try inBatchTransaction(update.origin, collectsObjects: update.collectsObjects, loading: { try load(for: update) }) { transaction, base in
            var execution = BatchUpdateExecution(update, transaction, base)
            return try execution.run()
        }
    }
}

/// Executes one batch update. Cells of fixed width without an index are set column by column; all others row by row.
struct BatchUpdateExecution {
    /// The number of rows that are read and written at a time.
    private static let stride = 16_384

    private let update: BatchUpdate
    private let transaction: WriteTransaction
    private let base: StoreSnapshot
    private let constants: [PropertyValue?]
    private var change = StoreChange()

    init(_ update: BatchUpdate, _ transaction: WriteTransaction, _ base: StoreSnapshot) {
        self.update = update
        self.transaction = transaction
        self.base = base
        constants = update.assignments.map { $0.expression.constantValue }
    }

    mutating func run() throws -> (change: StoreChange, outcome: BatchOutcome) {
        let found = try base.select(ValidatedFetch(update.request, in: base.schema.model))
        var outcome = BatchOutcome()
        outcome.count = found.reduce(0) { $0 + $1.rows.count }
        let needsObjects = update.collectsObjects || !base.schema.derivations.isEmpty
        if needsObjects { outcome.objects = found.flatMap { ChangedRows(entityIndex: $0.table.index, rows: $0.rows).references }.sorted() }
        var together = PendingRows(transaction, base.reader)
        for (table, rows) in found {
            if update.assignments.allSatisfy({ table.canPatch($0.property) }) {
                try patch(rows, table)
            } else {
                try rewrite(rows.keys, table, &together)
            }
        }
        if !together.isEmpty { try together.write(&change) }
        // One-to-one relationships also change rows that the request does not find.
        let written = outcome.objects + together.written
        let execution = SaveExecution(ChangeSet(), transaction: transaction, reader: base.reader)
        try execution.updateDerivedValues(after: &change, written: written, keys: together.keysToDerive)
        return (change, outcome)
    }

    /// Updates given objects instead of those that the request finds.
    mutating func run(on objects: [ObjectReference]) throws {
        var together = PendingRows(transaction, base.reader)
        for (index, part) in Dictionary(grouping: objects, by: \.entityIndex).sorted(by: { $0.key < $1.key }) {
            let table = base.schema.table(at: index)
            let keys = part.map(\.key).sorted()
            if update.assignments.allSatisfy({ table.canPatch($0.property) }) {
                var writers = try columnWriters(table)
                try patch(keys, table, &writers)
            } else {
                try rewrite(keys, table, &together)
            }
        }
        if !together.isEmpty { try together.write(&change) }
    }

    // MARK: Columns

    private func columnWriters(_ table: EntityTable) throws -> [ColumnWriter] {
        try zip(update.assignments, constants).map { try ColumnWriter($0, constant: $1, table, validating: update.validatesValues) }
    }

    private mutating func patch(_ rows: RowSelection, _ table: EntityTable) throws {
        var writers = try columnWriters(table)
        let view = base.view(table)
        let changes = try EngineError.translated { () throws(EngineError) -> [ColumnChange]? in
            var changes: [ColumnChange] = []
            for writer in writers {
                guard let change = try writer.change(of: rows, in: view) else { return nil }
                changes.append(change)
            }
            guard try view.canIncrementVersions(of: rows) else { return nil }
            return changes + [.add(column: EntityTable.versionColumn, step: 1)]
        }
        if let changes {
            try transaction.alter(rows, by: changes, in: table.tree)
        } else {
            try patch(rows.keys, table, &writers)
        }
        change.recordUpdate(of: rows, table, PropertyMask(update.assignments.map(\.property.index)))
    }

    private func patch(_ keys: [UInt64], _ table: EntityTable, _ writers: inout [ColumnWriter]) throws {
        for start in Swift.stride(from: 0, to: keys.count, by: Self.stride) {
            try patchTogether(Array(keys[start ..< min(start + Self.stride, keys.count)]), table, &writers)
        }
    }

    private func patchTogether(_ keys: [UInt64], _ table: EntityTable, _ writers: inout [ColumnWriter]) throws {
        var versions: [UInt32] = []
        versions.reserveCapacity(keys.count)
        for index in writers.indices { writers[index].start(keys.count) }
        let context = FilterContext(base)
        let isComputed = writers.contains { $0.constant == nil }
        try context.run { () throws(EngineError) in
            try base.view(table).forEachRow(keys) { (position, row, _) throws(EngineError) -> Bool in
                versions.append(EntityTable.version(after: row.load(EntityTable.versionColumn, as: UInt32.self)))
                guard isComputed else { return true }
                do {
                    for index in writers.indices { try writers[index].take(row, keys[position], base, table) }
                    return true
                } catch let error as EngineError {
                    throw error
                } catch {
                    throw context.fail(error)
                }
            }
        }
        for writer in writers { try writer.write(keys, transaction, table) }
        unsafe try versions.withUnsafeBytes {
            unsafe try transaction.patch(EntityTable.versionColumn, of: keys, values: $0, in: table.tree)
        }
    }

    // MARK: Rows

    /// - Parameter together: Receives the values of rows that are written together at the end: unique values, which can move between the tables of
    ///   entities with one superentity, and both ends of one-to-one relationships.
    private mutating func rewrite(_ keys: [UInt64], _ table: EntityTable, _ together: inout PendingRows) throws {
        if update.assignments.contains(where: { table.isUnique($0.property) || $0.property.hasToOneInverse }) {
            for key in keys { try assign(to: ObjectReference(entityIndex: table.index, key: key), &together) }
            return
        }
        var pending = PendingRows(transaction, base.reader)
        for start in Swift.stride(from: 0, to: keys.count, by: Self.stride) {
            for key in keys[start ..< min(start + Self.stride, keys.count)] {
                try assign(to: ObjectReference(entityIndex: table.index, key: key), &pending)
            }
            try pending.write(&change)
        }
    }

    private func assign(to object: ObjectReference, _ pending: inout PendingRows) throws {
        let stored = StoredObject(object, snapshot: base)
        for (assignment, constant) in zip(update.assignments, constants) {
            let value = try constant ?? assignment.expression.value(with: stored).storableValue
            try assignment.property.checkInBatch(value, validating: update.validatesValues)
            try pending.set(assignment.property, of: object, to: value)
        }
    }
}

extension TableView {
    /// True if no selected row has the largest version. Adding one to that version would make it 0, which means that there is no row. Tests all rows
    /// of the leaves of selected rows, by several threads.
    fileprivate func canIncrementVersions(of rows: RowSelection) throws(EngineError) -> Bool {
        let parts = max(1, min(ScanThreads().most, rows.leafCount / Self.leavesPerThreadMin))
        var results = [Result<Bool, EngineError>](repeating: .success(true), count: parts)
        unsafe results.withUnsafeMutableBufferPointer { results in
            let results = unsafe results
            Cores.share(parts) { part in
                let leaves = rows.leafCount * part / parts..<rows.leafCount * (part + 1) / parts
                unsafe results[part] = Result { () throws(EngineError) in try canIncrementVersions(of: rows, leaves) }
            }
        }
        for result in results where try !result.get() { return false }
        return true
    }

    /// The smallest number of leaves for a thread of its own.
    private static let leavesPerThreadMin = 256

    private func canIncrementVersions(of rows: RowSelection, _ leaves: Range<Int>) throws(EngineError) -> Bool {
        var canIncrement = true
        try forEachLeaf(of: rows, leaves, prefetching: 1 << UInt64(EntityTable.versionColumn)) { (leaf) throws(EngineError) -> Bool in
            canIncrement = unsafe leaf.fixedCells(EntityTable.versionColumn).map(Self.haveNoLargest) ?? false
            return canIncrement
        }
        return canIncrement
    }

    /// True if no version is the largest one. Usually no version has its highest bit set, which takes no comparison.
    private static func haveNoLargest(_ versions: UnsafeRawBufferPointer) -> Bool {
        let offsets = Swift.stride(from: 0, to: versions.count, by: MemoryLayout<UInt32>.size)
        var bits: UInt32 = 0
        for offset in offsets { bits |= unsafe versions.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        return bits >> 31 == 0 || offsets.allSatisfy { unsafe versions.loadUnaligned(fromByteOffset: $0, as: UInt32.self) < .max }
    }
}

extension EntityTable {
    /// True when setting a property's cells changes nothing else in the store.
    fileprivate func canPatch(_ property: PropertyDescription) -> Bool {
        guard let column = columns[property.index], column.type != .reference, column.type.fixedWidth != nil else {
            return false
        }
        return !indexes.contains { $0.properties.contains(property) }
    }

    fileprivate func isUnique(_ property: PropertyDescription) -> Bool {
        indexes.contains { $0.isUnique && $0.elements.contains { $0.property == property } }
    }
}

extension PropertyDescription {
    /// True for a to-one relationship whose inverse is a to-one: setting it also changes the other object's row.
    var hasToOneInverse: Bool { isToOne && inverse?.isToOne == true }
}

extension FetchExpression {
    /// The value, if it is the same for all objects.
    var constantValue: PropertyValue? {
        if case .constant(let value) = node { value } else { nil }
    }
}

extension EvaluatedValue {
    /// The value as a property stores it: an object as its ID.
    var storableValue: PropertyValue {
        if case .object(let object) = self { return object.evaluatedIdentity ?? .null }
        return propertyValue ?? .null
    }
}
