internal import HornbeamModel

/// What a context could not read, and has not reported yet.
///
/// A getter cannot throw, and the object that it failed for may be gone by the time of the save. So the context itself keeps the failures.
struct ReadFailures {
    /// So many are kept; the others are counted.
    private static let keptMax = 100

    /// Why an object could not be read, until it is refreshed.
    private var reasons: [ManagedObjectID: HornbeamError] = [:]
    /// The first failures that were not acknowledged, in their order.
    private(set) var unacknowledged: [HornbeamError] = []
    private(set) var unacknowledgedCount = 0
    /// Failures ever, so that a read can tell whether it failed.
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

    /// The object is read anew.
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

    /// Takes back the failures since there were so many: a call has thrown them.
    mutating func withdraw(since count: Int) {
        unacknowledgedCount = count
        if unacknowledged.count > count { unacknowledged.removeLast(unacknowledged.count - count) }
    }
}
