internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel
internal import HornbeamThreads

/// Computes the cells of one fixed-width column for many rows, which are then set together.
struct ColumnWriter {
    /// The converted value, if it is the same for all rows; nil when it is computed per row.
    let constant: PropertyValue?
    private let column: StoredColumn
    private let expression: FetchExpression
    private let step: IntegerStep?
    private let width: Int
    private let isValidating: Bool
    private var cells: [UInt8] = []
    private var nulls: [Bool] = []
    private var hasNulls = false

    init(_ assignment: BatchUpdate.Assignment, constant: PropertyValue?, _ table: EntityTable, validating: Bool) throws {
        let column = table.column(assignment.property)
        self.column = column
        expression = assignment.expression
        isValidating = validating && column.property.needsValidation
        self.constant = try constant.map { try column.coerced($0) }
        if let value = self.constant { try column.property.checkInBatch(value, validating: validating) }
        step = constant == nil && !isValidating ? IntegerStep(expression, column, table) : nil
        guard let width = column.type.fixedWidth else {
            preconditionFailure("Columns of variable width are not patched.")
        }
        self.width = width
    }

    /// The range of a step is tested on the whole table. For few selected rows, it takes less time to compute each row.
    private static let rowsPerSelectedRowMax = 64

    /// The change of the column, if it is the same for all rows; nil when it must be computed for each row.
    func change(of rows: RowSelection, in view: TableView) throws(EngineError) -> ColumnChange? {
        if let constant {
            var writer = self
            writer.start(1)
            return .set(column: column.column, cell: constant.isNull ? nil : writer.cells)
        }
        guard let step, step.source.column == column.column, rows.count >= view.count / Self.rowsPerSelectedRowMax, try step.staysInRange(in: view)
        else { return nil }
        return .add(column: column.column, step: step.step)
    }

    mutating func start(_ count: Int) {
        if constant != nil {
            // The buffer of the previous rows is reused.
            if nulls.count == count { return }
        }
        cells.removeAll(keepingCapacity: true)
        nulls.removeAll(keepingCapacity: true)
        hasNulls = false
        cells.reserveCapacity(count * width)
        nulls.reserveCapacity(count)
        guard let constant else { return }
        for _ in 0 ..< count { append(constant) }
    }

    /// Computes the cell of a row.
    mutating func take(_ row: RowView, _ key: UInt64, _ base: StoreSnapshot, _ table: EntityTable) throws {
        guard constant == nil else { return }
        if let step, let number = step.value(in: row) { return append(number) }
        let object = ObjectReference(entityIndex: table.index, key: key)
        let value = try expression.value(with: StoredObject(object, row: row, table: table, snapshot: base))
        let converted = try column.coerced(value.storableValue)
        try column.property.checkInBatch(converted, validating: isValidating)
        append(converted)
    }

    func write(_ keys: [UInt64], _ transaction: WriteTransaction, _ table: EntityTable) throws(EngineError) {
        unsafe try cells.withRawBytes { cells throws(EngineError) in
            unsafe try transaction.patch(
                column.column, of: keys, values: cells, nulls: hasNulls ? nulls : nil, in: table.tree)
        }
    }

    private mutating func append(_ number: Int64) {
        nulls.append(false)
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe cells.append(contentsOf: $0.prefix(width)) }
    }

    private mutating func append(_ value: PropertyValue) {
        guard !value.isNull else {
            hasNulls = true
            nulls.append(true)
            return cells.append(contentsOf: repeatElement(0, count: width))
        }
        nulls.append(false)
        switch (column.type, value) {
        case (.float, .double(let number)): put(Float(number))
        case (_, .int(let number)): unsafe withUnsafeBytes(of: number.littleEndian) { unsafe cells.append(contentsOf: $0.prefix(width)) }
        case (_, .double(let number)): put(number)
        case (_, .bool(let flag)): cells.append(flag ? 1 : 0)
        case (_, .date(let date)): put(date.timeIntervalSinceReferenceDate)
        case (_, .uuid(let uuid)): put(uuid.uuid)
        default: preconditionFailure("A \(value.kindName) is not a value of a column of fixed width.")
        }
    }

    private mutating func put<T: BitwiseCopyable>(_ value: T) {
        unsafe withUnsafeBytes(of: value) { unsafe cells.append(contentsOf: $0) }
    }
}

/// `attribute + n` and `attribute - n` on integers, computed without the evaluator.
struct IntegerStep {
    let source: StoredColumn
    let step: Int64
    private let range: ClosedRange<Int64>

    /// Nil for all other expressions.
    init?(_ expression: FetchExpression, _ target: StoredColumn, _ table: EntityTable) {
        guard case .function(let function, let arguments) = expression.node, arguments.count == 2,
            case .keyPath(.evaluatedObject, let steps) = arguments[0], steps.count == 1, case .name(let name) = steps[0],
            case .constant(.int(let number)) = arguments[1], number != .min,
            let property = table.entity.propertiesByName[name], let source = table.columns[property.index],
            source.type.integerRange != nil, let range = target.type.integerRange
        else { return nil }
        switch function {
        case .add: step = number
        case .subtract: step = -number
        default: return nil
        }
        self.source = source
        self.range = range
    }

    /// True if the addition keeps every cell in the range of its type. Cells of null rows are zero.
    func staysInRange(in view: TableView) throws(EngineError) -> Bool {
        let threads = ScanThreads()
        let windows = try view.windows(max(1, min(threads.most, view.count / threads.cellsPerThreadMin)))
        var results = [Result<Bool, EngineError>](repeating: .success(true), count: windows.count)
        unsafe results.withUnsafeMutableBufferPointer { results in
            let results = unsafe results
            Cores.share(windows.count) { part in
                unsafe results[part] = Result { () throws(EngineError) in try staysInRange(in: view, windows[part]) }
            }
        }
        for result in results where try !result.get() { return false }
        return true
    }

    private func staysInRange(in view: TableView, _ window: KeyWindow) throws(EngineError) -> Bool {
        var isSafe = true
        let columns: UInt64 = source.column < 64 ? 1 << UInt64(source.column) : 0
        try view.forEachLeaf(from: window.first, prefetching: columns) { (leaf) throws(EngineError) -> Bool in
            if let last = window.last, leaf.count > 0, leaf.key(0) > last { return false }
            isSafe = unsafe leaf.fixedCells(source.column).map(staysInRange) ?? false
            return isSafe
        }
        return isSafe
    }

    private func staysInRange(_ cells: UnsafeRawBufferPointer) -> Bool {
        let (least, most): (Int64, Int64)
        switch source.type {
        case .int16: (least, most) = unsafe Self.bounds(of: cells, as: Int16.self)
        case .int32: (least, most) = unsafe Self.bounds(of: cells, as: Int32.self)
        default:
            if step.magnitude <= Self.quarter, range == .min ... .max, unsafe Self.areSmall(cells) { return true }
            (least, most) = unsafe Self.bounds(of: cells, as: Int64.self)
        }
        return [least, most].allSatisfy { cell in
            let (sum, isOverflow) = cell.addingReportingOverflow(step)
            return !isOverflow && range.contains(sum)
        }
    }

    private static let quarter: UInt64 = 1 << 62

    /// True when all cells are in the middle half of their range, so that adding at most a quarter of the range cannot overflow. The two highest
    /// bits of such a cell are equal. Testing them handles sixteen cells at a time; comparing integers of this width handles fewer.
    private static func areSmall(_ cells: UnsafeRawBufferPointer) -> Bool {
        var (first, second) = (SIMD8<Int64>(), SIMD8<Int64>())
        let width = MemoryLayout<SIMD8<Int64>>.size
        var offset = 0
        while offset + 2 * width <= cells.count {
            let a = unsafe cells.loadUnaligned(fromByteOffset: offset, as: SIMD8<Int64>.self)
            let b = unsafe cells.loadUnaligned(fromByteOffset: offset + width, as: SIMD8<Int64>.self)
            first |= a ^ (a &<< 1)
            second |= b ^ (b &<< 1)
            offset += 2 * width
        }
        var rest: Int64 = 0
        while offset < cells.count {
            let cell = unsafe cells.loadUnaligned(fromByteOffset: offset, as: Int64.self)
            rest |= cell ^ (cell &<< 1)
            offset += MemoryLayout<Int64>.size
        }
        first |= second
        for lane in first.indices { rest |= first[lane] }
        return rest >= 0
    }

    private static func bounds<T: FixedWidthInteger & SignedInteger & BitwiseCopyable>(
        of cells: UnsafeRawBufferPointer, as type: T.Type
    ) -> (least: Int64, most: Int64) {
        var (least, most) = (T.zero, T.zero)
        for offset in stride(from: 0, to: cells.count, by: MemoryLayout<T>.size) {
            let cell = unsafe cells.loadUnaligned(fromByteOffset: offset, as: T.self)
            least = min(least, cell)
            most = max(most, cell)
        }
        return (Int64(least), Int64(most))
    }

    /// Nil when the evaluator must compute the result: for null and on overflow.
    @inline(__always)
    func value(in row: RowView) -> Int64? {
        if row.isNull(source.column) { return nil }
        let (sum, isOverflow) = source.int(in: row).addingReportingOverflow(step)
        return isOverflow || !range.contains(sum) ? nil : sum
    }
}

extension CellType {
    /// The width of a cell that `ColumnWriter` can set; nil for other types.
    var fixedWidth: Int? {
        switch self {
        case .bool: 1
        case .int16: 2
        case .int32, .float: 4
        case .int64, .double, .date: 8
        case .uuid: 16
        case .reference, .decimal, .string, .uri, .data, .objectID, .composite: nil
        }
    }

    var integerRange: ClosedRange<Int64>? {
        switch self {
        case .int16: Int64(Int16.min) ... Int64(Int16.max)
        case .int32: Int64(Int32.min) ... Int64(Int32.max)
        case .int64: Int64.min ... Int64.max
        default: nil
        }
    }
}
