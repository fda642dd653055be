internal import HornbeamStore

/// The state of the stores that a context reads, and whether it stays there.
struct ReadState {
    /// Names a state without keeping it, so that a comparison with the newest state counts no reference.
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
    /// What `snapshot` is the state of.
    private(set) var mark: Mark?
    /// True while reads stay at one state until told otherwise (QGN-1).
    var isPinned = false
    /// True at a state that was not reached by merging what was announced.
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
