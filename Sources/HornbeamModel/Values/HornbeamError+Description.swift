public import Foundation

extension HornbeamError: CustomStringConvertible {
    /// The code with its name, the message, the cause, and each detail on a line of its own. Contains no
    /// user data.
    public var description: String { text(withData: false) }

    /// The description with the values and the objects. Contains user data; for developers.
    public var expandedDescription: String { text(withData: true) }

    private func text(withData: Bool) -> String {
        var text = "Error \(code.rawValue) (\(code))"
        if let entity, let key {
            text += " at \(entity).\(key)"
        } else if let name = entity ?? key {
            text += " at \(name)"
        }
        text += ": \(message)"
        if let cause { text += " Cause: \(cause)" }
        if withData {
            if let value { text += "\n    value: \(value.expandedDescription)" }
            for id in objectIDs { text += "\n    object: \(id)" }
        }
        for detail in details {
            let lines = detail.text(withData: withData).split(separator: "\n", omittingEmptySubsequences: false)
            text += "\n  - " + lines.joined(separator: "\n    ")
        }
        return text
    }

    /// Combines errors: nil for none, the error itself for one, else code `multipleErrors` with the
    /// errors as `details` (VAL-3).
    public static func combining(_ errors: [HornbeamError]) -> HornbeamError? {
        guard errors.count > 1 else { return errors.first }
        let single = errors.flatMap { $0.code == .multipleErrors ? $0.details : [$0] }
        return HornbeamError(
            .multipleErrors, "There are \(single.count) errors; each of them is among the details.",
            objectIDs: Array(Set(single.flatMap(\.objectIDs))).sorted { $0.order(to: $1) == .less },
            details: single)
    }
}

extension HornbeamError: LocalizedError {
    public var errorDescription: String? { description }
}

/// As an `NSError`, it has the same code, and its parts are in the user info under Core Data's keys.
extension HornbeamError: CustomNSError {
    public static var errorDomain: String { "HornbeamErrorDomain" }
    public var errorCode: Int { code.rawValue }

    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        if let object = objectIDs.first { info[Self.validationObjectKey] = object }
        if !objectIDs.isEmpty { info[Self.affectedObjectsKey] = objectIDs }
        if let key { info[Self.validationKeyKey] = key }
        if let value { info[Self.validationValueKey] = value }
        if let entity { info[Self.entityKey] = entity }
        if !details.isEmpty { info[Self.detailedErrorsKey] = details.map { $0 as NSError } }
        if let underlyingError { info[NSUnderlyingErrorKey] = underlyingError as NSError }
        return info
    }

    /// The first object concerned, a `ManagedObjectID`.
    public static let validationObjectKey = "NSValidationErrorObject"
    /// The property concerned, a `String`.
    public static let validationKeyKey = "NSValidationErrorKey"
    /// The value concerned, a `PropertyValue`.
    public static let validationValueKey = "NSValidationErrorValue"
    /// The name of the entity concerned, a `String`.
    public static let entityKey = "HornbeamEntity"
    /// All objects concerned, `[ManagedObjectID]`.
    public static let affectedObjectsKey = "NSAffectedObjectsErrorKey"
    /// The individual errors, `[NSError]`.
    public static let detailedErrorsKey = "NSDetailedErrors"
}

extension HornbeamError: Equatable {
    /// True when all parts are equal.
    public static func == (a: Self, b: Self) -> Bool {
        a.code == b.code && a.message == b.message && a.entity == b.entity && a.key == b.key
            && a.value == b.value && a.objectIDs == b.objectIDs && a.details == b.details && a.cause == b.cause
    }
}
