internal import Foundation

extension PropertyDescription {
    /// All that is wrong with a value of this attribute, or an empty list (ATT-3, ATT-5 … ATT-8).
    ///
    /// A value of the wrong type is the only thing reported of it. Relationships are checked by `errors(forCount:)`.
    package func errors(for value: PropertyValue) -> [HornbeamError] {
        guard let attribute, needsValidation || !value.isNull else { return [] }
        if value.isNull {
            return attribute.isOptional ? [] : [missingValue]
        }
        let coerced: PropertyValue
        do {
            coerced = try value.coerced(to: attribute.type, entity: entity.name, key: name)
        } catch let error as HornbeamError {
            return [error]
        } catch {
            return [failure(.typeMismatch, "has a value of the wrong type.", value)]
        }
        guard needsValidation else { return [] }
        return limitErrors(attribute, coerced) + lengthErrors(attribute, coerced)
            + patternErrors(attribute, coerced)
    }

    /// Checks a value of this attribute as it would be checked at save (VAL-1).
    ///
    /// - Throws: `HornbeamError`; code `multipleErrors` when several rules are broken.
    public func validate(_ value: PropertyValue) throws {
        if let error = HornbeamError.combining(errors(for: value)) { throw error }
    }

    /// What is wrong with the number of objects of this relationship; nil when nothing is (REL-2).
    ///
    /// An empty optional relationship is right whatever its minimum.
    package func error(forCount count: Int) -> HornbeamError? {
        guard let relationship else { return nil }
        if count == 0 {
            if relationship.isOptional { return nil }
            if !relationship.isToMany { return missingValue }
        }
        let fewest = max(relationship.minCount, relationship.isOptional ? 0 : 1)
        if count < fewest {
            return failure(
                .tooFewObjects, "has \(counted(count, "object")) and needs at least \(fewest).", .int(Int64(count)))
        }
        if relationship.isToMany, relationship.maxCount > 0, count > relationship.maxCount {
            return failure(
                .tooManyObjects, "has \(counted(count, "object")) and may have at most \(relationship.maxCount).",
                .int(Int64(count)))
        }
        return nil
    }

    /// The error of a deletion that the deny rule of this relationship forbids (REL-6).
    package func denial(count: Int) -> HornbeamError {
        HornbeamError(
            .deleteDenied,
            "The object cannot be deleted while “\(displayName)” leads to \(counted(count, "object")): "
                + "remove or delete them first.",
            entity: entity.name, key: name)
    }

    // MARK: The single rules

    private var missingValue: HornbeamError {
        failure(.missingRequiredValue, "is required and has no value: set it before saving.", nil)
    }

    private func limitErrors(_ attribute: AttributeDescription, _ value: PropertyValue) -> [HornbeamError] {
        let isDate = attribute.type == .date
        if case .date(let date) = value, !date.timeIntervalSinceReferenceDate.isFinite {
            return [failure(.invalidDate, "has a date that is not a point in time.", value)]
        }
        if let maximum = attribute.maximum, value.compared(to: maximum) == .greater {
            let code: HornbeamError.Code = isDate ? .dateTooLate : .numberTooLarge
            return [failure(code, "is too \(isDate ? "late" : "large"): it may be at most \(maximum).", value)]
        }
        if let minimum = attribute.minimum, value.compared(to: minimum) == .less {
            let code: HornbeamError.Code = isDate ? .dateTooSoon : .numberTooSmall
            return [failure(code, "is too \(isDate ? "early" : "small"): it must be at least \(minimum).", value)]
        }
        return []
    }

    private func lengthErrors(_ attribute: AttributeDescription, _ value: PropertyValue) -> [HornbeamError] {
        let length: Int
        let unit: String
        switch value {
        case .string(let text): (length, unit) = (text.count, "character")
        case .data(let bytes): (length, unit) = (bytes.count, "byte")
        default: return []
        }
        if let maximum = attribute.maximumLength, length > maximum {
            return [failure(.stringTooLong, "has \(counted(length, unit)) and may have at most \(maximum).", value)]
        }
        if let minimum = attribute.minimumLength, length < minimum {
            return [failure(.stringTooShort, "has \(counted(length, unit)) and needs at least \(minimum).", value)]
        }
        return []
    }

    private func patternErrors(_ attribute: AttributeDescription, _ value: PropertyValue) -> [HornbeamError] {
        guard let expression, case .string(let text) = value else { return [] }
        let whole = NSRange(location: 0, length: text.utf16.count)
        if expression.firstMatch(in: text, options: [.anchored], range: whole) != nil { return [] }
        return [failure(.stringPatternMismatch, "does not match the pattern \(attribute.pattern ?? "").", value)]
    }

    private func failure(_ code: HornbeamError.Code, _ what: String, _ value: PropertyValue?) -> HornbeamError {
        HornbeamError(code, "“\(displayName)” \(what)", entity: entity.name, key: name, value: value)
    }

    /// `Book.title`, or what the model's localisation dictionary calls it (MDL-3).
    package var displayName: String {
        entity.managedObjectModel.localizedName(ofProperty: name, entity: entity.name) ?? "\(entity.name).\(name)"
    }
}

extension NSRegularExpression {
    /// The pattern held to a whole text, so that of `a|ab` the second choice is tried too.
    convenience init(wholeText pattern: String) throws {
        _ = try NSRegularExpression(pattern: pattern)
        try self.init(pattern: "(?:\(pattern))\\z")
    }
}

/// “1 object”, “3 objects”.
private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
