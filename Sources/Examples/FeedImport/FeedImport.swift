import Foundation
import Hornbeam

/// Articles of a feed, imported repeatedly: rows of dictionaries with an owner, nulls that keep values, cleaning, a transaction, a reset.
@MainActor enum FeedImport {
    @Entity final class Feed: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var name: String
        @Relationship(deleteRule: .cascade, inverse: \Article.feed) var articles: Set<Article>

        static var uniqueKey: Hornbeam.Attribute<String> { name }
    }

    @Entity final class Article: ManagedObject, UniquelyKeyed {
        @Attribute(.unique) var number: Int
        @Attribute(minimumLength: 1) var title: String
        var stars: Int = 0
        var feed: Feed?

        static var uniqueKey: Hornbeam.Attribute<Int> { number }
        override class var defaultOrder: [FetchSort] { [FetchSort(number)] }
    }

    static func run() async throws -> [String] {
        let stack = DataStack { try .inMemory(for: Feed.self, Article.self) }
        let context = try stack.mainContext
        let feed = try context.insert(Feed.self, key: "News")
        try stack.saveMainContext()

        var lines = [try receive([["id": 1, "title": "One", "stars": 5], ["id": 2, "title": "Two"], ["id": 3, "title": ""]], feed)]
        lines.append(try receive([["id": 1, "title": "One", "stars": NSNull()], ["id": 4, "title": "Four"]], feed))
        lines += try titles(context)

        let transaction = try stack.beginTransaction()
        try transaction.context.delete(Article.self) { $0.stars == 0 }
        try transaction.end()
        lines += try titles(context)
        lines.append("Has “one”: \(try context.exists(Article.self) { $0.title.beginsWith("one", [.caseInsensitive, .diacriticInsensitive]) })")

        try await stack.reset()
        lines.append("After the reset: \(try context.count(Feed.self)) feeds")
        return lines
    }

    /// Imports the articles of a feed. Articles that are no longer in the feed are deleted.
    private static func receive(_ rows: [[String: Any]], _ feed: Feed) throws -> String {
        let articles = ImportMapping(Article.self, from: "id").nulls(.keep)
        let options = ImportOptions(onRefusal: .skip, cleaning: ImportCleaning(allows: { ids in ids.count < 100 }))
        let report = try feed.importRows(from: .dictionaries(rows), into: Feed.articles, with: articles, options: options)
        return "\(report.inserted) new, \(report.updated) changed, \(report.unchanged) unchanged, \(report.deleted) deleted, \(report.refusedCount) refused"
    }

    private static func titles(_ context: ManagedObjectContext) throws -> [String] {
        try context.fetch(Article.self) { $0 = $0.inDefaultOrder() }.map { "\($0.number) \($0.title) \($0.stars)" }
    }
}
