import Foundation
import HornbeamModel
import Testing

@Suite struct FetchRequestTests {
    @Test("FET-4 … FET-11: a new request has Core Data's defaults")
    func newRequestHasDefaults() {
        let request = FetchRequest<UntypedObject>(entityName: "Book")
        #expect(request.predicate == nil && request.sortDescriptors.isEmpty)
        #expect(request.fetchLimit == 0 && request.fetchOffset == 0 && request.fetchBatchSize == 0)
        #expect(request.resultType == .objects)
        #expect(request.includesSubentities && request.includesPropertyValues)
        #expect(request.returnsObjectsAsFaults && request.includesPendingChanges)
        #expect(!request.returnsDistinctResults && !request.shouldRefreshRefetchedObjects)
        #expect(request.affectedStores == nil && request.relationshipKeyPathsForPrefetching.isEmpty)
    }

    @Test("FET-2, FET-3: chained settings are combined and do not change the original")
    func chainedSettingsAddUp() throws {
        let all = FetchRequest<UntypedObject>(entityName: "Book")
        let some = try all.where("pages > %d", 100).where("title CONTAINS[cd] %@", "sea")
            .sorted(by: "author.name").sorted(by: "pages", ascending: false)
            .limit(20).offset(40).batches(of: 10).prefetching("author", "chapters")
        #expect(some.predicate == (try FetchPredicate(format: "pages > 100 AND title CONTAINS[cd] 'sea'")))
        #expect(some.sortDescriptors == [.ascending("author.name"), .descending("pages")])
        #expect(some.fetchLimit == 20 && some.fetchOffset == 40 && some.fetchBatchSize == 10)
        #expect(some.relationshipKeyPathsForPrefetching == ["author", "chapters"])
        #expect(all == FetchRequest(entityName: "Book"))
    }

    @Test("FET-24: a request can be archived")
    func requestCanBeArchived() throws {
        var request = try FetchRequest<UntypedObject>(entityName: "Book").where("author.name == %@", "Le Guin").sorted(by: "title")
        request.propertiesToFetch = ["title", try .expression("total", "pages * 2", type: .integer64)]
        request.resultType = .dictionaries
        request.affectedStores = [UUID()]
        let read = try JSONDecoder().decode(FetchRequest<UntypedObject>.self, from: JSONEncoder().encode(request))
        #expect(read == request)
        #expect(read.propertiesToFetch.map(\.name) == ["title", "total"])
    }
}
