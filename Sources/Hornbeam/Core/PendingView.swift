internal import HornbeamModel

/// The objects of an entity whose pending changes can affect the result of one kind of request. A fetch tests them in memory.
///
/// A kind of request is an entity and a set of properties that requests read. The view is updated at each change, so a request does not
/// examine unrelated changed objects. A request for equality examines only the objects with the value.
final class PendingView {
    let entity: EntityDescription
    let includesSubentities: Bool
    /// The properties that the requests read, by index; nil for all properties.
    let reads: PropertySet?
    /// The context's `edits` when the changes of its current event were last entered.
    var recordedEdits: UInt64?
    /// Keyed by registry key.
    private var objects: [UInt64: ManagedObject] = [:]
    /// The keys of the objects that exist in the store or the parent, which may find them too.
    private(set) var alteredKeys: Set<UInt64> = []
    /// An index is made at the first request by its property.
    private var indexes: [ValueIndex] = []

    /// The keys of objects by the value of a property, as of the last update of each object.
    private final class ValueIndex {
        /// The index of the property.
        let property: Int
        /// One object for each value. Most values of a request for equality have no other.
        private var first: [PropertyValue: UInt64] = [:]
        /// The other objects.
        private var others: [PropertyValue: Set<UInt64>] = [:]
        private var values: [UInt64: PropertyValue] = [:]

        init(of property: Int) { self.property = property }

        func forEachKey(of value: PropertyValue, _ body: (UInt64) -> Void) {
            guard let key = first[value] else { return }
            body(key)
            guard !others.isEmpty, let more = others[value] else { return }
            for key in more { body(key) }
        }

        /// - Parameter value: Nil to remove the object from the index.
        func updateIndex(_ key: UInt64, _ value: PropertyValue?) {
            let old = values[key]
            guard old != value else { return }
            if let old { remove(key, old) }
            values[key] = value
            guard let value else { return }
            if first[value] == nil { first[value] = key } else { others[value, default: []].insert(key) }
        }

        private func remove(_ key: UInt64, _ value: PropertyValue) {
            if first[value] == key {
                first[value] = others[value]?.popFirst()
            } else {
                others[value]?.remove(key)
            }
            if others[value]?.isEmpty == true { others[value] = nil }
        }
    }

    init(_ entity: EntityDescription, includesSubentities: Bool, reads: PropertySet?) {
        self.entity = entity
        self.includesSubentities = includesSubentities
        self.reads = reads
    }

    var isEmpty: Bool { objects.isEmpty }
    var count: Int { objects.count }

    /// All objects, by their keys.
    var all: [ManagedObject] { objects.values.sorted { $0.registryKey < $1.registryKey } }

    var inserted: [ManagedObject] { objects.values.filter(\.isInserted) }

    /// True if one of the objects that the store may find satisfies a condition.
    func containsAltered(where isWanted: (ManagedObject) -> Bool) -> Bool {
        alteredKeys.contains { key in objects[key].map(isWanted) ?? false }
    }

    /// Records that an object may have changed.
    func note(_ object: ManagedObject) {
        guard object.scope.entity == entity || (includesSubentities && object.scope.entity.isKind(of: entity)) else { return }
        let key = object.registryKey
        guard isRelevant(object) else {
            objects[key] = nil
            alteredKeys.remove(key)
            for index in indexes { index.updateIndex(key, nil) }
            return
        }
        objects[key] = object
        if object.isInserted { alteredKeys.remove(key) } else { alteredKeys.insert(key) }
        for index in indexes { update(index, object) }
    }

    private func isRelevant(_ object: ManagedObject) -> Bool {
        if object.isInserted || object.isDeleted { return !object.state.contains(.detached) }
        guard object.hasChanges, let record = object.record else { return false }
        // The object reads from an old copy of its row, so any property may differ from the store.
        guard let reads, record.frozenRow == nil else { return true }
        return !record.changed.isDisjoint(with: reads)
    }

    // MARK: By value

    /// The objects whose attribute or to-one relationship may have one of these values.
    func objects(of property: PropertyDescription, havingAnyOf values: [PropertyValue]) -> [ManagedObject] {
        let index = index(of: property.index)
        if values.count == 1 {
            var found: [ManagedObject] = []
            index.forEachKey(of: values[0]) { key in if let object = objects[key] { found.append(object) } }
            return found
        }
        var keys: Set<UInt64> = []
        for value in values { index.forEachKey(of: value) { keys.insert($0) } }
        return keys.compactMap { objects[$0] }
    }

    private func index(of property: Int) -> ValueIndex {
        if let known = indexes.first(where: { $0.property == property }) { return known }
        let made = ValueIndex(of: property)
        for object in objects.values { update(made, object) }
        indexes.append(made)
        return made
    }

    private func update(_ index: ValueIndex, _ object: ManagedObject) {
        let value = object.isDeleted ? .null : object.currentValue(of: object.scope.properties[index.property])
        index.updateIndex(object.registryKey, value.isNull ? nil : value)
    }
}

/// The views of a context. They are created on demand, and discarded at a change that cannot update them.
struct PendingViews {
    /// The maximum number of views; programs have few kinds of requests.
    private static let viewCountMax = 16
    private var views: [PendingView] = []
    /// The `edits` of the ancestor contexts: their changes affect the values that objects have here.
    private var parentEdits: UInt64?

    mutating func forget() {
        if !views.isEmpty { views = [] }
    }

    func note(_ object: ManagedObject) {
        for view in views { view.note(object) }
    }

    /// The view of an entity for requests that read these properties.
    mutating func view(
        _ entity: EntityDescription, includesSubentities: Bool, reads: PropertySet?, of objects: [ManagedObject], parentEdits: UInt64
    ) -> PendingView {
        if self.parentEdits != parentEdits {
            views = []
            self.parentEdits = parentEdits
        }
        if let place = views.firstIndex(where: {
            $0.entity == entity && $0.includesSubentities == includesSubentities && $0.reads == reads
        }) {
            return views[place]
        }
        let view = PendingView(entity, includesSubentities: includesSubentities, reads: reads)
        for object in objects { view.note(object) }
        if views.count == Self.viewCountMax { views.removeFirst() }
        views.append(view)
        return view
    }
}
