import Glibc
import HornbeamThreads
import Synchronization
import Testing

@Suite("Threads that do several pieces of work")
struct ThreadTeamTests {
    @Test("the body is called once with each number, in each piece of work", arguments: 0...4)
    func eachNumberIsPassedOnce(workers: Int) {
        let team = ThreadTeam(workers: workers)
        for count in (0..<200).map({ $0 % 9 }) {
            let done = Mutex<[Int]>([])
            team.forEach(count) { number in done.withLock { $0.append(number) } }
            #expect(done.withLock { $0.sorted() } == Array(0..<count))
        }
    }

    // Without workers, the owner does everything in `finish`.
    @Test("work that has begun is complete after finish", arguments: 0...2)
    func finishCompletesWork(workers: Int) {
        let team = ThreadTeam(workers: workers)
        let done = Mutex<[Int]>([])
        team.begin(100) { number in done.withLock { $0.append(number) } }
        team.finish()
        #expect(done.withLock { $0.sorted() } == Array(0..<100))
        team.finish()
        #expect(done.withLock { $0.count } == 100)
    }

    @Test("workers work while the owner does something else")
    func workersWorkBesideTheOwner() {
        let team = ThreadTeam(workers: 1)
        let calls = Atomic<Int>(0)
        team.begin(1) { _ in calls.add(1, ordering: .sequentiallyConsistent) }
        while calls.load(ordering: .sequentiallyConsistent) == 0 {}
        team.finish()
        #expect(calls.load(ordering: .sequentiallyConsistent) == 1)
    }

    @Test("a thread of an interleaving works alone, so that its schedule can be repeated")
    func aThreadOfAnInterleavingWorksAlone() {
        let threads = Mutex<Set<pthread_t>>([])
        let part = Interleaving.Part("owner") {
            let team = ThreadTeam(workers: 3)
            team.forEach(1000) { _ in _ = threads.withLock { $0.insert(pthread_self()) } }
        }
        let outcome = Interleaving(Schedule()).run([part])
        #expect(outcome.failures.isEmpty)
        #expect(threads.withLock { $0.count } == 1)
    }
}
