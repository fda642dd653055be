internal import HornbeamModel

/// The changed objects of a context, in the order of their first change, and their views for requests.
///
/// Objects without changes stay in the list until they are more than half of it, so that removal has a constant amortised
/// cost. Check an object's state before using it.
struct TrackedObjects {
    private(set) var all: [ManagedObject] = []
    /// The views of the objects for fetches.
    var views = PendingViews()
    private var unchangedCount = 0

    var isEmpty: Bool { all.isEmpty }

    mutating func append(_ object: ManagedObject) {
        object.state.insert(.tracked)
        all.append(object)
    }

    /// The objects that satisfy a condition. Copies no list if all do.
    func filter(_ isWanted: (ManagedObject) -> Bool) -> [ManagedObject] {
        all.allSatisfy(isWanted) ? all : all.filter(isWanted)
    }

    /// Counts an object that no longer has changes.
    mutating func countUnchanged() {
        unchangedCount += 1
        if unchangedCount > 16, unchangedCount * 2 > all.count { compact() }
    }

    /// Removes the objects without changes.
    mutating func compact() {
        unchangedCount = 0
        if all.allSatisfy({ $0.hasChanges || $0.state.contains(.watched) }) { return }
        let kept = all.filter { $0.hasChanges || $0.state.contains(.watched) }
        for object in all where !object.hasChanges && !object.state.contains(.watched) {
            object.state.remove([.tracked, .changedSinceWillSave])
        }
        all = kept
        views.forget()
    }

    mutating func removeAll() { self = TrackedObjects() }
}
