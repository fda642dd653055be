// The background threads of an engine. One writes checkpoints, which may take long. The other one syncs lazy commits and preallocates log segments, which
// must not wait for a checkpoint.

import Synchronization

/// The background threads of an engine, which its first commit starts.
final class UpkeepThreads: Sendable {
    let pages: Maintenance
    let log: Maintenance
    private let areStarted = Atomic(false)

    init(mayStart: @escaping @Sendable () -> Bool) {
        pages = Maintenance(mayStart: mayStart)
        log = Maintenance(mayStart: mayStart)
    }

    /// True if both threads were started.
    var wereStarted: Bool { areStarted.load(ordering: .relaxed) }

    /// Starts the threads, unless they run or were stopped. If one cannot be created, the next call tries again.
    func start(_ engine: Engine) {
        guard !wereStarted, pages.start(engine, { $0.maintainPages() }), log.start(engine, { $0.maintainLog() }) else { return }
        areStarted.store(true, ordering: .relaxed)
    }

    /// Stops the threads for good, and waits for their work.
    func stop() {
        pages.stop()
        log.stop()
    }
}
