public import Foundation
public import HornbeamModel

/// Inserts many objects of one entity without making them: rows go straight into the store (BAT-1).
///
/// ```swift
/// let request = BatchInsertRequest(Event.self, from: lines) { line, row in
///     row.set(Event.name, line.name)
///     row.set(Event.place, places[line.place])
/// }
/// let result = try context.execute(request)
/// ```
/// New objects get the defaults of the model and their derived values. Hooks do not run. Types, required values and unique values
/// always hold, the limits of the model when `validatesValues` is set. Contexts, fetched results and history hear of it as of a save.
public struct BatchInsertRequest {
    /// What a row does whose unique values a stored object has.
    public enum ConflictRule: Hashable, Sendable {
        /// Ends the request with `constraintConflict`.
        case fail
        /// Leaves the stored object as it is.
        case skip
        /// Gives the stored object the values that the row names, and no defaults.
        case update
    }

    /// The entity of the new objects.
    public let entityName: String
    /// What the result contains: only that the request was executed, the number of objects, or their IDs too.
    public var resultType = BatchResultType.status
    /// The treatment of a row whose unique values are stored already.
    public var onConflict = ConflictRule.fail
    /// Rows after which what was written is committed, so that memory stays flat and others can save in between;
    /// 0 for all rows or none. When a later row fails, what was committed stays.
    public var commitEvery = 0
    /// True to check values against the limits, lengths, patterns and rules of their attributes, as a save does; takes longer.
    public var validatesValues = false
    /// The identities of the stores to choose from; the first of them that takes such objects gets them (FET-17).
    public var affectedStores: [UUID]?

    let fill: (BatchRow) throws -> Bool

    /// Inserts one object for each call of the handler.
    ///
    /// - Parameters:
    ///   - entityName: The entity of the new objects.
    ///   - handler: Fills one row at each call; true when there is no further row, and then nothing is written.
    public init(entityName: String, handler: @escaping (BatchRow) throws -> Bool) {
        self.entityName = entityName
        fill = handler
    }

    /// Inserts objects given as dictionaries: attributes as values, to-ones as an ID, to-manys as an array or a set of IDs.
    public init(entityName: String, objects: some Sequence<[String: PropertyValue]>) {
        self.init(entityName: entityName, from: objects) { values, row in
            for (name, value) in values { row.set(name, value) }
        }
    }

    /// Inserts one object for each element of a sequence, which is walked once and only as far as rows are written.
    public init<Source: Sequence>(
        entityName: String, from source: Source, _ fill: @escaping (Source.Element, BatchRow) throws -> Void
    ) {
        var rest = source.makeIterator()
        self.init(entityName: entityName) { row in
            guard let next = rest.next() else { return true }
            try fill(next, row)
            return false
        }
    }

    /// Inserts one object of a class for each call of the handler.
    ///
    /// - Parameters:
    ///   - type: The class of the objects, whose `entityName` is the entity.
    ///   - handler: Fills one row at each call; true when there is no further row, and then nothing is written.
    public init(_ type: ManagedObject.Type, handler: @escaping (BatchRow) throws -> Bool) {
        self.init(entityName: type.entityName, handler: handler)
    }

    /// As `init(entityName:from:_:)`, for a class.
    public init<Source: Sequence>(
        _ type: ManagedObject.Type, from source: Source, _ fill: @escaping (Source.Element, BatchRow) throws -> Void
    ) {
        self.init(entityName: type.entityName, from: source, fill)
    }
}
