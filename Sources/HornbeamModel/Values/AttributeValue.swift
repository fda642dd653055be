public import Foundation

/// The storage form of a type's values, so that they can be read without boxing.
public enum CellForm: Sendable {
    /// As a 64-bit integer: integers of every width, and `Bool`.
    case integer
    /// As a double: `Double`, `Float`, and `Date` in seconds since 2001-01-01 00:00 UTC.
    case double
    /// As text.
    case string
    /// In another form. Read such a value as a `PropertyValue`.
    case other
}

/// A Swift type for attributes.
///
/// Conforming are `String`, the integers, `Double`, `Float`, `Bool`, `Date`, `Data`, `UUID`, `URL`,
/// `Decimal`, `ManagedObjectID`, optionals of these, and `Coded` for any `Codable` value. An enum with
/// raw values conforms by declaring this protocol and `CaseIterable`, which supplies the first value of a required attribute:
/// ```swift
/// enum Priority: String, CaseIterable, AttributeValue { case low, high }
/// ```
public protocol AttributeValue: Sendable {
    /// The default attribute type for such values.
    static var attributeType: AttributeType { get }
    /// True when the Swift type can represent a missing value.
    static var isOptionalValue: Bool { get }
    /// The value of a required attribute before it is set: zero, the empty string, the first case.
    static var unsetValue: Self { get }
    /// The storage form of such values.
    static var cellForm: CellForm { get }

    /// The value in the form that the model, predicates and stores use.
    var propertyValue: PropertyValue { get }
    /// The Swift value; nil when `propertyValue` is of another kind or out of range.
    init?(propertyValue: PropertyValue)

    /// The value of an integer cell; nil when the type has another form, or the value is out of range.
    init?(integerCell: Int64)
    /// The value of a double cell; nil when the type has another form.
    init?(doubleCell: Double)
    /// The value of a text cell; nil when the type has another form, or the enum has no case with this raw value.
    init?(stringCell: String)
    /// The value of an empty cell; nil unless the type is optional.
    static var nullCell: Self? { get }
    /// True if the sum of two integers is beyond the range of their type.
    static func isOverflow(_ a: Self, plus b: Self) -> Bool
}

extension AttributeValue {
    @inlinable public static var isOptionalValue: Bool { false }
    @inlinable public static var cellForm: CellForm { .other }
    @inlinable public static var nullCell: Self? { nil }
    @inlinable public static func isOverflow(_ a: Self, plus b: Self) -> Bool { false }
    @inlinable public init?(integerCell: Int64) { return nil }
    @inlinable public init?(doubleCell: Double) { return nil }
    @inlinable public init?(stringCell: String) { return nil }
}

extension String: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .string }
    @inlinable public static var unsetValue: String { "" }
    @inlinable public static var cellForm: CellForm { .string }
    @inlinable public var propertyValue: PropertyValue { .string(self) }
    @inlinable public init?(propertyValue: PropertyValue) {
        guard case .string(let value) = propertyValue else { return nil }
        self = value
    }
    @inlinable public init?(stringCell: String) { self = stringCell }
}

extension Bool: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .boolean }
    @inlinable public static var unsetValue: Bool { false }
    @inlinable public static var cellForm: CellForm { .integer }
    @inlinable public var propertyValue: PropertyValue { .bool(self) }
    public init?(propertyValue: PropertyValue) {
        guard let value = propertyValue.boolValue else { return nil }
        self = value
    }
    @inlinable public init?(integerCell: Int64) { self = integerCell != 0 }
}

extension AttributeValue where Self: FixedWidthInteger {
    /// Zero.
    @inlinable public static var unsetValue: Self { 0 }
    @inlinable public static var cellForm: CellForm { .integer }
    @inlinable public var propertyValue: PropertyValue { .int(Int64(self)) }
    public init?(propertyValue: PropertyValue) {
        guard let value = propertyValue.intValue else { return nil }
        self.init(exactly: value)
    }
    @inlinable public init?(integerCell: Int64) { self.init(exactly: integerCell) }
    @inlinable public static func isOverflow(_ a: Self, plus b: Self) -> Bool { a.addingReportingOverflow(b).overflow }
}

extension Int: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer64 }
}
extension Int64: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer64 }
}
extension Int32: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer32 }
}
extension Int16: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer16 }
}
extension Int8: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer16 }
}
extension UInt8: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer16 }
}
extension UInt16: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer32 }
}
extension UInt32: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .integer64 }
}

extension Double: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .double }
    @inlinable public static var unsetValue: Double { 0 }
    @inlinable public static var cellForm: CellForm { .double }
    @inlinable public var propertyValue: PropertyValue { .double(self) }
    public init?(propertyValue: PropertyValue) {
        guard let value = propertyValue.doubleValue else { return nil }
        self = value
    }
    @inlinable public init?(doubleCell: Double) { self = doubleCell }
}

extension Float: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .float }
    @inlinable public static var unsetValue: Float { 0 }
    @inlinable public static var cellForm: CellForm { .double }
    @inlinable public var propertyValue: PropertyValue { .double(Double(self)) }
    public init?(propertyValue: PropertyValue) {
        guard let value = propertyValue.doubleValue else { return nil }
        self = Float(value)
    }
    @inlinable public init?(doubleCell: Double) { self = Float(doubleCell) }
}

extension Date: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .date }
    @inlinable public static var unsetValue: Date { Date(timeIntervalSinceReferenceDate: 0) }
    @inlinable public static var cellForm: CellForm { .double }
    @inlinable public var propertyValue: PropertyValue { .date(self) }
    @inlinable public init?(propertyValue: PropertyValue) {
        guard case .date(let value) = propertyValue else { return nil }
        self = value
    }
    @inlinable public init?(doubleCell: Double) { self.init(timeIntervalSinceReferenceDate: doubleCell) }
}

extension Decimal: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .decimal }
    @inlinable public static var unsetValue: Decimal { 0 }
    @inlinable public var propertyValue: PropertyValue { .decimal(self) }
    public init?(propertyValue: PropertyValue) {
        guard let value = propertyValue.decimalValue else { return nil }
        self = value
    }
}

extension Data: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .binary }
    @inlinable public static var unsetValue: Data { Data() }
    @inlinable public var propertyValue: PropertyValue { .data(self) }
    @inlinable public init?(propertyValue: PropertyValue) {
        guard case .data(let value) = propertyValue else { return nil }
        self = value
    }
}

extension UUID: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .uuid }
    @inlinable public static var unsetValue: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    @inlinable public var propertyValue: PropertyValue { .uuid(self) }
    @inlinable public init?(propertyValue: PropertyValue) {
        guard case .uuid(let value) = propertyValue else { return nil }
        self = value
    }
}

extension URL: AttributeValue {
    @inlinable public static var attributeType: AttributeType { .uri }
    /// `about:blank`, because `URL(string:)` makes no empty URL.
    public static var unsetValue: URL { blank }
    @inlinable public var propertyValue: PropertyValue { .uri(self) }
    @inlinable public init?(propertyValue: PropertyValue) {
        guard case .uri(let value) = propertyValue else { return nil }
        self = value
    }
    private static let blank = URL(string: "about:blank") ?? URL(filePath: "/")
}

extension ManagedObjectID: AttributeValue {
    public static var attributeType: AttributeType { .objectID }
    /// An ID that no store contains.
    public static var unsetValue: ManagedObjectID { none }
    public var propertyValue: PropertyValue { .objectID(self) }
    public init?(propertyValue: PropertyValue) {
        guard case .objectID(let value) = propertyValue else { return nil }
        self = value
    }
    private static let none = ManagedObjectID(
        origin: StoreIdentity(entityName: "", storeIdentifier: nil, entityNumber: -1), reference: 0)
}

/// Any value. For attributes that have a type in the model and no type in Swift.
extension PropertyValue: AttributeValue {
    public static var attributeType: AttributeType { .undefined }
    public static var isOptionalValue: Bool { true }
    public static var unsetValue: PropertyValue { .null }
    public static var nullCell: PropertyValue? { .some(.null) }
    public var propertyValue: PropertyValue { self }
    public init?(propertyValue: PropertyValue) { self = propertyValue }
}

/// The elements of a composite attribute by name (ATT-13).
extension Dictionary: AttributeValue where Key == String, Value == PropertyValue {
    public static var attributeType: AttributeType { .composite }
    public static var unsetValue: [String: PropertyValue] { [:] }
    public var propertyValue: PropertyValue { .dictionary(self) }
    public init?(propertyValue: PropertyValue) {
        guard case .dictionary(let parts) = propertyValue else { return nil }
        self = parts
    }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
    @inlinable public static var attributeType: AttributeType { Wrapped.attributeType }
    @inlinable public static var isOptionalValue: Bool { true }
    @inlinable public static var unsetValue: Wrapped? { .none }
    @inlinable public static var cellForm: CellForm { Wrapped.cellForm }
    @inlinable public static var nullCell: Wrapped?? { .some(.none) }
    @inlinable public var propertyValue: PropertyValue { self?.propertyValue ?? .null }
    @inlinable public init?(propertyValue: PropertyValue) {
        if case .null = propertyValue {
            self = .none
        } else {
            guard let value = Wrapped(propertyValue: propertyValue) else { return nil }
            self = .some(value)
        }
    }
    @inlinable public init?(integerCell: Int64) {
        guard let value = Wrapped(integerCell: integerCell) else { return nil }
        self = .some(value)
    }
    @inlinable public init?(doubleCell: Double) {
        guard let value = Wrapped(doubleCell: doubleCell) else { return nil }
        self = .some(value)
    }
    @inlinable public init?(stringCell: String) {
        guard let value = Wrapped(stringCell: stringCell) else { return nil }
        self = .some(value)
    }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
    @inlinable public static var attributeType: AttributeType { RawValue.attributeType }
    @inlinable public static var cellForm: CellForm { RawValue.cellForm }
    @inlinable public var propertyValue: PropertyValue { rawValue.propertyValue }
    @inlinable public init?(propertyValue: PropertyValue) {
        guard let raw = RawValue(propertyValue: propertyValue) else { return nil }
        self.init(rawValue: raw)
    }
    @inlinable public init?(integerCell: Int64) {
        guard let raw = RawValue(integerCell: integerCell) else { return nil }
        self.init(rawValue: raw)
    }
    @inlinable public init?(doubleCell: Double) {
        guard let raw = RawValue(doubleCell: doubleCell) else { return nil }
        self.init(rawValue: raw)
    }
    @inlinable public init?(stringCell: String) {
        guard let raw = RawValue(stringCell: stringCell) else { return nil }
        self.init(rawValue: raw)
    }
}

extension AttributeValue where Self: RawRepresentable & CaseIterable, RawValue: AttributeValue {
    /// The case whose raw value is zero or empty, else the first.
    public static var unsetValue: Self {
        if let zero = Self(rawValue: RawValue.unsetValue) { return zero }
        guard let first = allCases.first else {
            misuse("The enum \(Self.self) has no cases, so no attribute can have its type.")
        }
        return first
    }
}

extension AttributeValue where Self: OptionSet, RawValue: AttributeValue {
    /// The empty set.
    @inlinable public static var unsetValue: Self { [] }
}
