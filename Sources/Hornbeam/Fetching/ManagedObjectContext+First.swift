public import HornbeamModel
internal import HornbeamStore

extension ManagedObjectContext {
    /// The object whose attribute has a value. Of several, the one with the least ID; nil if there is none.
    ///
    /// ```swift
    /// let event = try context.first(Event.self, where: Event.uid, equals: uid) ?? Event(context: context)
    /// ```
    /// Returns the result of a fetch with a limit of one, including unsaved changes (FET-10). If the attribute is a text that is unique within
    /// its entity, the lookup needs no request and no plan, which is faster for the many lookups of an import.
    /// - Throws: The errors of `fetch`.
    @inlinable
    public func first<Object: ManagedObject, Value: AttributeValue>(
        _ type: Object.Type, where attribute: Attribute<Value>, equals value: Value
    ) throws -> Object? {
        switch try lookUp(type, attribute.nameID, value.propertyValue) {
        case .nothing: nil
        case .object(let object): try known(object, type)
        case .unsupported: try fetch(FetchRequest<Object>().where(attribute == value).limit(1)).first
        }
    }

    /// Finds an object by a unique text. Not generic, so that only the small `first` is specialised for each type.
    @usableFromInline
    func lookUp(_ type: ManagedObject.Type, _ nameID: PropertyNameID, _ value: PropertyValue) throws -> UniqueLookupResult {
        guard case .string(let text) = value, text.utf8.count <= UniqueLookup.textMax, let route = try route(type, nameID) else {
            return .unsupported
        }
        guard let object = try object(of: text, on: route) else { return .nothing }
        return .object(object)
    }

    /// Finds objects by unique texts, all in one state of the store.
    ///
    /// - Returns: The keys that this lookup does not support.
    func lookUp<Key>(
        _ type: ManagedObject.Type, _ nameID: PropertyNameID, _ keys: some Sequence<Key>, value: (Key) -> PropertyValue,
        found: (Key, ManagedObject) throws -> Void
    ) throws -> [Key] {
        guard let route = try route(type, nameID) else { return Array(keys) }
        var rest: [Key] = []
        for key in keys {
            guard case .string(let text) = value(key), text.utf8.count <= UniqueLookup.textMax else {
                rest.append(key)
                continue
            }
            if let object = try object(of: text, on: route) { try found(key, object) }
        }
        return rest
    }

    @inlinable @inline(__always)
    func known<Object: ManagedObject>(_ object: ManagedObject, _ type: Object.Type) throws -> Object {
        if Swift.type(of: object) == type { return unsafe unsafeDowncast(object, to: Object.self) }
        return try typed(object)
    }

    @usableFromInline
    func typed<Object: ManagedObject>(_ object: ManagedObject) throws -> Object {
        try typed(object, FetchDescription(entityName: object.entity.name))
    }

    /// The data for lookups of a class's objects by an attribute, in the newest snapshot; nil if the lookup needs a request.
    private func route(_ type: ManagedObject.Type, _ nameID: PropertyNameID) throws -> UniqueRoute? {
        guard parent == nil, failures.unacknowledgedCount == 0, !persistentStoreCoordinator.slowFetches.isObserved else { return nil }
        processPendingChanges()
        try advance()
        if let route = scopes.uniqueRoute, route.isFor(type, nameID) { return route.lookUp == nil ? nil : route }
        let made = try makeRoute(type, nameID)
        scopes.uniqueRoute = made
        return made?.lookUp == nil ? nil : made
    }

    private func makeRoute(_ type: ManagedObject.Type, _ nameID: PropertyNameID) throws -> UniqueRoute? {
        let snapshot = try readingSnapshot()
        guard let slot = snapshot.stack.slotOfLoneStore, !stack.isIncremental,
            let entity = persistentStoreCoordinator.binding.entity(of: type), entity.name == type.entityName, !entity.isAbstract,
            let index = entity.index(of: nameID)
        else { return nil }
        let part = try snapshot.part(slot)
        return UniqueRoute(
            type: type, nameID: nameID, scope: scope(at: entity.index, in: slot), property: entity.properties[index],
            lookUp: UniqueLookup(part, entity, entity.properties[index]))
    }

    private func object(of text: String, on route: UniqueRoute) throws -> ManagedObject? {
        guard let lookUp = route.lookUp else { return nil }
        access.costs.fetches += 1
        if !tracker.objects.isEmpty {
            let view = pendingView(route.scope.entity, includesSubentities: true, reads: route.reads)
            if !view.isEmpty { return try object(of: text, lookUp, route, view) }
        }
        return try storedObject(of: text, lookUp, route)
    }

    private func storedObject(of text: String, _ lookUp: UniqueLookup, _ route: UniqueRoute) throws -> ManagedObject? {
        var text = text
        return try text.withUTF8 { unsafe try object(of: UnsafeRawBufferPointer($0), lookUp, route.scope) }
    }

    /// The object with the least ID among the changed objects that have the text in memory, and the stored one if it is unchanged.
    private func object(
        of text: String, _ lookUp: UniqueLookup, _ route: UniqueRoute, _ view: PendingView
    ) throws -> ManagedObject? {
        let property = route.property
        var first: ManagedObject?
        view.forEachObject(of: property, having: .string(text)) { object in
            guard !object.isDeleted, case .string(let own) = object.currentValue(of: property), compareUTF8(own, text) == .same else { return }
            if let known = first, known.registryKey < object.registryKey { return }
            first = object
        }
        guard let stored = try storedObject(of: text, lookUp, route), !view.alteredKeys.contains(stored.registryKey) else { return first }
        guard let first, first.registryKey < stored.registryKey else { return stored }
        return first
    }

    /// Creates the object that the cache predicts while its cells are being loaded into the processor's cache, then compares its text. If the
    /// text differs, the object is an unused fault.
    private func object(of text: UnsafeRawBufferPointer, _ lookUp: UniqueLookup, _ scope: EntityScope) throws -> ManagedObject? {
        let cells = try scope.readingCells()
        // A first import looks up each of its objects.
        guard cells.rowCount > 0 else { return nil }
        let hash = unsafe UniqueLookup.hash(text)
        var hint = RowHint()
        if let key = lookUp.cachedKey(hash), try cells.find(key, &hint) {
            let object = object(at: key, scope, hint)
            if unsafe try lookUp.isHolder(key, of: text, cells, &hint) { return object }
        }
        hint = RowHint()
        // The reference count of the snapshot is shared by all threads, so it is used as late as possible.
        guard let key = unsafe try lookUp.key(of: text, hash, in: scope.readingSnapshot(), cells, &hint) else { return nil }
        return object(at: key, scope, hint)
    }

    private func object(at key: UInt64, _ scope: EntityScope, _ hint: RowHint) -> ManagedObject {
        if let object = registeredObject(key | scope.keyBits, scope) { return object }
        sweepIfDue()
        return makeFault(scope, key: key, hint: hint)
    }
}

/// The result of looking up an object by a unique text.
@usableFromInline
enum UniqueLookupResult {
    /// The attribute does not support this lookup.
    case unsupported
    case nothing
    case object(ManagedObject)
}
