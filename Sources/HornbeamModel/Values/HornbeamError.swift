/// What went wrong, to which object or store, and what to do about it.
///
/// Every public call of Hornbeam that throws, throws this type. Switch on `code`; the wording of
/// `message` is for people and may change.
public struct HornbeamError: Error, Sendable {
    /// The kind of failure. New kinds may be added; those known to Core Data have its number.
    public struct Code: Hashable, Sendable, RawRepresentable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// The kind of failure.
    public var code: Code
    /// What happened to which thing, and what to do. Holds no user data.
    public var message: String
    /// The entity concerned.
    public var entity: String?
    /// The property concerned.
    public var key: String?
    /// The value concerned. Not part of `description`.
    public var value: PropertyValue?
    /// The objects concerned.
    public var objectIDs: [ManagedObjectID]
    /// The single failures, where there are several (code `multipleErrors`, VAL-3).
    public var details: [HornbeamError]
    /// The failure below this one, in words.
    public var cause: String?
    /// The failure below this one itself, where it is of another type: what a hook of a class threw. Not compared by `==`.
    public var underlyingError: (any Error)?

    /// A failure of the given kind. Stores of your own throw it too.
    public init(
        _ code: Code, _ message: String, entity: String? = nil, key: String? = nil,
        value: PropertyValue? = nil, objectIDs: [ManagedObjectID] = [],
        details: [HornbeamError] = [], cause: String? = nil, underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.entity = entity
        self.key = key
        self.value = value
        self.objectIDs = objectIDs
        self.details = details
        self.cause = cause
        self.underlyingError = underlyingError
    }
}
