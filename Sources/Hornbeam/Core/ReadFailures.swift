internal import HornbeamModel

/// Read failures that a context has not reported yet.
///
/// A getter cannot throw, and its object may be released before the save. So the context keeps the failures.
struct ReadFailures {
    /// The maximum number of failures kept; others are counted.
    private static let keptMax = 100

    /// The error of each object that could not be read, until it is refreshed.
    private var reasons: [ManagedObjectID: HornbeamError] = [:]
    /// The first failures that are not acknowledged, in order.
    private(set) var unacknowledged: [HornbeamError] = []
    private(set) var unacknowledgedCount = 0
    /// The number of failures so far, so that a read can detect whether it failed.
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

    /// Removes the failures after the given count, because a call has thrown them.
    mutating func withdraw(since count: Int) {
        unacknowledgedCount = count
        if unacknowledged.count > count { unacknowledged.removeLast(unacknowledged.count - count) }
    }
}
