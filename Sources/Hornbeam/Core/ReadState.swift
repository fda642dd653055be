internal import HornbeamStore

/// The state of the stores that a context reads, and whether it stays there.
struct ReadState {
    /// Identifies a state without keeping it, so that the check for a newer one needs no reference counting.
    struct Mark: Equatable {
        let transaction: UInt64
        let stackAddress: UInt

        init(_ snapshot: StackSnapshot) {
            transaction = snapshot.transaction
            stackAddress = UInt(bitPattern: ObjectIdentifier(snapshot.stack))
        }
    }

    /// Nil before the first read and after `reset`.
    private(set) var snapshot: StackSnapshot?
    /// Identifies the state of `snapshot`.
    private(set) var mark: Mark?
    /// True while reads stay at one state (QGN-1).
    var isPinned = false
    /// True when the announced commits do not lead from this context's snapshot to the newest.
    var isAway = false

    /// Reads another state from now on. False when it is the same snapshot.
    @discardableResult
    mutating func move(to snapshot: StackSnapshot?) -> Bool {
        let isOther = self.snapshot !== snapshot
        self.snapshot = snapshot
        mark = snapshot.map { Mark($0) }
        return isOther
    }
}
