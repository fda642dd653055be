public import Foundation
public import HornbeamModel

/// Inserts many objects of one entity without creating managed objects. Rows are written directly to the store (BAT-1).
///
/// ```swift
/// let request = BatchInsertRequest(Event.self, from: lines) { line, row in
///     row.set(Event.name, line.name)
///     row.set(Event.place, places[line.place])
/// }
/// let result = try context.execute(request)
/// ```
/// New objects get the defaults of the model and their derived values. Hooks are not called. Types, required values and unique values
/// are always validated; the limits of the model only if `validatesValues` is true. Contexts, fetched results and history receive the changes
/// like those of a save.
public struct BatchInsertRequest {
    /// The action for a row with the unique values of a stored object.
    public enum ConflictRule: Hashable, Sendable {
        /// Ends the request with `constraintConflict`.
        case fail
        /// Skips the row; the stored object keeps its values.
        case skip
        /// Updates the stored object with the values that the row sets, without defaults.
        case update
    }

    /// The entity of the new objects.
    public let entityName: String
    /// Determines the result: only that the request was executed, the number of objects, or their IDs too.
    public var resultType = BatchResultType.status
    /// The action for a row with the unique values of a stored object.
    public var onConflict = ConflictRule.fail
    /// The number of rows after which the request commits. This limits memory, and lets other saves run in between.
    /// 0 for a single transaction. If a later row fails, committed rows stay in the store.
    public var commitEvery = 0
    /// True to validate the limits, lengths, patterns and rules of attributes, like a save. Slower.
    public var validatesValues = false
    /// The identifiers of the stores to consider. The first one that accepts the entity receives the objects (FET-17).
    public var affectedStores: [UUID]?

    let fill: (BatchRow) throws -> Bool

    /// Inserts one object for each call of the handler.
    ///
    /// - Parameters:
    ///   - entityName: The entity of the new objects.
    ///   - handler: Fills one row at each call. Returns true, without filling a row, after the last row.
    public init(entityName: String, handler: @escaping (BatchRow) throws -> Bool) {
        self.entityName = entityName
        fill = handler
    }

    /// Inserts objects given as dictionaries: attributes as values, to-one relationships as IDs, to-many relationships as arrays or sets of IDs.
    public init(entityName: String, objects: some Sequence<[String: PropertyValue]>) {
        self.init(entityName: entityName, from: objects) { values, row in
            for (name, value) in values { row.set(name, value) }
        }
    }

    /// Inserts one object for each element of a sequence. The sequence is iterated once, while rows are written.
    @inlinable
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
    ///   - type: The class of the objects. Its `entityName` is the entity.
    ///   - handler: Fills one row at each call. Returns true, without filling a row, after the last row.
    public init(_ type: ManagedObject.Type, handler: @escaping (BatchRow) throws -> Bool) {
        self.init(entityName: type.entityName, handler: handler)
    }

    /// Inserts one object of a class for each element of a sequence, like `init(entityName:from:_:)`.
    @inlinable
    public init<Source: Sequence>(
        _ type: ManagedObject.Type, from source: Source, _ fill: @escaping (Source.Element, BatchRow) throws -> Void
    ) {
        self.init(entityName: type.entityName, from: source, fill)
    }
}
