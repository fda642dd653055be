public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// The object whose attribute has a value, the one with the least ID of several; nil when there is none.
    ///
    /// ```swift
    /// let event = try context.first(Event.self, where: Event.uid, equals: uid) ?? Event(context: context)
    /// ```
    /// What a fetch with a limit of one gives, unsaved changes included (FET-10). Where the attribute is a text that is unique within
    /// its entity and the context has no unsaved changes, no request is made and none is planned: the way for look-ups by the thousand.
    /// - Throws: As `fetch`.
    @inlinable
    public func first<Object: ManagedObject, Value: AttributeValue>(
        _ type: Object.Type, where attribute: Attribute<Value>, equals value: Value
    ) throws -> Object? {
        switch try lookUp(type, attribute.nameID, value.propertyValue) {
        case .nothing: nil
        case .object(let object): try known(object, type)
        case .notTried: try fetch(FetchRequest<Object>().where(attribute == value).limit(1)).first
        }
    }

    /// Looks an object up by a unique text, without a generic parameter that would be handed on at each call.
    @usableFromInline
    func lookUp(_ type: ManagedObject.Type, _ nameID: PropertyNameID, _ value: PropertyValue) throws -> UniqueAnswer {
        guard case .string(let text) = value, text.utf8.count <= UniqueLookUp.textMax, let route = try route(type, nameID) else {
            return .notTried
        }
        guard let object = try object(of: text, on: route) else { return .nothing }
        return .object(object)
    }

    @inlinable @inline(__always)
    func known<Object: ManagedObject>(_ object: ManagedObject, _ type: Object.Type) throws -> Object {
        if Swift.type(of: object) == type { return unsafeDowncast(object, to: Object.self) }
        return try typed(object)
    }

    @usableFromInline
    func typed<Object: ManagedObject>(_ object: ManagedObject) throws -> Object {
        try typed(object, FetchDescription(entityName: object.entity.name))
    }

    /// The way to the objects of a class by an attribute, in the newest state; nil where a request has to be made.
    private func route(_ type: ManagedObject.Type, _ nameID: PropertyNameID) throws -> UniqueRoute? {
        guard parent == nil, tracked.isEmpty, failures.unacknowledgedCount == 0, !persistentStoreCoordinator.slowFetches.areHeardOf else { return nil }
        processPendingChanges()
        try advance()
        if let route = uniqueRoute, route.isFor(type, nameID) { return route.lookUp == nil ? nil : route }
        let made = try makeRoute(type, nameID)
        uniqueRoute = made
        return made?.lookUp == nil ? nil : made
    }

    private func makeRoute(_ type: ManagedObject.Type, _ nameID: PropertyNameID) throws -> UniqueRoute? {
        let snapshot = try readingSnapshot()
        guard snapshot.isSingle, !stack.isIncremental,
            let entity = persistentStoreCoordinator.binding.entity(of: type), entity.name == type.entityName, !entity.isAbstract,
            let index = entity.index(of: nameID)
        else { return nil }
        let part = try snapshot.part(.first)
        return UniqueRoute(
            type: type, nameID: nameID, scope: scope(at: entity.index, in: .first),
            lookUp: UniqueLookUp(part, entity, entity.properties[index]))
    }

    private func object(of text: String, on route: UniqueRoute) throws -> ManagedObject? {
        guard let lookUp = route.lookUp else { return nil }
        fetchCosts.fetches += 1
        var text = text
        return try text.withUTF8 { try object(of: UnsafeRawBufferPointer($0), lookUp, route.scope) }
    }

    /// Makes the object while its cells are on their way, and looks at its text then. Should it have another text meanwhile, it is a fault
    /// that nobody asked for.
    private func object(of text: UnsafeRawBufferPointer, _ lookUp: UniqueLookUp, _ scope: EntityScope) throws -> ManagedObject? {
        let cells = try scope.readingCells()
        let hash = UniqueLookUp.hash(text)
        var hint = RowHint()
        if let key = lookUp.remembered(hash), try cells.find(key, &hint) {
            let object = object(at: key, scope, hint)
            if try lookUp.isHolder(key, of: text, cells, &hint) { return object }
        }
        hint = RowHint()
        // Whoever holds a snapshot counts a reference that all threads share, so not before it is needed.
        guard let key = try lookUp.key(of: text, hash, in: scope.readingSnapshot(), cells, &hint) else { return nil }
        return object(at: key, scope, hint)
    }

    private func object(at key: UInt64, _ scope: EntityScope, _ hint: RowHint) -> ManagedObject {
        if let object = registry[key | scope.keyBits] { return object }
        sweepIfDue()
        return makeFault(scope, key: key, hint: hint)
    }
}

/// What looking up an object by a unique text came to.
@usableFromInline
enum UniqueAnswer {
    /// The attribute is none that can be looked up so.
    case notTried
    case nothing
    case object(ManagedObject)
}

/// What looking up objects of a class by an attribute needs, found out once.
final class UniqueRoute {
    private let type: ManagedObject.Type
    private let nameID: PropertyNameID
    let scope: EntityScope
    /// Nil where the attribute is none that can be looked up so.
    let lookUp: UniqueLookUp?

    init(type: ManagedObject.Type, nameID: PropertyNameID, scope: EntityScope, lookUp: UniqueLookUp?) {
        self.type = type
        self.nameID = nameID
        self.scope = scope
        self.lookUp = lookUp
    }

    @inline(__always)
    func isFor(_ type: ManagedObject.Type, _ nameID: PropertyNameID) -> Bool { self.type == type && self.nameID == nameID }
}
