internal import Foundation
internal import HornbeamModel

/// The cell of a column that index keys are made of, kept beside the row while a batch fills it: the raw bytes of the cell.
struct KeyCell {
    /// False for columns that no index looks at.
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
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: raw)
    }

    /// A value that was coerced to the column's type.
    mutating func set(_ value: PropertyValue) {
        clear()
        switch value {
        case .null: return
        case .int(let number): withUnsafeBytes(of: number) { set($0) }
        case .double(let number): withUnsafeBytes(of: number) { set($0) }
        case .bool(let flag): set(flag: flag ? 1 : 0)
        case .date(let date): withUnsafeBytes(of: date.timeIntervalSinceReferenceDate) { set($0) }
        case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { set($0) }
        case .string(let text): set(text)
        case .uri(let url): set(url.absoluteString)
        case .data(let data): data.withUnsafeBytes { set($0) }
        case .objectID(let id): set(id.uriRepresentation().absoluteString)
        case .decimal(let number):
            isNull = false
            DecimalCode.append(number, to: &bytes)
        case .array, .set, .dictionary: preconditionFailure("A \(value.kindName) is no value of an attribute.")
        }
    }

    private mutating func set(flag: UInt8) { withUnsafeBytes(of: flag) { set($0) } }

    private mutating func set(_ text: String) {
        var text = text
        text.withUTF8 { set(UnsafeRawBufferPointer($0)) }
    }
}

extension IndexKey {
    /// The component of a raw cell. Numbers may be wider than the column is: they were checked.
    mutating func append(_ cell: KeyCell, _ element: ValueIndex.Element) {
        guard !cell.isNull else { return appendNull(element) }
        cell.bytes.withUnsafeBytes { append(raw: $0, element) }
    }
}
