public import Foundation
public import HornbeamModel

/// Sets properties of all objects that satisfy a predicate, without creating managed objects (BAT-2).
///
/// ```swift
/// var request = BatchUpdateRequest(Event.self, predicate: Event.longitude > 37)
/// try request.set(Event.magnitude, to: FetchExpression(format: "magnitude + 1"))
/// request.set(Event.place, to: oslo.objectID)
/// let result = try context.execute(request)
/// ```
/// Expressions read the values before the update. Hooks are not called. Types, required values and unique values are always validated; the
/// limits of the model only if `validatesValues` is true. Derived attributes are computed. Contexts, fetched results and history receive the
/// changes like those of a save.
public struct BatchUpdateRequest: Hashable, Sendable {
    /// The entity of the objects to update.
    public let entityName: String
    /// The condition of the objects to update; nil for all.
    public var predicate: FetchPredicate?
    /// True to include objects of subentities.
    public var includesSubentities = true
    /// The properties to set, by name: attributes with any expression, to-one relationships with a constant ID or null.
    public var propertiesToUpdate: [String: FetchExpression] = [:]
    /// Determines the result: only that the request was executed, the number of updated objects, or their IDs too.
    public var resultType = BatchResultType.status
    /// True to validate the limits, lengths, patterns and rules of attributes, like a save. Slower.
    public var validatesValues = false
    /// The identifiers of the stores to change; nil for all (FET-17).
    public var affectedStores: [UUID]?

    /// Updates the objects of an entity that satisfy a predicate. Without a predicate, updates all of them. Set `propertiesToUpdate` before
    /// the execution.
    public init(entityName: String, predicate: FetchPredicate? = nil) {
        self.entityName = entityName
        self.predicate = predicate
    }

    /// Updates the objects of a class that satisfy a predicate. Call `set` before the execution.
    ///
    /// - Parameters:
    ///   - type: The class of the objects. Its `entityName` is the entity.
    ///   - predicate: The condition of the objects to update; nil for all.
    public init(_ type: ManagedObject.Type, predicate: FetchPredicate? = nil) {
        self.init(entityName: type.entityName, predicate: predicate)
    }

    /// Sets an attribute to one value.
    public mutating func set<Value: AttributeValue>(_ token: Attribute<Value>, to value: Value) {
        propertiesToUpdate[token.name] = FetchExpression(value.propertyValue)
    }

    /// Sets an attribute to the value of an expression for each object.
    public mutating func set<Value: AttributeValue>(_ token: Attribute<Value>, to expression: FetchExpression) {
        propertiesToUpdate[token.name] = expression
    }

    /// Sets a to-one relationship to a stored object; nil for none.
    public mutating func set<Object>(_ token: ToOne<Object>, to id: ManagedObjectID?) {
        propertiesToUpdate[token.name] = FetchExpression(id.map(PropertyValue.objectID) ?? .null)
    }

    /// Sets a property by its name to one value.
    public mutating func set(_ name: String, to value: PropertyValue) {
        propertiesToUpdate[name] = FetchExpression(value)
    }

    /// Sets a property by its name to the value of an expression for each object.
    public mutating func set(_ name: String, to expression: FetchExpression) {
        propertiesToUpdate[name] = expression
    }
}

extension FetchExpression {
    /// A constant expression.
    fileprivate init(_ value: PropertyValue) { self.init(node: .constant(value)) }
}
