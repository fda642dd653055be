internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// Converts values to cells. `Docs/Rows.md` describes each type's format.
extension StoredColumn {
    /// Writes a value into the column; null for `.null`.
    /// - Throws: `HornbeamError` when the value does not have the property's type.
    func write(_ value: PropertyValue, to row: RowBuffer, schema: Schema, origin: StoreIdentities) throws {
        if value.isNull { return writeNull(to: row) }
        if type == .reference { return try writeReference(value, to: row, schema: schema, origin: origin) }
        let value = try coerced(value)
        switch (type, value) {
        case (.int16, .int(let number)): row.set(column, Int16(truncatingIfNeeded: number))
        case (.int32, .int(let number)): row.set(column, Int32(truncatingIfNeeded: number))
        case (.int64, .int(let number)): row.set(column, number)
        case (.double, .double(let number)): row.set(column, number)
        case (.float, .double(let number)): row.set(column, Float(number))
        case (.bool, .bool(let flag)): row.setBit(column, flag)
        case (.date, .date(let date)): row.set(column, date.timeIntervalSinceReferenceDate)
        case (.uuid, .uuid(let uuid)): row.set(column, uuid.uuid)
        case (.string, .string(let text)): row.setString(column, text)
        case (.uri, .uri(let url)): row.setString(column, url.absoluteString)
        case (.data, .data(let data)): unsafe data.withUnsafeBytes { unsafe row.setBytes(column, $0) }
        case (.decimal, .decimal(let number)):
            var bytes: [UInt8] = []
            DecimalCode.append(number, to: &bytes)
            unsafe bytes.withUnsafeBytes { unsafe row.setBytes(column, $0) }
        case (.composite, .dictionary(let parts)):
            unsafe CompositeCode.encode(parts).withUnsafeBytes { unsafe row.setBytes(column, $0) }
        case (.objectID, .objectID(let id)): row.setString(column, try storable(id))
        default: throw wrongType(value)
        }
    }

    func writeNull(to row: RowBuffer) {
        row.setNull(column)
        if entityColumn >= 0 { row.setNull(entityColumn) }
    }

    func write(_ reference: ObjectReference, to row: RowBuffer, schema: Schema) {
        row.set(column, reference.key)
        if entityColumn >= 0 { row.set(entityColumn, schema.table(at: reference.entityIndex).number) }
    }

    private func writeReference(
        _ value: PropertyValue, to row: RowBuffer, schema: Schema, origin: StoreIdentities
    ) throws {
        write(try reference(value, schema: schema, origin: origin), to: row, schema: schema)
    }

    /// The destination of a to-one's value.
    func reference(_ value: PropertyValue, schema: Schema, origin: StoreIdentities) throws -> ObjectReference {
        guard case .objectID(let id) = value else { throw wrongType(value) }
        guard let reference = origin.reference(id) else { throw foreignObject(id) }
        guard let destination = property.destinationEntity,
            schema.model.entities[Int(reference.entityIndex)].isKind(of: destination)
        else { throw wrongType(value) }
        return reference
    }

    /// The value converted to the property's type.
    func coerced(_ value: PropertyValue) throws -> PropertyValue {
        property.isAttribute ? try property.coerced(value) : value
    }

    private func storable(_ id: ManagedObjectID) throws -> String {
        guard !id.isTemporaryID else { throw foreignObject(id) }
        return id.uriRepresentation().absoluteString
    }

    private func foreignObject(_ id: ManagedObjectID) -> HornbeamError {
        let what = id.isTemporaryID
            ? "an object that was never saved. Save it first, or together"
            : "an object of another store. Keep a value that identifies it instead, or move it into this store"
        return HornbeamError(
            .relationshipAcrossStores,
            "“\(property.entity.name).\(property.name)” names \(what).",
            entity: property.entity.name, key: property.name, objectIDs: [id])
    }

    private func wrongType(_ value: PropertyValue) -> HornbeamError {
        let wanted = property.attribute.map(\.type.withArticle)
            ?? "an object of \(property.destinationEntity?.name ?? "the destination")"
        return HornbeamError(
            .typeMismatch,
            "The value of “\(property.entity.name).\(property.name)” must be \(wanted), and "
                + "\(value.kindWithArticle) was given.",
            entity: property.entity.name, key: property.name, value: value)
    }
}

extension CellColumn {
    /// True when the column stores the value without conversion, or when there is no column. False when the value may need a conversion.
    func holds(_ value: PropertyValue) -> Bool {
        guard let type else { return true }
        switch value {
        case .null: return true
        case .int: return type == .int64
        case .double(let number): return type == .double && (number != 0 || number.sign == .plus)
        case .bool: return type == .bool
        case .string: return type == .string
        case .date: return type == .date
        case .data: return type == .data
        case .uuid: return type == .uuid
        case .uri: return type == .uri
        case .decimal: return type == .decimal
        case .objectID: return type == .reference
        default: return false
        }
    }

    /// Writes a value that needs no conversion into an empty row, without reference counting. Returns false for other values.
    func write(_ value: PropertyValue, to row: RowBuffer) -> Bool {
        guard let type else { return true }
        switch value {
        case .null: return true
        case .int(let number) where type == .int64: row.set(position, number)
        case .int(let number) where type == .int32:
            guard let number = Int32(exactly: number) else { return false }
            row.set(position, number)
        case .int(let number) where type == .int16:
            guard let number = Int16(exactly: number) else { return false }
            row.set(position, number)
        case .double(let number) where type == .double: row.set(position, number)
        case .bool(let flag) where type == .bool: row.setBit(position, flag)
        case .date(let date) where type == .date: row.set(position, date.timeIntervalSinceReferenceDate)
        case .string(let text) where type == .string: row.setString(position, text)
        default: return false
        }
        return true
    }
}

/// Converts cells to values.
extension StoredColumn {
    /// The value in a row; a to-one as `.objectID`.
    func value(in row: RowView, schema: Schema, origin: @autoclosure () -> StoreIdentities) throws(EngineError) -> PropertyValue {
        switch type {
        case .reference:
            guard let reference = reference(in: row, schema: schema) else { return .null }
            return .objectID(origin().objectID(reference))
        case .objectID:
            if row.isNull(column) { return .null }
            if let url = URL(string: try row.string(column)), let id = origin().storedID(url) { return .objectID(id) }
            throw unreadable
        default: return try plainValue(in: row)
        }
    }

    /// The value for index conditions and keys. A to-one is an ID of which only the key is valid; an object ID is its URI as text.
    func indexedValue(in row: RowView) throws(EngineError) -> PropertyValue {
        if row.isNull(column) { return .null }
        switch type {
        case .reference:
            return .objectID(ManagedObjectID(origin: Self.placeholderOrigin, reference: row.load(column, as: UInt64.self)))
        case .objectID: return .string(try row.string(column))
        default: return try plainValue(in: row)
        }
    }

    /// The origin of IDs of which only the key is valid.
    static let placeholderOrigin = ManagedObjectID.StoreIdentity(entityName: "", storeIdentifier: nil, entityNumber: -1)

    /// The value of a column that does not refer to an object.
    private func plainValue(in row: RowView) throws(EngineError) -> PropertyValue {
        if row.isNull(column) { return .null }
        switch type {
        case .int16: return .int(Int64(row.load(column, as: Int16.self)))
        case .int32: return .int(Int64(row.load(column, as: Int32.self)))
        case .int64: return .int(row.load(column, as: Int64.self))
        case .double: return .double(row.load(column, as: Double.self))
        case .float: return .double(Double(row.load(column, as: Float.self)))
        case .bool: return .bool(row.bit(column))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: row.load(column, as: Double.self)))
        case .uuid: return .uuid(UUID(uuid: row.load(column, as: uuid_t.self)))
        case .string: return .string(try row.string(column))
        case .data: return .data(Data(try row.bytes(column)))
        case .uri, .decimal, .composite: return try parsedValue(in: row)
        case .reference, .objectID: preconditionFailure("“\(property.name)” names an object.")
        }
    }

    /// The destination of a to-one; nil for null, and for an object of an entity that cannot be the destination.
    @inline(__always)
    func reference(in row: RowView, schema: Schema) -> ObjectReference? {
        if row.isNull(column) { return nil }
        let key = row.load(column, as: UInt64.self)
        // A damaged row can have a key although no entity can be the destination.
        if entityColumn < 0 { return onlyDestination < 0 ? nil : ObjectReference(entityIndex: onlyDestination, key: key) }
        guard let index = schema.entityIndex(number: row.load(entityColumn, as: UInt32.self), within: destination) else { return nil }
        return ObjectReference(entityIndex: index, key: key)
    }

    private func parsedValue(in row: RowView) throws(EngineError) -> PropertyValue {
        switch type {
        case .decimal:
            if let number = DecimalCode.decode(try row.bytes(column)) { return .decimal(number) }
        case .uri:
            if let url = URL(stored: try row.string(column)) { return .uri(url) }
        default:
            if let parts = CompositeCode.decode(try row.bytes(column)) { return .dictionary(property.withoutRemovedElements(parts)) }
        }
        throw unreadable
    }

    private var unreadable: EngineError {
        EngineError(
            .damaged,
            "A value of “\(property.entity.name).\(property.name)” cannot be read: its bytes are not \(type.rawValue)."
                + " Restore the object from a backup, or set the property again.")
    }
}
