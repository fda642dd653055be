internal import HornbeamModel

/// The changed objects of a context, in the order in which they first changed, and as requests look at them.
///
/// Objects that have no changes any more stay until they are the larger part, so that dropping them costs
/// nothing on average. Ask an object before relying on its being here.
struct TrackedObjects {
    private(set) var all: [ManagedObject] = []
    /// As fetches look at them.
    var views = PendingViews()
    private var idle = 0

    var isEmpty: Bool { all.isEmpty }

    mutating func append(_ object: ManagedObject) {
        object.state.insert(.tracked)
        all.append(object)
    }

    /// Those of all that fulfil a condition; costs little where all do.
    func filter(_ isWanted: (ManagedObject) -> Bool) -> [ManagedObject] {
        all.allSatisfy(isWanted) ? all : all.filter(isWanted)
    }

    /// Notes that an object has no changes any more.
    mutating func noteIdle() {
        idle += 1
        if idle > 16, idle * 2 > all.count { compact() }
    }

    /// Drops the objects that have no changes.
    mutating func compact() {
        idle = 0
        if all.allSatisfy({ $0.hasChanges || $0.state.contains(.watched) }) { return }
        let kept = all.filter { $0.hasChanges || $0.state.contains(.watched) }
        for object in all where !object.hasChanges && !object.state.contains(.watched) {
            object.state.remove([.tracked, .stirred])
        }
        all = kept
        views.forget()
    }

    mutating func removeAll() { self = TrackedObjects() }
}
