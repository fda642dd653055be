import Glibc
import HornbeamThreads
import Testing

@testable import HornbeamEngine

/// Waits for changes of a file by other processes.
@Suite struct FileEventsTests {
    /// The system refuses a watch beyond `max_user_watches`, and for a missing file. The wait took a second, although no change could end it.
    @Test func withoutAWatchTheWaitsAreShort() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/lock"
        let events = FileEvents()
        events.watch(path, .times)
        #expect(events.nextWaitMax == FileEvents.waitMaxWithoutEvents)
        close(creat(path, 0o600))
        events.watch(path, .writes)
        #expect(events.nextWaitMax == FileEvents.waitMax)
    }

    @Test("each kind of change ends a wait without a limit", arguments: [FileEvents.Kind.times, .writes])
    func changesEndWaits(kind: FileEvents.Kind) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/lock"
        let file = creat(path, 0o600)
        defer { close(file) }
        let events = FileEvents(waitMax: -1)
        let waits = Guarded(0)
        Cores.share(2) { part in
            for round in 0..<20 {
                if part == 0 {
                    events.watch(path, kind)
                    waits.withLock { $0 += 1 }
                    events.wait()
                } else {
                    // The change comes after the beginning of the watch; it may come before the wait.
                    while waits.withLock({ $0 }) <= round { usleep(100) }
                    var byte = UInt8(round)
                    if kind == .times { utimensat(AT_FDCWD, path, nil, 0) } else { pwrite(file, &byte, 1, 0) }
                }
            }
        }
        #expect(waits.withLock { $0 } == 20)
    }

    @Test func wakingAndEndingEndWaits() {
        let folder = TemporaryFolder()
        let path = folder.path + "/lock"
        close(creat(path, 0o600))
        let events = FileEvents(waitMax: -1)
        events.watch(path, .writes)
        events.wake()
        events.wait()
        events.end()
        for _ in 0..<3 { events.wait() }
    }
}
