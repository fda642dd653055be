import Foundation
import Testing

@testable import Hornbeam

/// The difference of two lists, for all small lists and for long random ones.
@Suite struct ListDifferenceTests {
    /// The elements that stay, in their old and in their new order, and the rest.
    private func check(
        _ old: [Int], _ new: [Int], marked: Set<Int> = [], mayStay: @escaping (Int, Int) -> Bool = { _, _ in true }, _ comment: Comment
    ) -> ListDifference {
        let difference = ListDifference(from: old, to: new, isMarked: marked.contains, mayStay: mayStay)
        check(difference, old, new, marked: marked, mayStay: mayStay, comment)
        return difference
    }

    private func check(
        _ difference: ListDifference, _ old: [Int], _ new: [Int], marked: Set<Int>, mayStay: (Int, Int) -> Bool = { _, _ in true }, _ comment: Comment
    ) {
        let removed = Set(difference.deleted + difference.moved.map(\.old))
        let added = Set(difference.inserted + difference.moved.map(\.new))
        let staying = old.indices.filter { !removed.contains($0) }
        let stayed = new.indices.filter { !added.contains($0) }
        #expect(staying.map { old[$0] } == stayed.map { new[$0] }, comment)
        #expect(difference.moved.allSatisfy { old[$0.old] == new[$0.new] }, comment)
        #expect(Set(difference.deleted.map { old[$0] }) == Set(old).subtracting(new), comment)
        #expect(Set(difference.inserted.map { new[$0] }) == Set(new).subtracting(old), comment)
        #expect(zip(staying, stayed).allSatisfy { mayStay($0, $1) }, comment)
        #expect(difference.marked.map { old[$0.old] } == stayed.map { new[$0] }.filter(marked.contains), comment)
        for positions in [difference.deleted, difference.inserted, difference.moved.map(\.new), difference.marked.map(\.new)] {
            #expect(positions == positions.sorted(), comment)
        }
    }

    /// The length of a longest part of the common elements that has the same order in both lists. Tries all parts.
    private func longest(_ old: [Int], _ new: [Int]) -> Int {
        let common = new.compactMap { old.firstIndex(of: $0) }
        return (0 ..< 1 << common.count).reduce(0) { best, bits in
            let part = common.indices.filter { bits & (1 << $0) != 0 }.map { common[$0] }
            return part == part.sorted() ? max(best, part.count) : best
        }
    }

    /// All lists of distinct elements of a set, of all lengths.
    private func lists(of elements: [Int]) -> [[Int]] {
        [[]] + elements.flatMap { first in lists(of: elements.filter { $0 != first }).map { [first] + $0 } }
    }

    @Test("FRC-10, FRC-11: the difference of all pairs of small lists moves as few elements as possible")
    func smallListsMoveAsFewAsPossible() {
        let lists = lists(of: [1, 2, 3, 4])
        for old in lists where old == old.sorted() {
            for new in lists {
                let difference = check(old, new, "\(old) \(new)")
                let common = new.filter(old.contains).count
                #expect(difference.moved.count == common - longest(old, new), "\(old) \(new)")
            }
        }
    }

    @Test(arguments: 0 ..< 32) func markedElementsMoveRatherThanOthers(marks: Int) {
        let marked = Set((1 ... 5).filter { marks & (1 << ($0 - 1)) != 0 })
        for new in lists(of: [1, 2, 3, 4, 5]) where new.count == 5 {
            let difference = check([1, 2, 3, 4, 5], new, marked: marked, "\(new), marked \(marked)")
            let unmarked = new.filter { !marked.contains($0) }
            let moved = difference.moved.filter { !marked.contains(new[$0.new]) }.count
            // The elements before the first difference and after the last one stay in any case.
            if new.first != 1, new.last != 5 { #expect(moved <= unmarked.count - longest([1, 2, 3, 4, 5], unmarked), "\(new), marked \(marked)") }
        }
    }

    @Test(arguments: UInt64(1) ... 30) func longListsOfASeed(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        let old = Array(0 ..< 500).shuffled(using: &generator)
        var new = old.filter { _ in Int.random(in: 0 ..< 10, using: &generator) > 0 }
        for element in 500 ..< 540 { new.insert(element, at: Int.random(in: 0 ... new.count, using: &generator)) }
        for _ in 0 ..< 20 { new.insert(new.remove(at: Int.random(in: 0 ..< new.count, using: &generator)), at: Int.random(in: 0 ..< new.count, using: &generator)) }
        let marked = Set((0 ..< 50).map { _ in Int.random(in: 0 ..< 540, using: &generator) })
        let bound = Int.random(in: 0 ..< 500, using: &generator)
        let difference = check(old, new, marked: marked, "seed \(seed)")
        #expect(difference.moved.count <= 20 + marked.count, "seed \(seed)")
        _ = check(old, new, marked: marked, mayStay: { ($0 < bound) == ($1 < bound) }, "seed \(seed), bound \(bound)")
    }

    @Test("FRC-10, FRC-11: the difference of known changes is that of the lists", arguments: UInt64(1) ... 30)
    func knownChangesOfASeed(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        let old = Array(0 ..< 200).shuffled(using: &generator)
        let changed = Set((0 ..< Int.random(in: 0 ..< 80, using: &generator)).map { _ in Int.random(in: 0 ..< 240, using: &generator) })
        var new = old.filter { !changed.contains($0) || Int.random(in: 0 ..< 3, using: &generator) == 0 }
        for element in changed.sorted() where !new.contains(element) && Int.random(in: 0 ..< 4, using: &generator) > 0 {
            new.insert(element, at: Int.random(in: 0 ... new.count, using: &generator))
        }
        func places(_ list: [Int]) -> [ListDifference.Place<Int>] {
            list.indices.filter { changed.contains(list[$0]) }.map { .init(position: $0, element: list[$0]) }
        }
        let marked = changed.filter { $0 % 2 == 0 }
        let difference = ListDifference(leaving: places(old), arriving: places(new), isMarked: marked.contains)
        check(difference, old, new, marked: marked, "seed \(seed)")
        let whole = ListDifference(from: old, to: new, isMarked: changed.contains)
        #expect(difference.deleted == whole.deleted && difference.inserted == whole.inserted, "seed \(seed)")
        #expect(difference.moved.count == whole.moved.count, "seed \(seed)")
        #expect(difference.moved.allSatisfy { changed.contains(old[$0.old]) }, "seed \(seed)")
    }

    @Test("FRC-14: the difference of two snapshots is valid for lists with thousands of differences")
    func snapshotsWithManyDifferences() throws {
        let context = try Company.stack(.inMemory).newContext()
        let ids = (0 ..< 5000).map { context.employee("\($0)").objectID }
        let older = FetchedResultsSnapshot(sections: [.init(name: "", objectIDs: Array(ids.prefix(4000)))])
        let newer = FetchedResultsSnapshot(sections: [.init(name: "a", objectIDs: Array(ids.suffix(4000).reversed()))])
        let difference = newer.difference(from: older)
        #expect(older.objectIDs.applying(difference) == newer.objectIDs)
        #expect(difference.removals.count == 3999 && difference.insertions.count == 3999)
    }
}
