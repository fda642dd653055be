internal import Observation

/// Notifies observers (`withObservationTracking`, `Observations`, views) of changes to the properties of one context's objects.
///
/// One registrar serves the whole context, so that objects have none: the observed key path contains the object and the
/// property. A key path takes longer to create than a property takes to read, so it is created only while tracking is active. No call
/// returns whether tracking is active. But tracking inserts the accessed key paths into a set, which hashes them, and `Probe` counts that.
final class ObservationHub: Observable {
    /// A property of an object.
    struct Cell: Hashable {
        let object: ObjectIdentifier
        let property: Int
    }

    /// Counts how often it is hashed.
    private final class Probe: Hashable {
        var visits = 0
        static func == (a: Probe, b: Probe) -> Bool { a === b }
        func hash(into hasher: inout Hasher) { visits &+= 1 }
    }

    /// The properties that observers have read since their last notification.
    private struct Watched {
        weak var object: ManagedObject?
        var properties: PropertySet
    }

    private let registrar = ObservationRegistrar()
    private let probe = Probe()
    private let probePath: KeyPath<ObservationHub, Void>
    private var watched: [ObjectIdentifier: Watched] = [:]
    private var watchedMax = 1024

    init() {
        let probe = probe
        probePath = \ObservationHub.[probe: probe]
    }

    private subscript(probe probe: Probe) -> Void { () }
    private subscript(cell cell: Cell) -> Void { () }

    /// Records a read of a property, if tracking is active.
    func recordAccess(_ object: ManagedObject, _ property: Int) {
        let visits = probe.visits
        registrar.access(self, keyPath: probePath)
        guard probe.visits != visits else { return }
        let id = ObjectIdentifier(object)
        if watched[id]?.object == nil { watched[id] = Watched(object: object, properties: PropertySet()) }
        watched[id]?.properties.insert(property)
        let cell = Cell(object: id, property: property)
        registrar.access(self, keyPath: \ObservationHub.[cell: cell])
        removeReleasedObjects()
    }

    /// Notifies observers of a changed property; if nil, of all properties of the object.
    func notifyOfChange(_ object: ManagedObject, _ property: Int? = nil) {
        guard !watched.isEmpty, let properties = watched[ObjectIdentifier(object)]?.properties else { return }
        for index in properties where property == nil || property == index {
            // Observers are notified once. When they read the property again, the read is recorded again.
            watched[ObjectIdentifier(object)]?.properties.remove(index)
            let cell = Cell(object: ObjectIdentifier(object), property: index)
            registrar.willSet(self, keyPath: \ObservationHub.[cell: cell])
            registrar.didSet(self, keyPath: \ObservationHub.[cell: cell])
        }
    }

    private func removeReleasedObjects() {
        guard watched.count > watchedMax else { return }
        watched = watched.filter { $0.value.object != nil && !$0.value.properties.isEmpty }
        watchedMax = max(1024, watched.count * 2)
    }
}
