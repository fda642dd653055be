internal import Foundation
internal import HornbeamEngine
internal import HornbeamModel

/// A buffer for the bytes of an index key, built component by component and reused for further keys.
struct IndexKey {
    private(set) var bytes: [UInt8] = []
    /// True when a component is null. A unique index has no entry for such a row.
    private(set) var hasNull = false
    /// True when the components exceed the maximum length of a key. The bytes then end in a hash.
    private(set) var isTruncated = false
    /// True when the row does not satisfy the condition of a partial index. The index has no entry for such a row.
    private(set) var isExcluded = false

    mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        hasNull = false
        isTruncated = false
        isExcluded = false
    }

    // MARK: Components

    mutating func appendNull(_ element: ValueIndex.Element) { appendNull(element.form) }

    mutating func appendNull(_ form: KeyForm) {
        hasNull = true
        bytes.append(form.isAscending ? KeyBytes.null : ~KeyBytes.null)
    }

    /// Appends a value that was converted to the element's type.
    mutating func append(_ value: PropertyValue, _ element: ValueIndex.Element) {
        if value.isNull { return appendNull(element) }
        let start = begin()
        appendContent(of: value, element)
        end(element.form, from: start)
    }

    /// Appends the cell of a row.
    mutating func append(
        _ column: StoredColumn, of row: RowView, _ element: ValueIndex.Element
    ) throws(EngineError) {
        if row.isNull(column.column) { return appendNull(element) }
        let start = begin()
        try appendContent(of: column, row, element)
        end(element.form, from: start)
    }

    /// Appends UTF-8 text with `binary` collation.
    mutating func append(utf8: UnsafeRawBufferPointer, _ element: ValueIndex.Element) {
        if bytes.isEmpty { bytes.reserveCapacity(utf8.count + 3) }
        let start = begin()
        unsafe KeyBytes.appendEscaped(utf8, to: &bytes)
        end(element.form, from: start)
    }

    /// Appends the common prefix of all texts that begin with `prefix`. The component must be the last one, and ascending.
    mutating func append(prefix: String, _ element: ValueIndex.Element) {
        bytes.append(KeyBytes.present)
        unsafe element.collation.folded(prefix.utf8).withUnsafeBytes { unsafe KeyBytes.appendEscapedPrefix($0, to: &bytes) }
    }

    /// Appends an object in the order of IDs: by entity name, then by key. For sorting only.
    mutating func append(_ reference: ObjectReference?, of schema: Schema, _ element: ValueIndex.Element) {
        guard let reference else { return appendNull(element) }
        let start = begin()
        append(text: schema.model.entities[Int(reference.entityIndex)].name, .binary)
        KeyBytes.append(reference.key, to: &bytes)
        end(element.form, from: start)
    }

    private mutating func begin() -> Int {
        bytes.append(KeyBytes.present)
        return bytes.count - 1
    }

    private mutating func end(_ form: KeyForm, from start: Int) {
        if !form.isAscending { KeyBytes.complement(&bytes, from: start) }
    }

    private mutating func appendContent(of value: PropertyValue, _ element: ValueIndex.Element) {
        switch (element.type, value) {
        case (.int16, .int(let number)): KeyBytes.appendSigned(Int16(truncatingIfNeeded: number), to: &bytes)
        case (.int32, .int(let number)): KeyBytes.appendSigned(Int32(truncatingIfNeeded: number), to: &bytes)
        case (.int64, .int(let number)): KeyBytes.appendSigned(number, to: &bytes)
        case (.double, .double(let number)): KeyBytes.append(number, to: &bytes)
        case (.float, .double(let number)): KeyBytes.append(Float(number), to: &bytes)
        case (.bool, .bool(let flag)): bytes.append(flag ? 1 : 0)
        case (.date, .date(let date)): KeyBytes.append(date.timeIntervalSinceReferenceDate, to: &bytes)
        case (.decimal, .decimal(let number)): DecimalCode.append(number, to: &bytes)
        case (.uuid, .uuid(let uuid)): unsafe withUnsafeBytes(of: uuid.uuid) { unsafe bytes.append(contentsOf: $0) }
        case (.string, .string(let text)): append(text: text, element.collation)
        case (.uri, .uri(let url)): append(text: url.absoluteString, element.collation)
        case (.objectID, .objectID(let id)): append(text: id.uriRepresentation().absoluteString, .binary)
        case (.objectID, .string(let text)): append(text: text, .binary)
        case (.reference, .objectID(let id)): KeyBytes.append(id.reference, to: &bytes)
        case (.data, .data(let data)): unsafe data.withUnsafeBytes { unsafe KeyBytes.appendEscaped($0, to: &bytes) }
        default: preconditionFailure("A \(value.kindName) has no key as \(element.type.rawValue). Convert it first.")
        }
    }

    /// Appends the raw bytes of a cell that is not null.
    mutating func append(raw: UnsafeRawBufferPointer, _ form: KeyForm) {
        let start = begin()
        switch form.type {
        case .int16: unsafe KeyBytes.appendSigned(raw.loadUnaligned(as: Int16.self), to: &bytes)
        case .int32: unsafe KeyBytes.appendSigned(raw.loadUnaligned(as: Int32.self), to: &bytes)
        case .int64: unsafe KeyBytes.appendSigned(raw.loadUnaligned(as: Int64.self), to: &bytes)
        case .double, .date: unsafe KeyBytes.append(raw.loadUnaligned(as: Double.self), to: &bytes)
        case .float: unsafe KeyBytes.append(raw.loadUnaligned(as: Float.self), to: &bytes)
        case .bool, .uuid, .decimal: unsafe bytes.append(contentsOf: raw)
        case .reference: unsafe KeyBytes.append(raw.loadUnaligned(as: UInt64.self), to: &bytes)
        case .string, .uri, .data, .objectID:
            if form.collation == .binary {
                unsafe KeyBytes.appendEscaped(raw, to: &bytes)
            } else {
                unsafe form.collation.folded(raw).withUnsafeBytes { unsafe KeyBytes.appendEscaped($0, to: &bytes) }
            }
        case .composite: noKeyOfComposite()
        }
        end(form, from: start)
    }

    private mutating func append(text: String, _ collation: KeyCollation) {
        guard collation != .binary else {
            var text = text
            return text.withUTF8 { unsafe KeyBytes.appendEscaped(UnsafeRawBufferPointer($0), to: &bytes) }
        }
        unsafe collation.folded(text.utf8).withUnsafeBytes { unsafe KeyBytes.appendEscaped($0, to: &bytes) }
    }

    private mutating func appendContent(
        of column: StoredColumn, _ row: RowView, _ element: ValueIndex.Element
    ) throws(EngineError) {
        let cell = column.column
        switch column.type {
        case .int16: KeyBytes.appendSigned(row.load(cell, as: Int16.self), to: &bytes)
        case .int32: KeyBytes.appendSigned(row.load(cell, as: Int32.self), to: &bytes)
        case .int64: KeyBytes.appendSigned(row.load(cell, as: Int64.self), to: &bytes)
        case .double, .date: KeyBytes.append(row.load(cell, as: Double.self), to: &bytes)
        case .float: KeyBytes.append(row.load(cell, as: Float.self), to: &bytes)
        case .bool: bytes.append(row.bit(cell) ? 1 : 0)
        case .reference: KeyBytes.append(row.load(cell, as: UInt64.self), to: &bytes)
        case .uuid:
            unsafe withUnsafeBytes(of: row.load(cell, as: uuid_t.self)) { unsafe bytes.append(contentsOf: $0) }
        case .decimal: bytes.append(contentsOf: try row.bytes(cell))
        case .string, .uri, .data, .objectID:
            if element.collation == .binary {
                unsafe try row.withBytes(cell) { content in unsafe KeyBytes.appendEscaped(content, to: &bytes) }
            } else {
                unsafe try row.withBytes(cell) { content in
                    unsafe element.collation.folded(content).withUnsafeBytes { unsafe KeyBytes.appendEscaped($0, to: &bytes) }
                }
            }
        case .composite: noKeyOfComposite()
        }
    }

    private func noKeyOfComposite() -> Never { preconditionFailure("A composite has no index key; only its elements have keys.") }

    // MARK: Length

    /// The maximum length of components that are stored without truncation.
    static let wholeLengthMax = 999
    /// The length of a truncated key: a prefix and 16 bytes of hash. It is one byte longer than any complete key.
    static let truncatedLength = 1000

    /// Truncates components that are too long. Called once, after the last component.
    mutating func finishComponents() {
        guard bytes.count > Self.wholeLengthMax else { return }
        isTruncated = true
        let kept = Self.truncatedLength - 16
        let hash = KeyHash(bytes[kept...])
        bytes.removeLast(bytes.count - kept)
        KeyBytes.append(hash.high, to: &bytes)
        KeyBytes.append(hash.low, to: &bytes)
    }

    mutating func append(objectKey: UInt64) { KeyBytes.append(objectKey, to: &bytes) }
}

/// A 128-bit hash of the truncated part of a long key. Fetches compare the rows; a unique constraint treats equal hashes as equal values.
private struct KeyHash {
    var high: UInt64 = 0xCBF2_9CE4_8422_2325
    var low: UInt64 = 0x9E37_79B9_7F4A_7C15

    init(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes {
            high = (high ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            low = (low &+ UInt64(byte)) &* 0xFF51_AFD7_ED55_8CCD
            low ^= low >> 29
        }
    }
}

extension IndexKey {
    /// Sets the components from the values of a row. Sets `isExcluded` if the values do not satisfy the condition of the index.
    mutating func fill(_ index: ValueIndex, values: [String: PropertyValue]) {
        reset()
        if let condition = index.condition, !condition.holds(values) {
            isExcluded = true
            return
        }
        for element in index.elements { append(element.value(in: values), element) }
        finishComponents()
    }
}

extension ValueIndex {
    /// Sets `key` to the components of a row, truncated if they are too long.
    func fill(_ key: inout IndexKey, from row: RowView, of table: EntityTable) throws(EngineError) {
        guard isPlain else { return key.fill(self, values: try values(of: row, table, changes: nil)) }
        key.reset()
        for element in elements {
            try key.append(table.column(element.property), of: row, element)
        }
        key.finishComponents()
    }

    /// Sets `key` to the components of a row in which some values are replaced; `changes` is by property index.
    func fill(
        _ key: inout IndexKey, from row: RowView, of table: EntityTable, changes: [PropertyValue?]
    ) throws(EngineError) {
        guard isPlain else { return key.fill(self, values: try values(of: row, table, changes: changes)) }
        key.reset()
        for element in elements {
            if let value = changes[element.property.index] {
                key.append(value, element)
            } else {
                try key.append(table.column(element.property), of: row, element)
            }
        }
        key.finishComponents()
    }

    /// Sets `key` to the components of the values, which are by property index.
    func fill(_ key: inout IndexKey, from values: [PropertyValue]) {
        guard isPlain else {
            let pairs = properties.map { ($0.name, values[$0.index]) }
            return key.fill(self, values: Dictionary(uniqueKeysWithValues: pairs))
        }
        key.reset()
        for element in elements { key.append(values[element.property.index], element) }
        key.finishComponents()
    }

    private func values(
        of row: RowView, _ table: EntityTable, changes: [PropertyValue?]?
    ) throws(EngineError) -> [String: PropertyValue] {
        var values: [String: PropertyValue] = [:]
        for property in properties {
            if let value = changes?[property.index] {
                values[property.name] = value
            } else {
                values[property.name] = try table.column(property).indexedValue(in: row)
            }
        }
        return values
    }
}
