internal import HornbeamEngine
package import HornbeamModel

/// One row, valid only inside the closure that receives it.
///
/// Properties belong to the row's entity. Reading a to-many or a transient property is a programmer error.
package struct StoredRow {
    package let key: UInt64
    let view: RowView
    let table: EntityTable
    let reader: RowReader

    /// The object that the row belongs to.
    package var reference: ObjectReference { ObjectReference(entityIndex: table.index, key: key) }

    /// 1 after insertion, incremented by every save that changed the object.
    package var version: UInt32 { view.load(EntityTable.versionColumn, as: UInt32.self) }

    package func isNull(_ property: PropertyDescription) -> Bool { view.isNull(table.column(property).column) }

    /// The text of a string or URI attribute.
    package func string(_ property: PropertyDescription) throws -> String? {
        let column = table.column(property).column
        if view.isNull(column) { return nil }
        return try EngineError.translated { () throws(EngineError) in try view.string(column) }
    }

    /// Passes the bytes of a string, URI or binary attribute to `body`.
    package func withBytes<R>(
        _ property: PropertyDescription, _ body: (UnsafeRawBufferPointer) -> R
    ) throws -> R? {
        let column = table.column(property).column
        if view.isNull(column) { return nil }
        return try EngineError.translated { () throws(EngineError) in unsafe try view.withBytes(column) { unsafe body($0) } }
    }

    /// An integer of any width.
    package func int(_ property: PropertyDescription) -> Int64? {
        let stored = table.column(property)
        if view.isNull(stored.column) { return nil }
        return stored.int(in: view)
    }

    /// A double or float; a date as seconds since 2001.
    package func double(_ property: PropertyDescription) -> Double? {
        let stored = table.column(property)
        if view.isNull(stored.column) { return nil }
        return stored.double(in: view)
    }

    package func bool(_ property: PropertyDescription) -> Bool? {
        let column = table.column(property).column
        return view.isNull(column) ? nil : view.bit(column)
    }

    /// The destination of a to-one. It may be deleted, because a delete rule can leave the reference.
    package func toOne(_ property: PropertyDescription) -> ObjectReference? {
        let stored = table.column(property)
        return view.isNull(stored.column) ? nil : stored.reference(in: view, schema: reader.schema)
    }

    /// Any attribute's value; a to-one as `.objectID`.
    package func value(_ property: PropertyDescription) throws -> PropertyValue {
        let stored = table.column(property)
        return try EngineError.translated { () throws(EngineError) in
            try stored.value(in: view, schema: reader.schema, origin: reader.origins)
        }
    }

    /// All values by property index; `.null` for properties without a column.
    package func values() throws -> [PropertyValue] {
        try EngineError.translated { () throws(EngineError) in try reader.values(of: view, in: table) }
    }
}

/// Converts cells to values.
final class RowReader: Sendable {
    let schema: Schema
    let origins: StoreIdentities
    let history: HistoryCoding
    /// False for a custom store, because some of its rows may not be loaded.
    let hasAllRows: Bool

    init(schema: Schema, origins: StoreIdentities, hasAllRows: Bool = true) {
        self.schema = schema
        self.origins = origins
        self.hasAllRows = hasAllRows
        history = HistoryCoding(schema, origins)
    }

    func values(of row: RowView, in table: EntityTable) throws(EngineError) -> [PropertyValue] {
        var values = [PropertyValue](repeating: .null, count: table.columns.count)
        for case let column? in table.columns {
            values[column.property.index] = try column.value(in: row, schema: schema, origin: origins)
        }
        return values
    }
}

extension StoredColumn {
    @inline(__always)
    func int(in row: RowView) -> Int64 {
        switch type {
        case .int16: Int64(row.load(column, as: Int16.self))
        case .int32: Int64(row.load(column, as: Int32.self))
        case .int64: row.load(column, as: Int64.self)
        default: notA("whole number")
        }
    }

    @inline(__always)
    func double(in row: RowView) -> Double {
        switch type {
        case .double, .date: row.load(column, as: Double.self)
        case .float: Double(row.load(column, as: Float.self))
        default: notA("double, float or date")
        }
    }

    @inline(never)
    private func notA(_ what: String) -> Never {
        preconditionFailure("“\(property.name)” of \(property.entity.name) is not a \(what).")
    }
}

/// A row with all its values, copied.
package struct RowValues: Sendable {
    package var version: UInt32
    /// Indexed by property index; `.null` for to-many and transient properties.
    package var values: [PropertyValue]

    package init(version: UInt32, values: [PropertyValue]) {
        self.version = version
        self.values = values
    }
}

/// The last known location of a row: a hint that is checked on use. `RowHint()` means unknown.
package struct RowHint: Sendable {
    var location: RowLocation

    package init() { location = RowLocation() }

    init(_ location: RowLocation) { self.location = location }
}
