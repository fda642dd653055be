internal import HornbeamModel

/// Validation of values in a batch, which makes no objects.
extension PropertyDescription {
    /// The error for a required attribute or to-one without a value (ATT-3).
    var missingInBatch: HornbeamError {
        let error = isAttribute ? errors(for: .null).first : error(forCount: 0)
        guard let error else { preconditionFailure("“\(name)” may be without a value.") }
        return error
    }

    /// Validates a value of a batch. A required value must not be null. Limits are checked if `validating` is true.
    func checkInBatch(_ value: PropertyValue, validating: Bool) throws {
        if value.isNull {
            if !isOptional, !isDerived { throw missingInBatch }
        } else if validating, isAttribute, needsValidation, let error = HornbeamError.combining(errors(for: value)) {
            throw error
        }
    }
}
