internal import HornbeamModel

/// Read failures that a context has not reported yet.
///
/// A getter cannot throw, and its object may be released before the save. So the context stores the failures.
struct ReadFailures {
    /// The maximum number of failures that are stored; further failures are only counted.
    private static let keptMax = 100

    /// The error of each object that could not be read. Removed when the object is refreshed.
    private var reasons: [ManagedObjectID: HornbeamError] = [:]
    /// The first failures that no call has reported, in order.
    private(set) var unacknowledged: [HornbeamError] = []
    private(set) var unacknowledgedCount = 0
    /// The number of failures so far. A caller compares it before and after a read to detect a failure.
    private(set) var total = 0
    private(set) var last: HornbeamError?

    mutating func add(_ error: HornbeamError, of id: ManagedObjectID) {
        total += 1
        last = error
        unacknowledgedCount += 1
        if unacknowledged.count < Self.keptMax { unacknowledged.append(error) }
        if reasons.count < Self.keptMax || reasons[id] != nil { reasons[id] = error }
    }

    func reason(of id: ManagedObjectID) -> HornbeamError? { reasons[id] ?? last }

    /// Removes the failure of an object that is read again.
    mutating func forget(_ id: ManagedObjectID) {
        guard reasons.removeValue(forKey: id) != nil else { return }
        let kept = unacknowledged.filter { $0.objectIDs != [id] }
        unacknowledgedCount -= unacknowledged.count - kept.count
        unacknowledged = kept
    }

    mutating func acknowledge() -> [HornbeamError] {
        defer { (unacknowledged, unacknowledgedCount) = ([], 0) }
        return unacknowledged
    }

    /// Removes the failures after the first `count`, because a call has thrown them.
    mutating func removeThrown(since count: Int) {
        unacknowledgedCount = count
        if unacknowledged.count > count { unacknowledged.removeLast(unacknowledged.count - count) }
    }
}
