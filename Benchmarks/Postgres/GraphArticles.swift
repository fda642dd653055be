#if Postgres
import Hornbeam
import HornbeamPostgres

/// The articles as objects.
final class GraphArticles: ArticleStore {
    private var container: PersistentContainer
    private let server: String
    private let schema: String
    private let keepsHistory: Bool

    /// - Parameter keepsHistory: True in the rows that name history. The rival has none.
    init(_ server: String, schema: String, keepsHistory: Bool = false) throws {
        (self.server, self.schema, self.keepsHistory) = (server, schema, keepsHistory)
        container = try Self.open(server, schema, keepsHistory)
    }

    private static func open(_ server: String, _ schema: String, _ keepsHistory: Bool) throws -> PersistentContainer {
        let container = try PersistentContainer(
            name: "Articles", model: ManagedObjectModel(for: Article.self, Writer.self, Remark.self),
            classes: [Article.self, Writer.self, Remark.self])
        var description = PersistentStoreDescription.postgres(server, schema: schema)
        if !keepsHistory { description.history = nil }
        container.persistentStoreDescriptions = [description]
        try container.loadPersistentStores()
        return container
    }

    /// Forgets the rows that were read.
    func reopen() throws {
        try container.close()
        container = try Self.open(server, schema, keepsHistory)
    }

    /// Adds articles with their writers and remarks: a writer for 20 articles, two remarks for each.
    func fill(_ count: Int) throws {
        try container.performAndWait { context in
            var writers: [Writer] = []
            for number in 0 ..< count {
                if number % 20 == 0 {
                    let writer = Writer(context: context)
                    writer.name = "Writer \(number)"
                    writers.append(writer)
                }
                let article = Article(context: context)
                article.fill(ArticleValues("first", number))
                article.writer = writers[number &* 13 % writers.count]
                for remark in 0 ..< 2 {
                    let new = Remark(context: context)
                    new.text = "Remark \(remark) on \(number)"
                    new.article = article
                }
            }
            try context.save()
        }
    }

    func saveOne(_ article: ArticleValues) throws { try save([article]) }

    func save(_ articles: [ArticleValues]) throws {
        try container.performAndWait { context in
            for article in articles { Article(context: context).fill(article) }
            try context.save()
        }
    }

    func fetch(before year: Int) throws -> UInt64 {
        try container.performAndWait { context in
            try context.fetch(FetchRequest<Article>(predicate: Article.year < year)).reduce(0) { $0 &+ $1.digest }
        }
    }

    func count(_ text: String, rating: Double) throws -> Int {
        try container.performAndWait { context in
            try context.count(FetchRequest<Article>(predicate: Article.title.contains(text) && Article.rating < rating))
        }
    }

    func group() throws -> UInt64 {
        var request = FetchRequest<[String: PropertyValue]>(entityName: "Article", sortedBy: [FetchSort("year")])
        request.propertiesToGroupBy = ["year"]
        request.propertiesToFetch = ["year", .count(as: "count"), .maximum(of: "words", as: "most")]
        return try container.performAndWait { context in
            try context.fetch(request).reduce(0) { sum, group in
                guard case .int(let year) = group["year"], case .int(let count) = group["count"], case .int(let most) = group["most"] else {
                    throw BenchmarkError("A group has other values.")
                }
                return sum &* 31 &+ UInt64(year + count * most)
            }
        }
    }

    func page(_ number: Int) throws -> UInt64 {
        try container.performAndWait { context in
            var request = FetchRequest<Article>().sorted(by: \.words).sorted(by: \.uid).prefetching(\.writer).prefetching(\.remarks)
            request.fetchLimit = 50
            request.fetchOffset = 50 * number
            return try context.fetch(request).reduce(0) { sum, article in
                let texts = article.remarks.reduce(0) { $0 + $1.text.utf8.count }
                return sum &* 31 &+ article.digest &+ UInt64(article.writer?.name.utf8.count ?? 0) &+ UInt64(texts)
            }
        }
    }

    func add(words: Int, before year: Int) throws -> Int {
        try container.performAndWait { context in
            var request = BatchUpdateRequest(Article.self, predicate: Article.year < year)
            try request.set(Article.words, to: FetchExpression(format: "words + \(words)"))
            request.resultType = .count
            return try context.execute(request).count
        }
    }

    func close() throws { try container.close() }
}
#endif
