internal import Foundation

extension PropertyValue {
    /// The value converted to an attribute type, or an error with the reason.
    ///
    /// Numbers convert to other numeric types without change of value: `3.0` becomes an integer, `3.5`
    /// does not, and an integer must be in the range of its type. For a float or double the number is rounded to
    /// its precision, and −0 becomes 0. Values of other types do not convert. Every type accepts `.null`.
    ///
    /// - Throws: `HornbeamError` with code `typeMismatch`, `numberTooLarge` or `numberTooSmall`.
    public func coerced(to type: AttributeType, entity: String? = nil, key: String? = nil) throws -> PropertyValue {
        if isNull { return self }
        switch type {
        case .undefined: return self
        case .integer16, .integer32, .integer64:
            if case .int(let value) = self, type == .integer64 || type.integerRange?.contains(value) == true {
                return self
            }
            return try coercedToInteger(type, entity, key)
        case .double:
            if let value = doubleValue { return .double(value == 0 ? 0 : value) }
        case .float:
            if let value = doubleValue { return try coercedToFloat(value, entity, key) }
        case .decimal:
            if let value = decimalValue { return .decimal(value) }
        case .boolean:
            if case .bool = self { return self }
            if let value = intValue, value == 0 || value == 1 { return .bool(value == 1) }
        case .string:
            if case .string = self { return self }
        case .date:
            if case .date = self { return self }
        case .binary:
            if case .data = self { return self }
        case .uuid:
            if case .uuid = self { return self }
        case .uri:
            if case .uri = self { return self }
        case .transformable:
            if case .data = self { return self }
        case .objectID:
            if case .objectID = self { return self }
        case .composite:
            if case .dictionary = self { return self }
        }
        throw mismatch(type, entity, key)
    }

    private func coercedToInteger(_ type: AttributeType, _ entity: String?, _ key: String?) throws -> PropertyValue {
        guard let range = type.integerRange, isNumeric else { throw mismatch(type, entity, key) }
        if let value = intValue, range.contains(value) { return .int(value) }
        let aboveRange = compared(to: .int(range.upperBound)) == .greater
        let belowRange = compared(to: .int(range.lowerBound)) == .less
        guard aboveRange || belowRange else { throw mismatch(type, entity, key) }
        let bound = aboveRange ? "above \(range.upperBound)" : "below \(range.lowerBound)"
        throw HornbeamError(
            aboveRange ? .numberTooLarge : .numberTooSmall,
            "The number given for \(place(entity, key)) is \(bound), which \(type.withArticle) cannot hold. "
                + "Give a number in range, or a wider type in the model.",
            entity: entity, key: key, value: self)
    }

    private func coercedToFloat(_ value: Double, _ entity: String?, _ key: String?) throws -> PropertyValue {
        let rounded = Float(value)
        guard rounded.isFinite || !value.isFinite else {
            throw HornbeamError(
                value > 0 ? .numberTooLarge : .numberTooSmall,
                "The number given for \(place(entity, key)) is beyond what a float can hold. "
                    + "Give a number in range, or make the attribute a double in the model.",
                entity: entity, key: key, value: self)
        }
        return .double(rounded == 0 ? 0 : Double(rounded))
    }

    private var isNumeric: Bool {
        switch self {
        case .bool, .int, .double, .decimal: true
        default: false
        }
    }

    private func mismatch(_ type: AttributeType, _ entity: String?, _ key: String?) -> HornbeamError {
        let given: String
        switch self {
        case .double where type.integerRange != nil, .decimal where type.integerRange != nil: given = "a number that is not whole"
        default: given = kindWithArticle
        }
        return HornbeamError(
            .typeMismatch,
            "The value of \(place(entity, key)) must be \(type.withArticle), and \(given) was given.",
            entity: entity, key: key, value: self)
    }

    /// The type of the value with its article: “a string”.
    package var kindWithArticle: String {
        switch self {
        case .null: "nil"
        case .data: "binary data"
        case .uri: "a URI"
        case .objectID: "an object ID"
        default: "a \(kindName)"
        }
    }
}

extension AttributeType {
    /// True when an attribute of the type stores the value without conversion; false when a conversion may be needed.
    package func holds(_ value: PropertyValue) -> Bool {
        switch value {
        case .null: true
        case .int: self == .integer64
        case .double(let number): self == .double && (number != 0 || number.sign == .plus)
        case .bool: self == .boolean
        case .string: self == .string
        case .date: self == .date
        case .data: self == .binary || self == .transformable
        case .uuid: self == .uuid
        case .uri: self == .uri
        case .decimal: self == .decimal
        default: false
        }
    }

    /// The type with its article: “an integer of 16 bits”.
    package var withArticle: String {
        switch self {
        case .undefined: "any value"
        case .integer16: "an integer of 16 bits"
        case .integer32: "an integer of 32 bits"
        case .integer64: "an integer of 64 bits"
        case .decimal: "a decimal number"
        case .double: "a double"
        case .float: "a float"
        case .string: "a string"
        case .boolean: "a boolean"
        case .date: "a date"
        case .binary: "binary data"
        case .uuid: "a UUID"
        case .uri: "a URI"
        case .transformable: "a transformable value"
        case .objectID: "an object ID"
        case .composite: "a dictionary of the composite's elements"
        }
    }
}

/// A property in messages: `Book.title`.
package func place(_ entity: String?, _ key: String?) -> String {
    switch (entity, key) {
    case (let entity?, let key?): "“\(entity).\(key)”"
    case (nil, let key?): "“\(key)”"
    case (let entity?, nil): "“\(entity)”"
    case (nil, nil): "the property"
    }
}
