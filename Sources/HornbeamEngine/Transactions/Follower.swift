// The place in the log up to which an engine that was opened for reading shows the store.

import HornbeamThreads

/// Where a reader is in the log, and how it gets further.
final class Follower: Sendable {
    struct Place {
        var state: MetaState
        var end: LogMark
    }

    /// Guards the place; held across a refresh on purpose, so that one runs at a time.
    let place: Guarded<Place>

    init(_ state: MetaState) {
        place = Guarded(Place(state: state, end: state.log))
    }

    func note(_ end: LogMark) { place.withLock { $0.end = end } }
}
