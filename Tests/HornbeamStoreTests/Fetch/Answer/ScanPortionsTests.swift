import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

/// Scans in portions of a few leaves.
@Suite struct ScanPortionsTests {
    /// More than the leaves of the store.
    private static let portionsMax = 10_000

    @Test("the portions of a scan together have its results, also with a pool of few pages", arguments: [16, 40, 1_024])
    func portionsHaveAllResults(poolPages: Int) throws {
        var options = Store.Options()
        options.fileSystem = MemoryFileSystem()
        options.engine.pageSize = 2048
        options.poolBytes = poolPages * 2048
        let filled = try FilledLibrary(seed: 5, size: 800, in: Store.open(.directory("library.hornbeam"), model: libraryModel, options: options))
        let snapshot = try filled.library.store.snapshot()
        let conditions: [(entity: String, format: String?)] = [
            ("Author", nil), ("Author", "name CONTAINS 'a'"), ("Book", nil), ("Book", "title != 'x'"), ("Book", "author.born > 1905"), ("Journal", nil),
            ("Values", nil), ("Tag", nil),
        ]
        var scans = 0
        for (entity, format) in conditions {
            var request = FetchDescription(entityName: entity)
            request.predicate = try format.map { try FetchPredicate(format: $0) }
            guard let portions = try snapshot.portions(of: snapshot.validated(request)) else { continue }
            scans += 1
            var found: [ObjectReference] = []
            var count = 0
            while count < Self.portionsMax, let rows = try portions.rows() {
                count += 1
                found += rows.map(\.reference)
            }
            portions.stop()
            #expect(count < Self.portionsMax, "\(request)")
            #expect(try found == filled.expected(request), "\(request)")
        }
        #expect(scans >= 5)
    }
}
