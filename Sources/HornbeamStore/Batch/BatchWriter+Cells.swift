internal import HornbeamEngine
package import HornbeamModel

// Sets the values of the current row, directly in its cells.

extension BatchWriter {
    /// Sets an integer. It must be in the range of the attribute's width.
    package func set(_ property: PropertyDescription, _ value: Int64) throws {
        let column = unsafe table.cells[property.index]
        let row = try row()
        switch column.type {
        case .int64: row.set(column.position, value)
        case .int32: row.set(column.position, try narrow(value, to: Int32.self, property))
        case .int16: row.set(column.position, try narrow(value, to: Int16.self, property))
        default: return try set(property, PropertyValue.int(value))
        }
    }

    private func narrow<T: FixedWidthInteger>(
        _ value: Int64, to type: T.Type, _ property: PropertyDescription
    ) throws -> T {
        if let narrow = T(exactly: value) { return narrow }
        _ = try PropertyValue.int(value).coerced(
            to: property.attributeType, entity: property.entity.name, key: property.name)
        preconditionFailure("A number that does not fit its attribute is refused when it is coerced.")
    }

    package func set(_ property: PropertyDescription, _ value: Bool) throws {
        let column = table.column(property)
        guard column.type == .bool else { return try set(property, PropertyValue.bool(value)) }
        try row().setBit(column.column, value)
    }

    /// Sets a string attribute.
    package func set(_ property: PropertyDescription, _ value: String) throws {
        var value = value
        try value.withUTF8 { unsafe try setUTF8(property, UnsafeRawBufferPointer($0)) }
    }

    /// Sets a string attribute from UTF-8 bytes.
    package func setUTF8(_ property: PropertyDescription, _ bytes: UnsafeRawBufferPointer) throws {
        let column = unsafe table.cells[property.index]
        guard column.type == .string else {
            return unsafe try set(property, PropertyValue.string(String(decoding: bytes, as: UTF8.self)))
        }
        unsafe try row().setBytes(column.position, bytes)
    }

    /// Sets a to-one; nil for none.
    package func setToOne(_ property: PropertyDescription, _ target: ObjectReference?) throws {
        let column = table.column(property)
        let row = try row()
        owners[property.index] = target
        guard let target else { return column.writeNull(to: row) }
        column.write(target, to: row, schema: store.schema)
    }

    /// Sets an attribute, by its index, to a value of the type of its column. Returns false, and sets nothing, if the value needs a conversion.
    package func setUnconverted(_ index: Int, _ value: PropertyValue) throws -> Bool {
        // `write` sets no null, because it expects an empty row.
        if value.isNull { return false }
        if case .double(let number) = value, number == 0, number.sign == .minus { return false }
        if unsafe rowOfSession == nil { _ = try row() }
        guard let row = rowOfSession else { return false }
        return unsafe row._withUnsafeGuaranteedRef { unsafe table.cells[index].write(value, to: $0) }
    }

    /// Sets any attribute, or a to-one by `.objectID`, with the conversions of a save.
    package func set(_ property: PropertyDescription, _ value: PropertyValue) throws {
        let column = table.column(property)
        if column.type == .reference {
            return try setToOne(property, try target(of: column, value))
        }
        try column.write(value, to: row(), schema: store.schema, origin: store.reader.origins)
    }

    private func target(of column: StoredColumn, _ value: PropertyValue) throws -> ObjectReference? {
        if value.isNull { return nil }
        let property = column.property.index
        if case .objectID(let id) = value, let lastTarget, lastTarget.property == property, lastTarget.id == id { return lastTarget.object }
        let object = try column.reference(value, schema: store.schema, origin: store.reader.origins)
        if case .objectID(let id) = value { lastTarget = (property, id, object) }
        return object
    }
}
