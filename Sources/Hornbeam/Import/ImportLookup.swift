internal import HornbeamModel

/// A key, and the object that an import has found or inserted for it.
final class ImportEntry {
    let key: PropertyValue
    fileprivate(set) var last: ManagedObject?

    fileprivate init(_ key: PropertyValue) { self.key = key }

    /// The object; nil when there is none, or no longer.
    var object: ManagedObject? {
        guard let last, !last.isDeleted, !last.isDetached else { return nil }
        return last
    }
}

/// Objects by their keys, for the rows of one portion of an import.
final class ImportLookup {
    let entity: EntityDescription
    let key: PropertyDescription
    /// True when the model allows one object for each key. An inserted object then merges with one that another context saves first.
    let isUnique: Bool
    private let context: ManagedObjectContext
    private let type: ManagedObject.Type
    /// The keys of the portion that are not among `inserted`.
    private var portion: [PropertyValue: ImportEntry] = [:]
    /// Those of `portion` that are not looked up yet.
    private var wanted: [ImportEntry] = []
    /// The objects that the import inserted since its last save.
    private var inserted: [PropertyValue: ImportEntry] = [:]

    init(_ context: ManagedObjectContext, _ type: ManagedObject.Type, _ entity: EntityDescription, _ key: PropertyDescription) {
        self.type = type
        isUnique = entity.hasConstraint(on: [key.name])
        self.context = context
        self.entity = entity
        self.key = key
    }

    /// The entry of a key, whose object `load` finds; nil for a null.
    func entry(_ value: PropertyValue) -> ImportEntry? {
        if value.isNull { return nil }
        if let known = inserted[value] ?? portion[value] { return known }
        let entry = ImportEntry(value)
        portion[value] = entry
        wanted.append(entry)
        return entry
    }

    /// Sets the object that the import inserted for a key.
    func insert(_ object: ManagedObject, _ entry: ImportEntry) {
        entry.last = object
        inserted[entry.key] = entry
    }

    /// Finds the objects of new entries: unique texts by the index of the key, others in one fetch.
    func load() throws {
        guard !wanted.isEmpty else { return }
        defer { wanted.removeAll(keepingCapacity: true) }
        let rest = try context.lookUp(type, key.nameID, wanted, value: \.key) { entry, object in entry.last = object }
        guard !rest.isEmpty else { return }
        let values = PropertyValue.array(rest.map(\.key))
        let predicate = FetchPredicate(node: .comparison(.init(.keyPath(.evaluatedObject, [.name(key.name)]), .in, .constant(values))))
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name, predicate: predicate)) {
            guard let entry = portion[object.currentValue(of: key)], entry.last == nil else { continue }
            entry.last = object
        }
    }

    /// Forgets the saved objects of a portion.
    func endPortion() { portion.removeAll(keepingCapacity: true) }

    /// Forgets all objects: they are saved, and the next portion finds them.
    func endSave() {
        endPortion()
        inserted.removeAll(keepingCapacity: true)
    }
}
