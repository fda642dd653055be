public import HornbeamModel

/// A class whose objects have a unique key: the attribute by which contexts find, make and import them (SEED-4).
///
/// ```swift
/// extension Book: UniquelyKeyed { static var uniqueKey: Attribute<String> { isbn } }
///
/// let book = try context.object(Book.self, key: "978-0-14-143947-1")
/// ```
/// The attribute has a uniqueness constraint in the model: `@Attribute(.unique) var isbn: String`.
public protocol UniquelyKeyed: ManagedObject {
    /// The type of the key.
    associatedtype UniqueKey: AttributeValue & Hashable
    /// The attribute with the key.
    static var uniqueKey: Attribute<UniqueKey> { get }
}

/// Single objects by their unique key.
extension ManagedObjectContext {
    /// Inserts an object with a unique key, and passes it to a closure that fills it (SEED-1).
    ///
    /// Does not look for an object that has the key already; the save refuses a second one. `upsert` looks first.
    /// - Throws: The errors of `insert(_:)`, and of the closure, which leaves no object behind.
    @discardableResult
    public func insert<Object: UniquelyKeyed>(
        _ type: Object.Type, key: Object.UniqueKey, configure: (Object) throws -> Void = { _ in }
    ) throws -> Object {
        let object = try insert(type)
        object[Object.uniqueKey] = key
        do {
            try configure(object)
        } catch {
            delete(object)
            throw error
        }
        return object
    }

    /// The object with a unique key; nil when there is none, and for a null key (SEED-2).
    ///
    /// - Throws: The errors of `fetch`.
    public func object<Object: UniquelyKeyed>(_ type: Object.Type, key: Object.UniqueKey) throws -> Object? {
        key.propertyValue.isNull ? nil : try first(type, where: Object.uniqueKey, equals: key)
    }

    /// The object with a unique key, or a new one, passed to a closure that fills it (SEED-3).
    ///
    /// - Throws: `unsupportedRequest` for a null key, since objects without a key are not unique; the errors of `upsert(_:where:is:)`, and of the
    ///   closure, which leaves no new object behind.
    @discardableResult
    public func upsert<Object: UniquelyKeyed>(
        _ type: Object.Type, key: Object.UniqueKey, configure: (Object) throws -> Void = { _ in }
    ) throws -> Object {
        try requireKey(key, Object.uniqueKey.name)
        let known = try object(type, key: key)
        let object = try known ?? upsert(type, where: Object.uniqueKey, is: key)
        do {
            try configure(object)
        } catch {
            if known == nil { delete(object) }
            throw error
        }
        return object
    }

    /// The objects with unique keys, by their keys, found in one lookup (SEED-4). Keys without an object are absent.
    ///
    /// - Throws: The errors of `fetch`.
    public func objects<Object: UniquelyKeyed>(
        _ type: Object.Type, keys: some Collection<Object.UniqueKey>
    ) throws -> [Object.UniqueKey: Object] {
        try objects(type, where: Object.uniqueKey, in: keys)
    }

    /// The objects with unique keys, by their keys, found in one lookup; missing ones are inserted (SEED-4).
    ///
    /// - Parameters:
    ///   - type: The class of the objects.
    ///   - keys: The keys; equal ones count once.
    ///   - fill: Called with each new object, in the order of the keys.
    /// - Throws: The errors of `upsert(_:where:in:insert:)`.
    public func upsert<Object: UniquelyKeyed>(
        _ type: Object.Type, keys: some Collection<Object.UniqueKey>, insert fill: (Object) throws -> Void = { _ in }
    ) throws -> [Object.UniqueKey: Object] {
        try upsert(type, where: Object.uniqueKey, in: keys, insert: fill)
    }
}

/// Many objects by an attribute, in one lookup.
extension ManagedObjectContext {
    /// The objects whose attribute has one of the values, by value; of several, the one with the least ID (SEED-4). Null finds no object.
    ///
    /// - Throws: The errors of `fetch`.
    public func objects<Object: ManagedObject, Value: AttributeValue & Hashable>(
        _ type: Object.Type, where attribute: Attribute<Value>, in values: some Collection<Value>
    ) throws -> [Value: Object] {
        // Closures: a key path of a generic type is looked up at each call.
        if values.contains(where: { $0.propertyValue.isNull }) {
            return try objects(type, where: attribute, in: values.filter { !$0.propertyValue.isNull })
        }
        guard !values.isEmpty else { return [:] }
        var found: [Value: Object] = [:]
        found.reserveCapacity(values.count)
        let rest = try lookUp(type, attribute.nameID, values, value: { $0.propertyValue }) { value, object in
            found[value] = try known(object, type)
        }
        guard !rest.isEmpty else { return found }
        // By stored values: an equal URL may be relative to another one, and is then another key.
        var stored: [PropertyValue: Object] = [:]
        for object in try fetch(FetchRequest<Object>(predicate: attribute.isIn(rest))) {
            let value = object[attribute].propertyValue
            if stored[value] == nil { stored[value] = object }
        }
        for value in rest {
            if let object = stored[value.propertyValue] { found[value] = object }
        }
        return found
    }

    /// The objects whose attribute has one of the values, by value. A missing object is inserted with its value, and passed to a closure that fills
    /// it (SEED-4).
    ///
    /// If another context saves an object with such a value first, the save of this one merges both, as with `upsert(_:where:is:)`.
    /// - Throws: The errors of `fetch`; `unsupportedRequest` when the attribute is not unique by the model, or for null; errors of the closure, after
    ///   which the new objects so far remain.
    public func upsert<Object: ManagedObject, Value: AttributeValue & Hashable>(
        _ type: Object.Type, where attribute: Attribute<Value>, in values: some Collection<Value>,
        insert fill: (Object) throws -> Void = { _ in }
    ) throws -> [Value: Object] {
        let coordinator = persistentStoreCoordinator
        let entity = try coordinator.managedObjectModel.entity(named: coordinator.binding.entity(of: type)?.name ?? type.entityName)
        try requireConstraint(of: entity, on: [attribute.name])
        for value in values { try requireKey(value, attribute.name) }
        var found = try objects(type, where: attribute, in: values)
        var inserted: [PropertyValue: Object] = [:]
        for value in values where found[value] == nil {
            let stored = value.propertyValue
            if let object = inserted[stored] {
                found[value] = object
                continue
            }
            let object = try insert(type)
            object[attribute] = value
            tracker.upserted.insert(ObjectIdentifier(object))
            (found[value], inserted[stored]) = (object, object)
            try fill(object)
        }
        return found
    }

    /// Throws for null: objects without a key are not unique, so none of them is the one with the key.
    private func requireKey(_ key: some AttributeValue, _ name: String) throws {
        guard key.propertyValue.isNull else { return }
        throw HornbeamError(
            .unsupportedRequest, "“\(name)” is null, so no object can be found by it. Give it a value, or insert an object without a key.")
    }
}
