internal import Foundation

/// The rule that merges a property that two contexts changed. It takes precedence over the merge policy.
///
/// ```swift
/// static let likes = Attribute<Int>("likes", default: 0, merge: .sum)
/// static let lastSeen = Attribute<Date?>("lastSeen", merge: .maximum)
/// ```
/// Not part of the version hash: changing a rule requires no migration (MRG-6).
public enum MergeRule: String, Hashable, Sendable, CaseIterable {
    /// The value of the context that saves last.
    case mine
    /// The value that was saved first.
    case theirs
    /// The larger value, for numbers, dates, texts and booleans (`true` is larger). A missing value is the smallest.
    case maximum
    /// The smaller value. A missing value is the largest.
    case minimum
    /// The base value plus the changes of both contexts, so that no increment is lost.
    case sum
    /// For lists and sets stored as `Coded`: the old elements and those that either context added, without those that either
    /// context removed. To-many relationships are always merged in this way.
    case union
    /// The result of `mergedValue(for:)` of the object's class.
    case custom
}

extension MergeRule {
    /// True when the rule applies to values of a type.
    func fits(_ type: AttributeType) -> Bool {
        switch self {
        case .mine, .theirs, .custom: true
        case .maximum, .minimum: type.isNumeric || type == .date || type == .string
        case .sum: type.isNumeric && type != .boolean
        case .union: type == .transformable
        }
    }

    /// The merged value; nil when the rule does not apply, so that the merge policy decides.
    package func merged(
        base: PropertyValue, mine: PropertyValue, theirs: PropertyValue, type: AttributeType
    ) -> PropertyValue? {
        switch self {
        case .mine: return mine
        case .theirs: return theirs
        case .maximum, .minimum:
            if mine.isNull { return theirs }
            if theirs.isNull { return mine }
            return mine.sortOrder(to: theirs) == (self == .maximum ? .greater : .less) ? mine : theirs
        case .sum:
            let zero = PropertyValue.int(0)
            let change = Arithmetic.subtract(mine.isNull ? zero : mine, base.isNull ? zero : base)
            let sum = Arithmetic.add(theirs.isNull ? zero : theirs, change)
            guard !sum.isNull, let value = try? sum.coerced(to: type) else { return nil }
            return value
        case .union: return Self.union(base, mine, theirs)
        case .custom: return nil
        }
    }

    private static func union(
        _ base: PropertyValue, _ mine: PropertyValue, _ theirs: PropertyValue
    ) -> PropertyValue? {
        guard let base = elements(base), let mine = elements(mine), let theirs = elements(theirs) else { return nil }
        let (before, wanted, there) = (Set(base), Set(mine), Set(theirs))
        let remaining = theirs.filter { wanted.contains($0) || !before.contains($0) }
        let added = mine.filter { !before.contains($0) && !there.contains($0) }
        return Coded(remaining + added).propertyValue
    }

    /// The elements of a JSON list; nil when the value is not a list.
    private static func elements(_ value: PropertyValue) -> [JSONElement]? {
        switch value {
        case .null: []
        case .data(let bytes): try? JSONDecoder().decode([JSONElement].self, from: bytes)
        default: nil
        }
    }
}

/// Encoded as its raw value (`"sum"`).
extension MergeRule: Codable, CustomStringConvertible {
    public var description: String { rawValue }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let rule = Self(rawValue: name) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "“\(name)” is not a merge rule"
                    + suggestion(for: name, among: Self.allCases.map(\.rawValue)) + ".")
        }
        self = rule
    }
}

/// Any JSON value, for comparison.
private enum JSONElement: Hashable, Codable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case decimal(Decimal)
    case number(Double)
    case text(String)
    case list([JSONElement])
    case object([String: JSONElement])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let truth = try? container.decode(Bool.self) {
            self = .bool(truth)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? container.decode(Double.self) {
            // A decimal keeps digits that a double rounds, but has a smaller range of exponents.
            let decimal = try? container.decode(Decimal.self)
            if let decimal, Double(decimal.description) == number { self = .decimal(decimal) } else { self = .number(number) }
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([JSONElement].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: JSONElement].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let truth): try container.encode(truth)
        case .integer(let number): try container.encode(number)
        case .decimal(let number): try container.encode(number)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .object(let members): try container.encode(members)
        }
    }
}
