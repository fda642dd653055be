// The log position up to which an engine that was opened for reading shows the store.

import HornbeamThreads

/// The position of a reader in the log.
final class ReaderPosition: Sendable {
    struct Place {
        var state: MetaState
        var end: LogMark
    }

    /// Guards the place. Held across a refresh on purpose, so that one refresh runs at a time.
    let place: Guarded<Place>

    init(_ state: MetaState) {
        place = Guarded(Place(state: state, end: state.log))
    }

    func note(_ end: LogMark) { place.withLock { $0.end = end } }
}
