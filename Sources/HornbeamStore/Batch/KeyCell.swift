internal import Foundation
internal import HornbeamModel

/// The raw bytes of a cell that is part of an index key. A batch keeps them beside the row while it fills the row.
struct KeyCell {
    /// False for columns without an index.
    let isNeeded: Bool
    private(set) var isNull = true
    private(set) var bytes: [UInt8] = []

    init(isNeeded: Bool) { self.isNeeded = isNeeded }

    mutating func clear() {
        isNull = true
        bytes.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    mutating func set(_ raw: UnsafeRawBufferPointer) {
        isNull = false
        if !bytes.isEmpty { bytes.removeAll(keepingCapacity: true) }
        unsafe bytes.append(contentsOf: raw)
    }

    /// Sets a value that was converted to the column's type.
    mutating func set(_ value: PropertyValue) {
        switch value {
        case .null: clear()
        case .int(let number): unsafe withUnsafeBytes(of: number) { unsafe set($0) }
        case .double(let number): unsafe withUnsafeBytes(of: number) { unsafe set($0) }
        case .bool(let flag): set(flag: flag ? 1 : 0)
        case .date(let date): unsafe withUnsafeBytes(of: date.timeIntervalSinceReferenceDate) { unsafe set($0) }
        case .uuid(let uuid): unsafe withUnsafeBytes(of: uuid.uuid) { unsafe set($0) }
        case .string(let text): set(text)
        case .uri(let url): set(url.absoluteString)
        case .data(let data): unsafe data.withUnsafeBytes { unsafe set($0) }
        case .objectID(let id): set(id.uriRepresentation().absoluteString)
        case .decimal(let number):
            var code: [UInt8] = []
            DecimalCode.append(number, to: &code)
            (isNull, bytes) = (false, code)
        case .dictionary(let parts): (isNull, bytes) = (false, CompositeCode.encode(parts))
        case .array, .set: preconditionFailure("A \(value.kindName) is not a value of an attribute.")
        }
    }

    /// The value of the cell for conditions and keys of indexes.
    func value(of type: CellType) -> PropertyValue {
        guard !isNull else { return .null }
        return unsafe bytes.withUnsafeBytes { raw in
            switch type {
            case .int16, .int32, .int64: unsafe .int(raw.integer)
            case .double: unsafe .double(raw.loadUnaligned(as: Double.self))
            case .float: unsafe .double(raw.count == 8 ? raw.loadUnaligned(as: Double.self) : Double(raw.loadUnaligned(as: Float.self)))
            case .bool: unsafe .bool(raw.first != 0)
            case .date: unsafe .date(Date(timeIntervalSinceReferenceDate: raw.loadUnaligned(as: Double.self)))
            case .uuid: unsafe .uuid(UUID(uuid: raw.loadUnaligned(as: uuid_t.self)))
            case .string, .objectID: unsafe .string(String(decoding: raw, as: UTF8.self))
            case .uri: unsafe URL(stored: String(decoding: raw, as: UTF8.self)).map { .uri($0) } ?? .null
            case .data: unsafe .data(Data(raw))
            case .decimal: DecimalCode.decode(bytes).map { .decimal($0) } ?? .null
            case .composite: CompositeCode.decode(bytes).map { .dictionary($0) } ?? .null
            case .reference:
                unsafe .objectID(ManagedObjectID(origin: StoredColumn.placeholderOrigin, reference: raw.loadUnaligned(as: UInt64.self)))
            }
        }
    }

    private mutating func set(flag: UInt8) { unsafe withUnsafeBytes(of: flag) { unsafe set($0) } }

    private mutating func set(_ text: String) {
        var text = text
        text.withUTF8 { unsafe set(UnsafeRawBufferPointer($0)) }
    }
}

extension IndexKey {
    /// Appends the component of a raw cell. The cell of a number may have more bytes than its column has; the value is known to be in range.
    mutating func append(_ cell: KeyCell, _ element: ValueIndex.Element) {
        guard !cell.isNull else { return appendNull(element) }
        unsafe cell.bytes.withUnsafeBytes { unsafe append(raw: $0, element) }
    }
}
