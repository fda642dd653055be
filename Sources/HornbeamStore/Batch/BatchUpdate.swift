internal import HornbeamEngine
package import HornbeamModel

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

/// Executes one batch update. If all rows get the same change in columns without an index, it is made leaf by leaf. Other cells of fixed width without an
/// index are set column by column, and all others row by row.
struct BatchUpdateExecution {
    /// The number of rows that are read and written at a time.
    private static let stride = 16_384
    /// The largest number of columns that are changed leaf by leaf; the engine changes that of the versions too.
    private static let columnsMax = 200

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
            try execute(rows, table, &together)
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
            if canPatch(table) {
                try patch(keys, table)
            } else {
                try rewrite(keys, table, &together)
            }
        }
        if !together.isEmpty { try together.write(&change) }
    }

    private mutating func execute(_ rows: RowSelection, _ table: EntityTable, _ together: inout PendingRows) throws {
        if let changes = try columnChanges(of: rows, table) {
            try transaction.alter(rows, by: changes, in: table.tree)
        } else if canPatch(table) {
            try patch(rows.keys, table)
        } else {
            return try rewrite(rows.keys, table, &together)
        }
        change.recordUpdate(of: rows, table, PropertyMask(update.assignments.map(\.property.index)))
    }

    // MARK: Leaves

    /// The changes of columns that are the same for all rows; nil if a cell must be computed for each row, or if other data changes too.
    private func columnChanges(of rows: RowSelection, _ table: EntityTable) throws -> [ColumnChange]? {
        guard update.assignments.count <= Self.columnsMax, update.assignments.allSatisfy({ table.isUsedByRowsOnly($0.property) }) else { return nil }
        let view = base.view(table)
        var changes: [ColumnChange] = []
        var lengths: [Int: Int] = [:]
        for (assignment, constant) in zip(update.assignments, constants) {
            let change: ColumnChange?
            if table.canPatch(assignment.property) {
                let writer = try ColumnWriter(assignment, constant: constant, table, validating: update.validatesValues)
                change = try EngineError.translated { () throws(EngineError) in try writer.change(of: rows, in: view) }
            } else {
                change = try constant.flatMap { try table.column(assignment.property).change(to: $0, validating: update.validatesValues) }
                if case .set(let column, let cell) = change { lengths[column] = cell?.count ?? 0 }
            }
            guard let change else { return nil }
            changes.append(change)
        }
        let isPossible = try EngineError.translated { () throws(EngineError) in
            if !lengths.isEmpty, try !view.hasRoom(for: lengths, in: rows) { return false }
            return try view.canIncrementVersions(of: rows)
        }
        return isPossible ? changes + [.add(column: EntityTable.versionColumn, step: 1)] : nil
    }

    // MARK: Columns

    private func canPatch(_ table: EntityTable) -> Bool { update.assignments.allSatisfy { table.canPatch($0.property) } }

    private func patch(_ keys: [UInt64], _ table: EntityTable) throws {
        var writers = try zip(update.assignments, constants).map {
            try ColumnWriter($0, constant: $1, table, validating: update.validatesValues)
        }
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
        var parts: [StoreChange] = []
        for start in Swift.stride(from: 0, to: keys.count, by: Self.stride) {
            for key in keys[start ..< min(start + Self.stride, keys.count)] {
                try assign(to: ObjectReference(entityIndex: table.index, key: key), &pending)
            }
            var part = StoreChange()
            try pending.write(&part)
            parts.append(part)
        }
        change.merge(parts)
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

extension EntityTable {
    /// True when setting a property's cells changes nothing else in the store.
    fileprivate func isUsedByRowsOnly(_ property: PropertyDescription) -> Bool {
        guard let column = columns[property.index], column.type != .reference else { return false }
        return !indexes.contains { $0.properties.contains(property) }
    }

    /// True when a property's cells can be set with `ColumnWriter`.
    fileprivate func canPatch(_ property: PropertyDescription) -> Bool {
        isUsedByRowsOnly(property) && columns[property.index]?.type.fixedWidth != nil
    }

    fileprivate func isUnique(_ property: PropertyDescription) -> Bool {
        indexes.contains { $0.isUnique && $0.elements.contains { $0.property == property } }
    }
}

extension StoredColumn {
    /// The change of a variable column that sets a value in all rows; nil for values that are not constants of the column.
    fileprivate func change(to value: PropertyValue, validating: Bool) throws -> ColumnChange? {
        let value = try coerced(value)
        try property.checkInBatch(value, validating: validating)
        if value.isNull { return .set(column: column, cell: nil) }
        return value.cellBytes(type).map { .set(column: column, cell: $0) }
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
