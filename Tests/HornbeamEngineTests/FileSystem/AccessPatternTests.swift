import Testing
@testable import HornbeamEngine

/// When a file counts as read at random, for which the system's read-ahead is turned off.
@Suite struct AccessPatternTests {
    private static let far = 2 * AccessPattern.distanceMax

    /// A pattern, as a class that `#expect` can copy a reference to.
    private final class Subject {
        let pattern = AccessPattern()
        private(set) var isRandom = false

        func read(_ offset: UInt64, _ count: Int = 5000, thread: UInt = 1) {
            if let now = pattern.note(offset: offset, count: count, thread: thread) { isRandom = now }
        }

        func readAtRandom(_ count: UInt64 = 20) { for n in 1...count { read(n * n * AccessPatternTests.far) } }
    }

    @Test func someReadsAtRandomPlacesMakeAFileRandom() {
        let subject = Subject()
        for n in 1...10 as ClosedRange<UInt64> {
            subject.read(n * n * Self.far)
            #expect(subject.isRandom == (n >= AccessPattern.randomReadsMin))
        }
    }

    @Test(arguments: [0, 3, AccessPattern.distanceMax]) func aScanIsNotRandomWithPagesThatItSkips(gap: UInt64) {
        let subject = Subject()
        for n in 0..<100 as Range<UInt64> {
            subject.read(n * (5000 + gap))
            #expect(!subject.isRandom)
        }
    }

    @Test func theSecondReadOfAScanEndsRandomReads() {
        let subject = Subject()
        subject.readAtRandom()
        subject.read(1000 * Self.far)
        #expect(subject.isRandom)
        subject.read(1000 * Self.far + 5000)
        #expect(!subject.isRandom)
    }

    /// Threads share eight places, which depend on their numbers; those of this test have places of their own.
    @Test func scansOfSeveralThreadsAreNotRandom() {
        let subject = Subject()
        for n in 0..<100 as Range<UInt64> {
            for thread in 0..<4 as Range<UInt64> {
                subject.read(thread * 1000 * Self.far + 5000 * n, thread: UInt(thread))
                #expect(!subject.isRandom)
            }
        }
    }

    @Test func aScanBesideLookupsOfAnotherThreadIsNotRandom() {
        let subject = Subject()
        for n in 0..<100 as Range<UInt64> {
            subject.read(5000 * n, thread: 1)
            for lookup in 0..<(n % 4) { subject.read((n * n + lookup) * 3 * Self.far, thread: 2) }
            #expect(!subject.isRandom)
        }
    }

    @Test func longReadsChangeNothing() {
        let subject = Subject()
        for n in 0..<100 as Range<UInt64> { subject.read(n << 19, 1 << 20) }
        #expect(!subject.isRandom)
        subject.readAtRandom()
        for n in 0..<100 as Range<UInt64> { subject.read(n << 20, 1 << 20) }
        #expect(subject.isRandom)
    }

    @Test func offsetsOfAnySizeAreAccepted() {
        let subject = Subject()
        for offset in [1 << 40, .max, 1 << 50, .max - 4999, 1 << 60] as [UInt64] { subject.read(offset) }
        #expect(subject.isRandom)
    }
}
