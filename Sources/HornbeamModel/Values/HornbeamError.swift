/// An error: the event, the affected object or store, and the remedy.
///
/// Every public method of Hornbeam that throws, throws this type. Switch on `code`; the wording of
/// `message` may change.
public struct HornbeamError: Error, Sendable {
    /// The kind of error. New kinds may be added; those of Core Data have its number.
    public struct Code: Hashable, Sendable, RawRepresentable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// The kind of error.
    public var code: Code
    /// The event, the affected thing and the remedy. Contains no user data.
    public var message: String
    /// The entity concerned.
    public var entity: String?
    /// The property concerned.
    public var key: String?
    /// The value concerned. Not part of `description`.
    public var value: PropertyValue?
    /// The objects concerned.
    public var objectIDs: [ManagedObjectID]
    /// The individual errors, if there are several (code `multipleErrors`, VAL-3).
    public var details: [HornbeamError]
    /// The text of the underlying error.
    public var cause: String?
    /// The underlying error itself, if it has another type, such as an error of a class's hook. `==` does not compare it.
    public var underlyingError: (any Error)?

    /// An error of the given kind. Custom stores throw errors of this type too.
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
