// The log position up to which an engine has replayed the log. The engine was opened for reading, or another process has the turn.

import HornbeamThreads

/// The position of a reader in the log.
final class ReaderPosition: Sendable {
    struct Place {
        var state: MetaState
        var end: LogMark
        /// True after a replay that failed. It may have published versions after `end`, so the replay cannot continue there.
        var mustRestart = false
        /// True while this process writes the log. Then the engine has the newest version.
        var isWriting = false
        /// The segments with groups when this process handed the log over. While `state` is the newest checkpoint, they do not change.
        var segments: [LogWriter.BegunSegment] = []
        /// The newest transaction that the follower knows. An attempt to read commits may fail after it has published some of them.
        var followed = TransactionNumber.zero
    }

    /// Guards the position. Locked during a refresh on purpose, so that only one refresh runs at a time.
    let place: Guarded<Place>

    /// The registries before those of newer checkpoints. Snapshots may read their versions.
    private let replaced = Guarded<[ReplacedRegistry]>([])

    private struct ReplacedRegistry: Sendable {
        private(set) weak var registry: VersionRegistry?
    }

    init(_ state: MetaState) {
        place = Guarded(Place(state: state, end: state.log))
    }

    func setEnd(_ end: LogMark) { place.withLock { $0.end = end } }

    /// Called before another registry publishes the later versions.
    func endPublication(of registry: VersionRegistry) {
        registry.endPublication()
        replaced.withLock { $0.append(ReplacedRegistry(registry: registry)) }
    }

    /// The time at which the oldest version was replaced that snapshots read, or that is live in the present registry; nil if there is none.
    func oldestReplacedAt(_ present: VersionRegistry) -> UInt64? {
        let older = replaced.withLock { replaced in
            replaced.removeAll { $0.registry == nil }
            return replaced.compactMap { $0.registry?.oldestReadReplacedAt }
        }
        return (older + [present.oldestReplacedAt].compactMap(\.self)).min()
    }
}
