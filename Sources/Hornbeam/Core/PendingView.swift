internal import HornbeamModel
internal import HornbeamStore

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
    /// The view forgets removed objects when they outnumber the others by this many.
    private static let removedMax = 1_000
    /// Numbers the registry keys of the objects.
    private var numbers = NumberedPairs()
    /// The objects by number; nil for those that were removed.
    private var objects: [ManagedObject?] = []
    private(set) var count = 0
    /// The keys of the objects that exist in the store or the parent, which may find them too.
    private(set) var alteredKeys: Set<UInt64> = []
    /// An index is made at the first request by its property.
    private var indexes: [PendingValueIndex] = []
    /// The number of calls that are reading values. Reading a value may call a hook that changes other objects, and so this view. Meanwhile objects keep
    /// their numbers, and the view its indexes.
    private var readersOfValues = 0

    init(_ entity: EntityDescription, includesSubentities: Bool, reads: PropertySet?) {
        self.entity = entity
        self.includesSubentities = includesSubentities
        self.reads = reads
    }

    var isEmpty: Bool { count == 0 }

    /// All objects, by their keys.
    var all: [ManagedObject] { objects.compactMap { $0 }.sorted { $0.registryKey < $1.registryKey } }

    var inserted: [ManagedObject] { objects.compactMap { $0 }.filter(\.isInserted) }

    /// True if one of the objects that the store may find satisfies a condition.
    func containsAltered(where isWanted: (ManagedObject) -> Bool) -> Bool {
        alteredKeys.contains { key in numbers.known(key).flatMap { objects[$0] }.map(isWanted) ?? false }
    }

    /// Records that an object may have changed.
    func note(_ object: ManagedObject) {
        guard object.scope.entity == entity || (includesSubentities && object.scope.entity.isKind(of: entity)) else { return }
        let key = object.registryKey
        guard isRelevant(object) else { return remove(key) }
        let (number, isNew) = numbers.number(key)
        if isNew { objects.append(nil) }
        if objects[number] == nil { count += 1 }
        objects[number] = object
        if !object.isInserted { alteredKeys.insert(key) } else if !alteredKeys.isEmpty { alteredKeys.remove(key) }
        readingValues {
            for index in indexes { index.update(number, value(of: object, index.property)) }
        }
        if readersOfValues == 0, indexes.contains(where: { $0.hasManyFormerTexts }) { indexes.removeAll { $0.hasManyFormerTexts } }
    }

    private func readingValues(_ body: () -> Void) {
        readersOfValues += 1
        body()
        readersOfValues -= 1
    }

    private func remove(_ key: UInt64) {
        guard let number = numbers.known(key), objects[number] != nil else { return }
        objects[number] = nil
        count -= 1
        alteredKeys.remove(key)
        for index in indexes { index.remove(number) }
        if readersOfValues == 0, objects.count > 2 * count + Self.removedMax { renumber() }
    }

    /// Forgets the numbers of removed objects, and the indexes.
    private func renumber() {
        let kept = objects.compactMap { $0 }
        (numbers, objects, count, alteredKeys, indexes) = (NumberedPairs(), [], 0, [], [])
        for object in kept { note(object) }
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
        if values.count == 1 {
            var found: [ManagedObject] = []
            forEachObject(of: property, having: values[0]) { found.append($0) }
            return found
        }
        let index = index(of: property.index)
        var found: Set<Int> = []
        for value in values { index.holders(of: value)?.forEach { found.insert($0) } }
        return found.compactMap { objects[$0] }
    }

    /// Calls a closure with each object whose attribute or to-one relationship may have a value.
    func forEachObject(of property: PropertyDescription, having value: PropertyValue, _ body: (ManagedObject) -> Void) {
        let holders = index(of: property.index).holders(of: value)
        readingValues { holders?.forEach { if let object = objects[$0] { body(object) } } }
    }

    private func index(of property: Int) -> PendingValueIndex {
        for index in indexes where index.property == property { return index }
        // A hook may change objects meanwhile; `note` enters their values.
        let index = PendingValueIndex(of: property)
        indexes.append(index)
        readingValues {
            for number in objects.indices {
                guard let object = objects[number] else { continue }
                index.update(number, value(of: object, property))
            }
        }
        return index
    }

    private func value(of object: ManagedObject, _ property: Int) -> PropertyValue {
        object.isDeleted ? .null : object.currentValue(of: object.scope.properties[property])
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
