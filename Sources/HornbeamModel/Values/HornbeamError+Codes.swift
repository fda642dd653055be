/// The codes of Core Data, with its numbers (VAL-3).
extension HornbeamError.Code {
    // Values that cannot be saved.

    /// A value violates a rule of the model (ATT-8).
    public static let validation = Self(rawValue: 1550)
    /// Stored objects have the same value for a new uniqueness constraint (MOD-8): the code of details of `migrationConstraintViolation`.
    public static let constraintValidation = Self(rawValue: 1551)
    /// Several errors; see `details` (VAL-3).
    public static let multipleErrors = Self(rawValue: 1560)
    /// A required property has no value (ATT-3).
    public static let missingRequiredValue = Self(rawValue: 1570)
    /// A to-many has fewer objects than its minimum (REL-2).
    public static let tooFewObjects = Self(rawValue: 1580)
    /// A to-many has more objects than its maximum (REL-2).
    public static let tooManyObjects = Self(rawValue: 1590)
    /// A deny rule prevents the deletion of the object (REL-6).
    public static let deleteDenied = Self(rawValue: 1600)
    /// A number is larger than the maximum of its attribute, or than its type can hold (ATT-5).
    public static let numberTooLarge = Self(rawValue: 1610)
    /// A number is smaller than the minimum of its attribute, or than its type can hold (ATT-5).
    public static let numberTooSmall = Self(rawValue: 1620)
    /// A date is later than the maximum of its attribute (ATT-6).
    public static let dateTooLate = Self(rawValue: 1630)
    /// A date is earlier than the minimum of its attribute (ATT-6).
    public static let dateTooSoon = Self(rawValue: 1640)
    /// A date is not a point in time, such as infinity.
    public static let invalidDate = Self(rawValue: 1650)
    /// A text has too many characters, or data too many bytes (ATT-7).
    public static let stringTooLong = Self(rawValue: 1660)
    /// A text has too few characters, or data too few bytes (ATT-7).
    public static let stringTooShort = Self(rawValue: 1670)
    /// A string does not match the pattern of its attribute (ATT-7).
    public static let stringPatternMismatch = Self(rawValue: 1680)
    /// Core Data's code for a URI that cannot be written as text (ATT-19); Hornbeam never throws it.
    public static let uriNotRepresentable = Self(rawValue: 1690)

    // Contexts and coordinators.

    /// Core Data's code for a lock on a context; Hornbeam never throws it.
    public static let contextLocked = Self(rawValue: 132_000)
    /// Core Data's code for a lock on a coordinator; Hornbeam never throws it.
    public static let coordinatorLocked = Self(rawValue: 132_010)
    /// An object was read whose row no longer exists in the store.
    public static let objectNotFound = Self(rawValue: 133_000)
    /// A relationship refers to an object of another store (REL-8).
    public static let relationshipAcrossStores = Self(rawValue: 133_010)
    /// The store has newer versions of changed objects.
    public static let mergeConflict = Self(rawValue: 133_020)
    /// The store has other objects with the same unique values.
    public static let constraintConflict = Self(rawValue: 133_021)

    // Stores.

    /// Core Data's code for a store of an unknown type; Hornbeam never throws it.
    public static let unknownStoreType = Self(rawValue: 134_000)
    /// Core Data's code for a store of another type than expected; Hornbeam never throws it.
    public static let storeTypeMismatch = Self(rawValue: 134_010)
    /// Core Data's code for a store with another schema; Hornbeam throws `modelMismatch`.
    public static let incompatibleSchema = Self(rawValue: 134_020)
    /// A file could not be written.
    public static let saveFailed = Self(rawValue: 134_030)
    /// Only some of several stores were saved.
    public static let incompleteSave = Self(rawValue: 134_040)
    /// Core Data's code for conflicts in a save; Hornbeam throws `mergeConflict` or `constraintConflict`.
    public static let saveConflicts = Self(rawValue: 134_050)
    /// Core Data's code for errors of no other kind; Hornbeam never throws it.
    public static let general = Self(rawValue: 134_060)
    /// A store refused an operation; the message gives the reason.
    public static let storeOperationFailed = Self(rawValue: 134_070)
    /// A container could not open its stores.
    public static let openFailed = Self(rawValue: 134_080)
    /// Core Data's code for an opening that took too long; Hornbeam never throws it.
    public static let openTimedOut = Self(rawValue: 134_090)
    /// The store or the context does not support the request or the call.
    public static let unsupportedRequest = Self(rawValue: 134_091)
    /// The store was created with another model (MDL-9).
    public static let modelMismatch = Self(rawValue: 134_100)

    // Migration and history.

    /// The code of a migration stage threw an error, which is `underlyingError`.
    public static let migrationFailed = Self(rawValue: 134_110)
    /// Objects violate a rule of the new model; each detail names them.
    public static let migrationConstraintViolation = Self(rawValue: 134_111)
    /// The migration was cancelled; the store stays at the version that the message names.
    public static let migrationCancelled = Self(rawValue: 134_120)
    /// Core Data's code for a missing old model; Hornbeam's stores contain it.
    public static let missingSourceModel = Self(rawValue: 134_130)
    /// The description of the store does not allow the mapping to be inferred.
    public static let missingMappingModel = Self(rawValue: 134_140)
    /// Core Data's code for an old store that fails during a migration; Hornbeam throws the reason.
    public static let migrationSourceStore = Self(rawValue: 134_150)
    /// Core Data's code for a new store that fails during a migration; Hornbeam throws the reason.
    public static let migrationDestinationStore = Self(rawValue: 134_160)
    /// An `EntityMigrationPolicy` threw an error, which is `underlyingError`.
    public static let entityMigrationPolicy = Self(rawValue: 134_170)
    /// Core Data's code for errors of SQLite; Hornbeam never throws it.
    public static let sqlite = Self(rawValue: 134_180)
    /// The mapping between two models cannot be inferred; each obstacle is one of `details`.
    public static let inferredMappingFailed = Self(rawValue: 134_190)
    /// Core Data's code for external records; Hornbeam never throws it.
    public static let externalRecordImport = Self(rawValue: 134_200)
    /// The history of a store no longer reaches back to the token.
    public static let historyTokenExpired = Self(rawValue: 134_301)
    /// The token does not contain a store of the coordinator.
    public static let storeNotFoundInToken = Self(rawValue: 134_501)
    /// The version of the store is not in the `VersionedModel`.
    public static let modelReferenceNotFound = Self(rawValue: 134_504)
    /// Core Data's code for a staged migration of another framework; Hornbeam never throws it.
    public static let stagedMigrationFrameworkMismatch = Self(rawValue: 134_505)
    /// The store has a newer version than the current one of the model.
    public static let stagedMigrationBackwards = Self(rawValue: 134_506)
}

/// Hornbeam's own codes: 9 0xx for models and values, 9 1xx for stores, 9 2xx for predicates.
extension HornbeamError.Code {
    /// A model that contradicts itself; each problem is one of `details`.
    public static let invalidModel = Self(rawValue: 9_001)
    /// Models with different entities of the same name cannot be merged (MDL-5).
    public static let modelsDiffer = Self(rawValue: 9_002)
    /// A model file that cannot be parsed: not JSON, not XML, truncated.
    public static let malformedModelFile = Self(rawValue: 9_003)
    /// A model file of a newer format than this version reads.
    public static let newerModelFormat = Self(rawValue: 9_004)
    /// A class that does not fit its entity.
    public static let unboundClass = Self(rawValue: 9_005)
    /// An unknown name of a property.
    public static let unknownKey = Self(rawValue: 9_006)
    /// An unknown name of an entity.
    public static let unknownEntity = Self(rawValue: 9_007)
    /// A value of the wrong type for the property.
    public static let typeMismatch = Self(rawValue: 9_008)
    /// An unknown name of a request template, composite or configuration.
    public static let unknownName = Self(rawValue: 9_009)
    /// A migration plan or a mapping that contradicts itself or the models; each problem is one of `details`.
    public static let invalidMigrationPlan = Self(rawValue: 9_010)

    /// The path is not a store.
    public static let notAStore = Self(rawValue: 9_101)
    /// The store was written by a newer version of Hornbeam.
    public static let newerFormat = Self(rawValue: 9_102)
    /// Another process has the store open for writing.
    public static let storeInUse = Self(rawValue: 9_103)
    /// A page of the store differs from the page that was written.
    public static let damaged = Self(rawValue: 9_104)
    /// The log is damaged before its end.
    public static let logDamaged = Self(rawValue: 9_105)
    /// The disk is full.
    public static let full = Self(rawValue: 9_106)
    /// The store, its folder or its medium cannot be written.
    public static let readOnly = Self(rawValue: 9_107)
    /// Reading or writing a file failed.
    public static let inputOutput = Self(rawValue: 9_108)
    /// A sync failed: whether the last saves are durable is not known until the store is reopened.
    public static let durabilityLost = Self(rawValue: 9_109)
    /// The store was closed.
    public static let closed = Self(rawValue: 9_110)
    /// The snapshot has exceeded its maximum age.
    public static let snapshotExpired = Self(rawValue: 9_111)
    /// A key or a row is larger than the store can hold.
    public static let tooLarge = Self(rawValue: 9_112)
    /// The work was cancelled.
    public static let cancelled = Self(rawValue: 9_113)
    /// Another process writes to a shared store, and did not let this one write within the time limit; or all connections of a store were in use for so long.
    /// Nothing was written; try again.
    public static let busy = Self(rawValue: 9_114)
}
