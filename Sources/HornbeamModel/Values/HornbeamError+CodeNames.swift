/// The names of the codes, for messages and for `String(describing:)`.
extension HornbeamError.Code: CustomStringConvertible {
    /// The name of the code, such as `missingRequiredValue`; “code 42” for a code without a name.
    public var description: String { Self.names[self] ?? "code \(rawValue)" }

    private static let names: [Self: String] = [
        .validation: "validation", .constraintValidation: "constraintValidation", .multipleErrors: "multipleErrors",
        .missingRequiredValue: "missingRequiredValue", .tooFewObjects: "tooFewObjects", .tooManyObjects: "tooManyObjects",
        .deleteDenied: "deleteDenied", .numberTooLarge: "numberTooLarge", .numberTooSmall: "numberTooSmall", .dateTooLate: "dateTooLate",
        .dateTooSoon: "dateTooSoon", .invalidDate: "invalidDate", .stringTooLong: "stringTooLong", .stringTooShort: "stringTooShort",
        .stringPatternMismatch: "stringPatternMismatch", .uriNotRepresentable: "uriNotRepresentable", .contextLocked: "contextLocked",
        .coordinatorLocked: "coordinatorLocked", .objectNotFound: "objectNotFound", .relationshipAcrossStores: "relationshipAcrossStores",
        .mergeConflict: "mergeConflict", .constraintConflict: "constraintConflict", .unknownStoreType: "unknownStoreType",
        .storeTypeMismatch: "storeTypeMismatch", .incompatibleSchema: "incompatibleSchema", .saveFailed: "saveFailed",
        .incompleteSave: "incompleteSave", .saveConflicts: "saveConflicts", .general: "general",
        .storeOperationFailed: "storeOperationFailed", .openFailed: "openFailed", .openTimedOut: "openTimedOut",
        .unsupportedRequest: "unsupportedRequest", .modelMismatch: "modelMismatch", .migrationFailed: "migrationFailed",
        .migrationConstraintViolation: "migrationConstraintViolation", .migrationCancelled: "migrationCancelled",
        .missingSourceModel: "missingSourceModel", .missingMappingModel: "missingMappingModel",
        .migrationSourceStore: "migrationSourceStore", .migrationDestinationStore: "migrationDestinationStore",
        .entityMigrationPolicy: "entityMigrationPolicy", .sqlite: "sqlite", .inferredMappingFailed: "inferredMappingFailed",
        .externalRecordImport: "externalRecordImport", .historyTokenExpired: "historyTokenExpired",
        .storeNotFoundInToken: "storeNotFoundInToken", .modelReferenceNotFound: "modelReferenceNotFound",
        .stagedMigrationFrameworkMismatch: "stagedMigrationFrameworkMismatch", .stagedMigrationBackwards: "stagedMigrationBackwards",
        .invalidModel: "invalidModel", .modelsDiffer: "modelsDiffer", .malformedModelFile: "malformedModelFile",
        .newerModelFormat: "newerModelFormat", .unboundClass: "unboundClass", .unknownKey: "unknownKey", .unknownEntity: "unknownEntity",
        .typeMismatch: "typeMismatch", .unknownName: "unknownName", .invalidMigrationPlan: "invalidMigrationPlan", .notAStore: "notAStore",
        .newerFormat: "newerFormat", .storeInUse: "storeInUse", .damaged: "damaged", .logDamaged: "logDamaged", .full: "full",
        .readOnly: "readOnly", .inputOutput: "inputOutput", .durabilityLost: "durabilityLost", .closed: "closed",
        .snapshotExpired: "snapshotExpired", .tooLarge: "tooLarge", .cancelled: "cancelled", .busy: "busy", .predicateSyntax: "predicateSyntax",
        .predicateInvalid: "predicateInvalid", .predicateEvaluation: "predicateEvaluation",
    ]
}
