internal import HornbeamThreads
internal import Synchronization

/// The state of an open store that follows the commits of other processes.
final class OtherProcesses: Sendable {
    private let lastReadableVersion = Guarded<LastReadableVersion?>(nil)
    /// True if there is such a version, so that readers take no lock.
    private let isSuperseded = Atomic(false)
    /// The history that another process has begun since the opening.
    let begunHistory = Guarded<HistoryLog?>(nil)
    /// True if this process must read the hints about the newest history again, because reading it failed.
    let isHistoryBehind = Atomic(false)
    /// The engine's count of readings at the last verification of the schema.
    let verifiedReadings = Atomic(0)

    /// The last version of the old model, if another process has changed the model; otherwise nil.
    var lastReadable: LastReadableVersion? {
        guard isSuperseded.load(ordering: .acquiring) else { return nil }
        return lastReadableVersion.withLock(\.self)
    }

    /// Sets the last version of the old model, if there is none yet.
    func setLastReadable(_ version: LastReadableVersion) {
        lastReadableVersion.withLock { $0 = $0 ?? version }
        isSuperseded.store(true, ordering: .releasing)
    }
}
