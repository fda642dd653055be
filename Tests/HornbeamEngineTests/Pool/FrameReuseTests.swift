import HornbeamThreads
import Testing

@testable import HornbeamEngine
@testable import HornbeamSimulation

/// A frame gets another generation when no reader can see its former content any more: a reader may ask for the generation until it leaves its epoch.
@Suite struct FrameReuseTests {
    private static let address: UInt64 = 800

    private struct Subject: Sendable {
        let pool: FramePool
        let frame: UInt32

        /// A pool with one cached page.
        init() throws {
            pool = try FramePool(pageSize: 512, bytes: 64 * 512, files: PageBench(on: MemoryFileSystem()).files)
            frame = pool.admit(try pool.allocate(birth: 0), address: address, stamp: 1)
        }

        /// The generation of the frame, asked for by a reader that has found the page; nil if it has not.
        func generationForReader() -> UInt32? {
            let reader = pool.epochs.enter()
            defer { pool.epochs.leave(reader) }
            guard pool.holds(frame, address) else { return nil }
            pool.epochs.point("a page that was found, before its generation is read")
            return pool.generation(frame)
        }

        /// Frees all frames that no reader sees, and allocates. True if the frame is in use again.
        func reuses() throws -> Bool {
            pool.trim()
            return try (0..<4).contains { _ in try pool.allocate(birth: 7) == frame }
        }
    }

    @Test func aReaderOfAnEvictedPageKnowsNoLaterGeneration() throws {
        let subject = try Subject()
        let reader = subject.pool.epochs.enter()
        subject.pool.evict(pages: [Self.address])
        let generation = subject.pool.generation(subject.frame)
        #expect(try !subject.reuses())
        subject.pool.epochs.leave(reader)
        #expect(try subject.reuses())
        #expect(subject.pool.generation(subject.frame) != generation)
    }

    @Test func aTakenPageIsUnseenWithoutReaders() throws {
        let subject = try Subject()
        let reader = subject.pool.epochs.enter()
        var taken = subject.pool.take(pages: [Self.address, 1600])
        #expect(taken.frames == [subject.frame, nil] && !taken.areUnseen)
        subject.pool.epochs.leave(reader)
        subject.pool.returnTaken([(subject.frame, Self.address)])
        taken = subject.pool.take(pages: [1600, Self.address, Self.address])
        #expect(taken.frames == [nil, subject.frame, nil] && taken.areUnseen)
        #expect(subject.pool.frame(holding: Self.address) == nil)
        subject.pool.adopt(subject.frame, birth: 7)
        #expect(try !subject.reuses())
    }

    @Test func anUnchangedPageIsFoundAgain() throws {
        let subject = try Subject()
        _ = subject.pool.take(pages: [Self.address])
        #expect(subject.generationForReader() == nil)
        subject.pool.returnTaken([(subject.frame, Self.address)])
        #expect(subject.pool.frame(holding: Self.address) == subject.frame)
        #expect(subject.generationForReader() != nil)
        // Another thread has read the page meanwhile.
        _ = subject.pool.take(pages: [Self.address])
        let other = subject.pool.admit(try subject.pool.allocate(birth: 0), address: Self.address, stamp: 1)
        subject.pool.returnTaken([(subject.frame, Self.address)])
        #expect(other != subject.frame && subject.pool.frame(holding: Self.address) == other)
        #expect(try subject.reuses())
    }

    /// A reader finds the page, and asks for its generation while the frame is being evicted, or taken and changed.
    @Test(arguments: [false, true], 0..<24) func readersInEachOrder(isTaken: Bool, first: Int) throws {
        for second in 0..<8 {
            let schedule = Schedule(preemptions: [first, first + 1 + second].map { Schedule.Preemption(point: $0, target: 0) })
            let interleaving = Interleaving(schedule)
            let subject = try Subject()
            let known = Guarded<UInt32?>(nil)
            let isReused = Guarded(false)
            let reading = Interleaving.Part("read") {
                let generation = subject.generationForReader()
                known.withLock { $0 = generation }
            }
            let changing = Interleaving.Part("change") {
                if isTaken {
                    let (frames, areUnseen) = subject.pool.take(pages: [Self.address])
                    if areUnseen, let frame = frames[0] { subject.pool.adopt(frame, birth: 7) }
                    isReused.withLock { $0 = areUnseen }
                } else {
                    subject.pool.evict(pages: [Self.address])
                    let reuses = try subject.reuses()
                    isReused.withLock { $0 = reuses }
                }
            }
            let outcome = interleaving.run([reading, changing])
            #expect(outcome.stopReason == nil && outcome.failures.isEmpty, "schedule \(schedule)")
            guard isReused.withLock(\.self), let generation = known.withLock(\.self) else { continue }
            #expect(subject.pool.generation(subject.frame) != generation, "schedule \(schedule)")
        }
    }
}
