/// The state that a store is opened at.
///
/// Opening at an older one than the newest loses what came after it, for good once the store is open for writing;
/// the coordinator's `openingLoss(of:)` says what.
public enum StoreStartingPoint: Hashable, Sendable {
    /// The newest. The store is refused when anything that was saved is missing.
    case newest
    /// The newest that can be read.
    case lastReadable
    /// The checkpoint before the last: the way out where the newest state is damaged or wrong.
    case previousCheckpoint
}
