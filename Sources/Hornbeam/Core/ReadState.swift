internal import HornbeamStore

/// The snapshot that a context reads, and whether the context is pinned to it.
struct ReadState {
    /// Identifies a snapshot without retaining it, so that the check for a newer one needs no reference counting.
    struct SnapshotIdentity: Equatable {
        let transaction: UInt64
        let stackAddress: UInt

        init(_ snapshot: StackSnapshot) {
            transaction = snapshot.transaction
            stackAddress = UInt(bitPattern: ObjectIdentifier(snapshot.stack))
        }
    }

    /// The snapshot; nil before the first read and after `reset`.
    private(set) var snapshot: StackSnapshot?
    /// Identifies `snapshot`.
    private(set) var identity: SnapshotIdentity?
    /// True while the context stays at one snapshot (QGN-1).
    var isPinned = false
    /// True if the change queue does not contain all commits between this context's snapshot and the newest. The next merge compares all objects.
    var needsFullMerge = false

    /// Switches to another snapshot. Returns false if it is the same one.
    @discardableResult
    mutating func move(to snapshot: StackSnapshot?) -> Bool {
        let isOther = self.snapshot !== snapshot
        self.snapshot = snapshot
        identity = snapshot.map { SnapshotIdentity($0) }
        return isOther
    }
}
