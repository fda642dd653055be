import HornbeamThreads
import Synchronization
import Testing

@Suite("Work shared among threads")
struct CoresTests {
    @Test("each part is executed exactly once", arguments: 0 ... 5)
    func eachPartIsDoneOnce(_ parts: Int) {
        let done = Mutex<[Int]>([])
        Cores.share(parts) { part in done.withLock { $0.append(part) } }
        #expect(done.withLock { $0.sorted() } == Array(0 ..< parts))
    }
}
