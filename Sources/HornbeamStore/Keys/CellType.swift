internal import HornbeamEngine
internal import HornbeamModel

/// The representation of a property's values in rows and keys. The catalogue stores the raw value.
package enum CellType: String, Sendable, Codable, CaseIterable {
    case int16, int32, int64, double, float, bool
    /// Seconds since 2001-01-01 00:00 UTC as a double, Foundation's representation, so that a date is stored without rounding.
    case date
    /// The encoding of `DecimalCode`, so that the bytes of cells sort like the decimals.
    case decimal
    case string, uri
    case data
    case uuid
    /// An object ID as URI text, for attributes of type `objectID`.
    case objectID
    /// The elements of a composite attribute (see `CompositeCode`).
    case composite
    /// The key of a to-one's destination.
    case reference

    /// Nil for `undefined`, which has no cell.
    init?(_ type: AttributeType) {
        switch type {
        case .integer16: self = .int16
        case .integer32: self = .int32
        case .integer64: self = .int64
        case .decimal: self = .decimal
        case .double: self = .double
        case .float: self = .float
        case .string: self = .string
        case .boolean: self = .bool
        case .date: self = .date
        case .binary, .transformable: self = .data
        case .uuid: self = .uuid
        case .uri: self = .uri
        case .objectID: self = .objectID
        case .composite: self = .composite
        case .undefined: return nil
        }
    }

    /// The engine's column for cells of this type.
    var columnKind: ColumnKind {
        switch self {
        case .bool: .bit
        case .int16: .fixed2
        case .int32, .float: .fixed4
        case .int64, .double, .date, .reference: .fixed8
        case .uuid: .fixed16
        case .decimal, .string, .uri, .data, .objectID, .composite: .bytes
        }
    }

    /// True when the bytes of a key have variable length.
    var isVariable: Bool { columnKind == .bytes }

    /// True for the types whose cells are text.
    var isText: Bool { self == .string || self == .uri }
}
