import HornbeamModel
import Testing
@testable import HornbeamEngine
@testable import HornbeamStore

@Suite("Found rows")
struct ResultSetTests {
    /// Consecutive keys, keys with gaps, several tables at once; all rows, every other one, few, none.
    private static let questions: [(entity: String, format: String?)] = [
        ("Values", nil), ("Values", "bool == YES"), ("Values", "int16 == 3"), ("Book", nil), ("Book", "pages > 200"),
        ("Publication", nil), ("Publication", "year < 1955"), ("Publication", "year < 1900"), ("Tag", nil),
    ]

    @Test("a row by its index equals the row in iteration, for all rows and for any part", arguments: 1 ... 3)
    func placesAgreeWithWalks(_ seed: UInt64) throws {
        for (rows, _, title) in try answers(seed) {
            let walked = rows.map(\.reference)
            #expect(rows.indices.map { rows[$0].reference } == walked, "seed \(seed): \(title)")
            for start in stride(from: 0, through: rows.count, by: max(rows.count / 7, 1)) {
                for end in [start, (start + rows.count) / 2, rows.count] {
                    var part = rows
                    part.keep(start ..< end)
                    #expect(part.map(\.reference) == Array(walked[start ..< end]), "seed \(seed), \(start) to \(end): \(title)")
                }
            }
        }
    }

    @Test("a row has the position at which it was found", arguments: 1 ... 3)
    func rowsLieWhereTheyWereSeen(_ seed: UInt64) throws {
        for (rows, snapshot, title) in try answers(seed) {
            for row in rows {
                var location = RowLocation()
                try snapshot.view(snapshot.schema.table(at: row.reference.entityIndex)).locate(row.reference.key, &location)
                #expect(row.hint.location.isSameRow(as: location), "seed \(seed): \(title)")
            }
        }
    }

    @Test("rows of a scan are stored leaf by leaf, and keep their positions when they get a store's slot")
    func leavesInsteadOfRows() throws {
        let filled = try FilledLibrary(seed: 1, size: 1_200)
        let snapshot = try filled.library.store.snapshot()
        for entity in ["Values", "Book"] {
            var rows = try snapshot.fetch(FetchDescription(entityName: entity)).rows
            #expect(rows.leaves.count * 10 < rows.count)
            let before = Array(rows)
            rows.move(to: StoreSlot(3))
            #expect(rows.map(\.reference) == before.map { $0.reference.inSlot(StoreSlot(3)) })
            #expect(rows.map(\.hint.location) == before.map(\.hint.location))
        }
    }

    @Test("a list contains the rows that were added, of one entity or of several, in parts or together")
    func listsOfEntities() {
        let references = (1 ... 40).map { ObjectReference(entityIndex: [2, 2, 5][$0 / 14], key: UInt64($0 * 3)) }
        for first in [0, 5, 13, 14, 30, 40] {
            var rows = ResultSet(Array(references[..<first]))
            for reference in references[first...] { rows.append(reference, nil) }
            #expect(rows.map(\.reference) == references && rows.shortList == nil)
            var parts = ResultSet(Array(references[..<first]))
            parts.append(ResultSet(Array(references[first...])))
            #expect(parts.map(\.reference) == references)
        }
        var single = ResultSet([1, 2, 3], of: 4)
        single.append([7, 8], 4)
        single.append([9], 5)
        #expect(single.map(\.reference.entityIndex) == [4, 4, 4, 4, 4, 5] && single.map(\.reference.key) == [1, 2, 3, 7, 8, 9])
    }

    @Test("a short list is the window of a list of one entity and store")
    func shortLists() throws {
        var rows = ResultSet([3, 5, 8, 9], of: 4)
        rows.keep(1 ..< 3)
        rows.move(to: StoreSlot(2))
        let list = try #require(rows.shortList)
        #expect(Array(list.keys) == [StoreSlot(2).bits | 5, StoreSlot(2).bits | 8] && list.entityIndex == 4 && list.slot == StoreSlot(2))
        #expect(ResultSet([3, StoreSlot(1).bits | 5], of: 4).shortList == nil)
        #expect(ResultSet(Array(1 ... 600), of: 4).shortList == nil && ResultSet().shortList == nil)
    }

    /// The results of one thread, and those of three threads together.
    private func answers(_ seed: UInt64) throws -> [(ResultSet, StoreSnapshot, String)] {
        let snapshot = try FilledLibrary(seed: seed, size: 1_200).library.store.snapshot()
        return try Self.questions.flatMap { entity, format in
            let request = FetchDescription(entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) })
            let plans = try FetchPlan.all(request, in: snapshot, counting: false)
            let plan = try #require(plans.first { if case .scan = $0.choice.path { true } else { false } })
            return try [FilterContext(snapshot), .shared(snapshot)].map { context in
                (try snapshot.fetch(plan, excluding: [], in: context).rows, snapshot, "\(entity) where \(format ?? "all")")
            }
        }
    }
}

extension RowLocation {
    fileprivate func isSameRow(as other: RowLocation) -> Bool {
        frame == other.frame && generation == other.generation && transaction == other.transaction && slot == other.slot
    }
}
