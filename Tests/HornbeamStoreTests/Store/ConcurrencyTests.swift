import Dispatch
import HornbeamModel
import HornbeamThreads
import Synchronization
import Testing
@testable import HornbeamStore

@Suite("Concurrency")
struct ConcurrencyTests {
    // thread 1        thread 2        …
    // read version    read version
    // save +1 (v1)
    //                 save +1 (v1)     refused: v2 is stored
    //                 read, save +1 (v2)
    @Test("SAV-9: counters changed by many threads at once equal the acknowledged increments")
    func countersEqualAcknowledgedIncrements() throws {
        let library = try Library()
        let counters = try (0 ..< 3).map { try library.insert("Book", ["title": .string("\($0)"), "pages": 0]) }
        let acknowledged = Atomic<Int>(0)
        let refused = Atomic<Int>(0)
        let failures = Guarded<[String]>([])
        let heard = Heard()
        let observation = library.store.observe { heard.add($0) }
        defer { observation.cancel() }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0 ..< 40 {
                do {
                    try increment(counters[(thread + round) % counters.count], library)
                    acknowledged.add(1, ordering: .relaxed)
                } catch is SaveConflicts {
                    refused.add(1, ordering: .relaxed)
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
        let total = try counters.reduce(0) { sum, counter in
            guard case .int(let pages)? = try library.value(counter, "pages") else { return sum }
            return sum + Int(pages)
        }
        let wanted = acknowledged.load(ordering: .relaxed)
        #expect(total == wanted)
        #expect(wanted + refused.load(ordering: .relaxed) == 320)
        let transactions = heard.changes.map(\.transaction)
        #expect(transactions.count == wanted)
        #expect(transactions == transactions.sorted())
    }

    private func increment(_ counter: ObjectReference, _ library: Library) throws {
        let row = try library.row(counter)!
        let pages = library.property("pages", of: "Book")
        guard case .int(let value) = row.values[pages.index] else { return }
        var changes = ChangeSet()
        changes.updates = [
            ChangeSet.Update(
                entity: library.entity("Book"), key: counter.key, expectedVersion: row.version,
                values: [(pages, .int(value + 1))])
        ]
        _ = try library.store.save(changes)
    }

    @Test("a change is announced before its save returns, and readers see it by then")
    func announcementsComeBeforeTheSaveReturns() throws {
        let library = try Library()
        let heard = Heard()
        let observation = library.store.observe { heard.add($0) }
        defer { observation.cancel() }
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for round in 0 ..< 25 {
                let object = try? library.insert("Desk", ["place": .string("\(thread)-\(round)")])
                #expect(heard.changes.contains { change in object.map { change.inserted == [$0] } ?? false })
            }
        }
        #expect(try library.store.snapshot().count(FetchDescription(entityName: "Desk")) == 100)
    }

    @Test("keys that threads reserve at once are never the same")
    func reservedKeysAreDistinct() throws {
        let library = try Library()
        let keys = Guarded<Set<UInt64>>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for count in 1 ... 50 {
                guard let first = try? library.store.reserveKeys(count) else { continue }
                let range = first ..< first + UInt64(count)
                #expect(keys.withLock { keys in range.allSatisfy { keys.insert($0).inserted } })
            }
        }
        let count = keys.withLock { $0.count }
        #expect(count == 10_200)
    }
}
