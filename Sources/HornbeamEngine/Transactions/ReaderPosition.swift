// The log position up to which an engine for reading has replayed the log.

import HornbeamThreads

/// The position of a reader in the log.
final class ReaderPosition: Sendable {
    struct Place {
        var state: MetaState
        var end: LogMark
    }

    /// Guards the position. Locked during a refresh on purpose, so that only one refresh runs at a time.
    let place: Guarded<Place>

    init(_ state: MetaState) {
        place = Guarded(Place(state: state, end: state.log))
    }

    func setEnd(_ end: LogMark) { place.withLock { $0.end = end } }
}
