internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// The entries of one index that a batch collects. They are written in key order, so that a leaf changes once for many entries.
final class IndexEntries {
    let index: ValueIndex
    let batch = EntryBatch()
    private let table: EntityTable
    private let schema: Schema
    /// The columns of the components of a key.
    private let components: [(column: Int, form: KeyForm)]
    /// The value of an entry of a fetch index: the entity number if several entities share the index, otherwise empty.
    let value: [UInt8]
    // Unchecked for the reason given in `BatchWriter`.
    /// The key of the current row. `IndexKey.isExcluded` if the row has no entry.
    @safe @exclusivity(unchecked) var key = IndexKey()

    init(_ index: ValueIndex, of table: EntityTable, _ schema: Schema) {
        self.index = index
        self.table = table
        self.schema = schema
        components = index.isPlain ? index.elements.map { (table.column($0.property).column, $0.form) } : []
        value = index.isPolymorphic ? EntityNumber.bytes(table.number) : []
    }

    /// True if the index has no entry for the current row.
    var excludesRow: Bool { key.isExcluded || (index.isUnique && key.hasNull) }

    /// Makes the key of a row.
    func makeKey(_ row: RowBuffer) {
        guard index.isPlain else {
            let pairs = index.properties.map { ($0.name, table.column($0).value(in: row)) }
            return key.fill(index, values: Dictionary(uniqueKeysWithValues: pairs))
        }
        key.reset()
        for component in components { key.append(component.column, of: row, component.form) }
        key.finishComponents()
    }

    /// Adds the entry of the current row.
    func collect(_ object: ObjectReference) throws(EngineError) {
        guard index.isUnique else {
            key.append(objectKey: object.key)
            return unsafe key.bytes.withUnsafeBytes { (key) in unsafe value.withUnsafeBytes { unsafe batch.append(key, $0) } }
        }
        unsafe try key.bytes.withRawBytes { (key) throws(EngineError) in
            unsafe try UniqueKeys.withValue(index, object, schema: schema) { (value) throws(EngineError) in unsafe batch.append(key, value) }
        }
    }
}

extension IndexKey {
    /// Appends the component of a cell.
    fileprivate mutating func append(_ column: Int, of row: RowBuffer, _ form: KeyForm) {
        if row.isNull(column) { return appendNull(form) }
        unsafe row.withCell(column) { unsafe append(raw: $0, form) }
    }
}

extension StoredColumn {
    /// The value for index conditions and keys, as `indexedValue(in:)`.
    fileprivate func value(in row: RowBuffer) -> PropertyValue {
        if row.isNull(column) { return .null }
        return unsafe row.withCell(column) { raw in
            switch type {
            case .int16: unsafe .int(Int64(raw.loadUnaligned(as: Int16.self)))
            case .int32: unsafe .int(Int64(raw.loadUnaligned(as: Int32.self)))
            case .int64: unsafe .int(raw.loadUnaligned(as: Int64.self))
            case .double: unsafe .double(raw.loadUnaligned(as: Double.self))
            case .float: unsafe .double(Double(raw.loadUnaligned(as: Float.self)))
            case .bool: unsafe .bool(raw.first != 0)
            case .date: unsafe .date(Date(timeIntervalSinceReferenceDate: raw.loadUnaligned(as: Double.self)))
            case .uuid: unsafe .uuid(UUID(uuid: raw.loadUnaligned(as: uuid_t.self)))
            case .string, .objectID: unsafe .string(String(decoding: raw, as: UTF8.self))
            case .uri: unsafe URL(stored: String(decoding: raw, as: UTF8.self)).map { .uri($0) } ?? .null
            case .data: unsafe .data(Data(raw))
            case .decimal: unsafe DecimalCode.decode(Array(raw)).map { .decimal($0) } ?? .null
            case .composite: unsafe CompositeCode.decode(Array(raw)).map { .dictionary($0) } ?? .null
            case .reference: unsafe .objectID(ManagedObjectID(origin: Self.placeholderOrigin, reference: raw.loadUnaligned(as: UInt64.self)))
            }
        }
    }
}
