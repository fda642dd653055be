internal import Foundation

/// The rules for the values of one attribute, with parsed patterns and predicates.
final class AttributeRules: Sendable {
    let attribute: AttributeDescription
    /// True when a value of the right type, or a missing value, can be invalid.
    let canBeInvalid: Bool
    /// True when a value of the right type can be invalid.
    let limitsValues: Bool
    // Copies of the members that every check reads: reading them from the large description is slower.
    private let type: AttributeType
    private let isOptional: Bool
    private let isComposite: Bool
    private let hasLengths: Bool
    private let minimum: PropertyValue?
    private let maximum: PropertyValue?
    private let pattern: BoundedPattern?
    private let predicates: [(rule: ValidationRule, predicate: FetchPredicate)]
    /// The rules of a composite's elements, by name (ATT-13).
    private let elements: [AttributeRules]

    /// The model compiler has checked that pattern and predicates parse, and that no composite contains itself.
    init(_ attribute: AttributeDescription, composites: [String: CompositeDescription]) {
        self.attribute = attribute
        type = attribute.type
        isOptional = attribute.isOptional
        isComposite = attribute.type == .composite
        hasLengths = attribute.minimumLength != nil || attribute.maximumLength != nil
        minimum = attribute.minimum
        maximum = attribute.maximum
        pattern = attribute.pattern.flatMap { try? BoundedPattern($0, []) }
        predicates = attribute.rules.compactMap { rule in
            (try? FetchPredicate(format: rule.predicate)).map { (rule, $0) }
        }
        let parts = attribute.compositeName.flatMap { composites[$0]?.elements } ?? []
        elements = parts.map { AttributeRules($0, composites: composites) }
        limitsValues = attribute.limitsValues || elements.contains(where: \.canBeInvalid)
        canBeInvalid = attribute.hasRules || elements.contains(where: \.canBeInvalid)
    }

    /// True when the attribute stores the value without conversion; false when a conversion may be needed.
    func storesUnconverted(_ value: PropertyValue) -> Bool { type.holds(value) }

    /// The value converted to the attribute's type, elements of a composite included.
    ///
    /// - Throws: As `PropertyValue.coerced(to:entity:key:)`; code `unknownKey` for an unknown element.
    func coerced(_ value: PropertyValue, entity: String, key: String) throws -> PropertyValue {
        guard isComposite, case .dictionary(let given) = value else {
            return try value.coerced(to: type, entity: entity, key: key)
        }
        var parts: [String: PropertyValue] = [:]
        for (name, part) in given {
            guard let element = elements.first(where: { $0.attribute.name == name }) else {
                throw HornbeamError(
                    .unknownKey,
                    "The composite attribute “\(entity).\(key)” has no element “\(name)”"
                        + suggestion(for: name, among: elements.map(\.attribute.name)) + ".",
                    entity: entity, key: "\(key).\(name)")
            }
            let coercedValue = try element.coerced(part, entity: entity, key: "\(key).\(name)")
            if !coercedValue.isNull { parts[name] = coercedValue }
        }
        return .dictionary(parts)
    }

    /// The value of a stored composite without the elements that were removed from the model.
    func withoutRemovedElements(_ parts: [String: PropertyValue]) -> [String: PropertyValue] {
        var result: [String: PropertyValue] = [:]
        for element in elements {
            guard let part = parts[element.attribute.name] else { continue }
            if case .dictionary(let inner) = part, element.isComposite {
                result[element.attribute.name] = .dictionary(element.withoutRemovedElements(inner))
            } else {
                result[element.attribute.name] = part
            }
        }
        return result
    }

    /// The value in a new object: the default of the attribute, or for a required composite the defaults of its elements. A default that does not
    /// fit is not converted, and a save reports it.
    var defaultValue: PropertyValue {
        guard isComposite, !isOptional, attribute.defaultValue.isNull else {
            return (try? coerced(attribute.defaultValue, entity: "", key: attribute.name)) ?? attribute.defaultValue
        }
        let parts = elements.map { ($0.attribute.name, $0.defaultValue) }.filter { !$0.1.isNull }
        return parts.isEmpty ? .null : .dictionary(Dictionary(parts) { first, _ in first })
    }

    /// All errors of a value. `place` is called only for an error, because most values are valid.
    func errors(for value: PropertyValue, at place: () -> ValueLocation) -> [HornbeamError] {
        if value.isNull { return isOptional ? [] : [place().missingValue] }
        if !limitsValues, storesUnconverted(value) { return [] }
        let coercedValue: PropertyValue
        do {
            coercedValue = try isComposite ? coerced(value, entity: place().entity, key: place().key) : value.coerced(to: type)
        } catch {
            // Convert again, so that the message contains the place.
            do {
                _ = try coerced(value, entity: place().entity, key: place().key)
                return []
            } catch {
                return [error as? HornbeamError ?? place().failure(.typeMismatch, "has a value of the wrong type.", value)]
            }
        }
        guard limitsValues else { return [] }
        var errors: [HornbeamError] = []
        if let error = limitError(coercedValue, place) { errors.append(error) }
        if hasLengths, let error = lengthError(coercedValue, place) { errors.append(error) }
        if pattern != nil, let error = patternError(coercedValue, place) { errors.append(error) }
        if !predicates.isEmpty { errors += predicateErrors(coercedValue, place()) }
        if isComposite { errors += elementErrors(coercedValue, place()) }
        return errors
    }

    private func limitError(_ value: PropertyValue, _ place: () -> ValueLocation) -> HornbeamError? {
        let isDate = type == .date
        if case .date(let date) = value, !date.timeIntervalSinceReferenceDate.isFinite {
            return place().failure(.invalidDate, "has a date that is not a point in time.", value)
        }
        if let maximum, value.compared(to: maximum) == .greater {
            let code: HornbeamError.Code = isDate ? .dateTooLate : .numberTooLarge
            return place().failure(code, "is too \(isDate ? "late" : "large"): it may be at most \(maximum).", value)
        }
        if let minimum, value.compared(to: minimum) == .less {
            let code: HornbeamError.Code = isDate ? .dateTooSoon : .numberTooSmall
            return place().failure(code, "is too \(isDate ? "early" : "small"): it must be at least \(minimum).", value)
        }
        return nil
    }

    private func lengthError(_ value: PropertyValue, _ place: () -> ValueLocation) -> HornbeamError? {
        let length: Int
        let unit: String
        switch value {
        case .string(let text): (length, unit) = (text.count, "character")
        case .data(let bytes): (length, unit) = (bytes.count, "byte")
        default: return nil
        }
        if let maximum = attribute.maximumLength, length > maximum {
            return place().failure(.stringTooLong, "has \(counted(length, unit)) and may have at most \(maximum).", value)
        }
        if let minimum = attribute.minimumLength, length < minimum {
            return place().failure(.stringTooShort, "has \(counted(length, unit)) and needs at least \(minimum).", value)
        }
        return nil
    }

    private func patternError(_ value: PropertyValue, _ place: () -> ValueLocation) -> HornbeamError? {
        guard let pattern, case .string(let text) = value else { return nil }
        var cause: String?
        do {
            if try pattern.matches(text) { return nil }
        } catch {
            cause = message(of: error)
        }
        var failure = place().failure(.stringPatternMismatch, "does not match the pattern \(attribute.pattern ?? "").", value)
        failure.cause = cause
        return failure
    }

    /// The predicates that a value violates, each with its warning, localised by the model (ATT-8, MDL-3).
    private func predicateErrors(_ value: PropertyValue, _ place: ValueLocation) -> [HornbeamError] {
        predicates.compactMap { rule, predicate in
            var cause: String?
            do {
                if try predicate.evaluate(with: value) { return nil }
            } catch {
                cause = message(of: error)
            }
            var failure = place.failure(.validation, "breaks the rule \(rule.predicate).", value)
            if let warning = rule.warning { failure.message = place.localized(warning) }
            failure.cause = cause
            return failure
        }
    }

    private func elementErrors(_ value: PropertyValue, _ place: ValueLocation) -> [HornbeamError] {
        guard case .dictionary(let parts) = value else { return [] }
        return elements.flatMap { element in
            element.errors(for: parts[element.attribute.name] ?? .null) { place.element(element.attribute.name) }
        }
    }
}

/// The entity and property of a value, for its errors.
struct ValueLocation {
    let entity: String
    let key: String
    /// The localised name.
    let name: String
    let model: ManagedObjectModel

    func element(_ element: String) -> ValueLocation {
        ValueLocation(entity: entity, key: "\(key).\(element)", name: "\(name).\(element)", model: model)
    }

    func failure(_ code: HornbeamError.Code, _ what: String, _ value: PropertyValue?) -> HornbeamError {
        HornbeamError(code, "“\(name)” \(what)", entity: entity, key: key, value: value)
    }

    var missingValue: HornbeamError {
        failure(.missingRequiredValue, "is required and has no value: set it before saving.", nil)
    }

    func localized(_ text: String) -> String { model.localizedErrorString(text) }
}

/// “1 object”, “3 objects”.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
