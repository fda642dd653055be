internal import HornbeamModel
internal import Synchronization

/// The time in which the code of a stage may write to the stores of its migration.
///
/// A context that outlives its stage would otherwise write to the migrated store without its history and its other contexts.
final class StageAccess: Sendable {
    private let isOver = Atomic(false)

    func end() { isOver.store(true, ordering: .sequentiallyConsistent) }

    /// - Throws: `closed` after the end of the stage.
    func requireRunning(_ location: Store.Location) throws {
        guard isOver.load(ordering: .sequentiallyConsistent) else { return }
        throw HornbeamError(
            .closed,
            "The stage that migrated “\(location)” has ended, and its contexts cannot save any more. Save before its closure returns, or use a "
                + "context of the container.")
    }
}
