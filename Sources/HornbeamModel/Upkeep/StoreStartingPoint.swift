/// The state at which a store is opened.
///
/// Opening a store at an older state than the newest hides the later commits. Opening it for writing removes them permanently.
/// The coordinator's `openingLoss(of:)` describes them.
public enum StoreStartingPoint: Hashable, Sendable {
    /// The newest state. Opening fails when a part of it is missing.
    case newest
    /// The newest readable state.
    case lastReadable
    /// The state of the checkpoint before the last, for a damaged or unwanted newest state.
    case previousCheckpoint
}
