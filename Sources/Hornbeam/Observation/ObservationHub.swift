internal import Observation

/// Tells observers (`withObservationTracking`, `Observations`, views) of changes to the properties of one context's objects.
///
/// One registrar serves the whole context, so that objects carry none: what an observer looks at is a key path made of the object and the
/// property. Making one takes longer than reading a property, so it is made only while somebody tracks. The library has no call
/// that says so; but who tracks puts the key paths that it meets into a set, and the probe notices being hashed.
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

    /// What observers have looked at and not been told of yet.
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

    /// Somebody reads a property, perhaps an observer.
    func noteAccess(_ object: ManagedObject, _ property: Int) {
        let visits = probe.visits
        registrar.access(self, keyPath: probePath)
        guard probe.visits != visits else { return }
        let id = ObjectIdentifier(object)
        if watched[id]?.object == nil { watched[id] = Watched(object: object, properties: PropertySet()) }
        watched[id]?.properties.insert(property)
        let cell = Cell(object: id, property: property)
        registrar.access(self, keyPath: \ObservationHub.[cell: cell])
        forgetTheGone()
    }

    /// A property of an object has another value now; with nil any of them may have.
    func noteChange(_ object: ManagedObject, _ property: Int? = nil) {
        guard !watched.isEmpty, let properties = watched[ObjectIdentifier(object)]?.properties else { return }
        for index in properties where property == nil || property == index {
            // Observers are told once, and look again: then it is watched again.
            watched[ObjectIdentifier(object)]?.properties.remove(index)
            let cell = Cell(object: ObjectIdentifier(object), property: index)
            registrar.willSet(self, keyPath: \ObservationHub.[cell: cell])
            registrar.didSet(self, keyPath: \ObservationHub.[cell: cell])
        }
    }

    private func forgetTheGone() {
        guard watched.count > watchedMax else { return }
        watched = watched.filter { $0.value.object != nil && !$0.value.properties.isEmpty }
        watchedMax = max(1024, watched.count * 2)
    }
}
