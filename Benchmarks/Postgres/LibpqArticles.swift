#if Postgres
import Foundation

/// The same work by hand with libpq, on the tables of Hornbeam's store.
final class LibpqArticles: ArticleStore {
    static let settings = "libpq: prepared statements, COPY for many rows, values in text form, no record of saves for other processes"

    private let connection: LibpqConnection
    private let keys: String
    private let table: String

    init(_ server: String, schema: String) throws {
        connection = try LibpqConnection(server)
        table = "\"\(schema)\".\"Article\""
        keys = "\"\(schema)\".\"_hornbeam_keys\""
        let columns = "_id, _entity, _version, uid, title, year, words, rating"
        try connection.prepare(
            "insert", "INSERT INTO \(table) (\(columns)) VALUES (nextval('\(keys)'), 'Article', 1, $1, $2, $3, $4, $5)")
        try connection.prepare("keys", "SELECT nextval('\(keys)') FROM generate_series(1, $1::int)")
        try connection.prepare("fetch", "SELECT \(columns), writer FROM \(table) WHERE year < $1 ORDER BY _id")
        try connection.prepare("count", "SELECT count(*) FROM \(table) WHERE strpos(title, $1) > 0 AND rating < $2")
        try connection.prepare("group", "SELECT year, count(*), max(words) FROM \(table) GROUP BY year ORDER BY year")
        try connection.prepare("page", "SELECT \(columns), writer FROM \(table) ORDER BY words, uid COLLATE \"C\" LIMIT $1 OFFSET $2")
        try connection.prepare("words", "UPDATE \(table) SET words = words + $1, _version = _version + 1 WHERE year < $2")
        try connection.prepare("writers", "SELECT _id, name FROM \"\(schema)\".\"Writer\" WHERE _id = ANY($1::bigint[])")
        try connection.prepare("remarks", "SELECT _id, text, article FROM \"\(schema)\".\"Remark\" WHERE article = ANY($1::bigint[])")
    }

    func saveOne(_ article: ArticleValues) throws {
        try connection.execute(
            "insert", [article.uid, article.title, String(article.year), String(article.words), article.rating.description])
    }

    func save(_ articles: [ArticleValues]) throws {
        let blocks = try connection.execute("keys", [String((articles.count + 255) / 256)])
        var rows: [UInt8] = []
        for (number, article) in articles.enumerated() {
            let key = blocks.integer(number / 256, 0) + number % 256
            rows += "\(key)\tArticle\t1\t\(article.uid)\t\(article.title)\t\(article.year)\t\(article.words)\t\(article.rating)\n".utf8
        }
        try connection.copy("COPY \(table) (_id, _entity, _version, uid, title, year, words, rating) FROM STDIN", rows)
    }

    private func articles(_ result: LibpqResult) -> [(key: Int, writer: Int, values: ArticleValues)] {
        (0 ..< result.count).map { row in
            let values = ArticleValues(
                uid: result.text(row, 3), title: result.text(row, 4), year: result.integer(row, 5), words: result.integer(row, 6),
                rating: result.double(row, 7))
            return (result.integer(row, 0), result.integer(row, 8), values)
        }
    }

    func fetch(before year: Int) throws -> UInt64 {
        articles(try connection.execute("fetch", [String(year)])).reduce(0) { $0 &+ $1.values.digest }
    }

    func count(_ text: String, rating: Double) throws -> Int { try connection.execute("count", [text, rating.description]).integer(0, 0) }

    func group() throws -> UInt64 {
        let groups = try connection.execute("group")
        return (0 ..< groups.count).reduce(0) { sum, row in
            sum &* 31 &+ UInt64(groups.integer(row, 0) + groups.integer(row, 1) * groups.integer(row, 2))
        }
    }

    func page(_ number: Int) throws -> UInt64 {
        let found = articles(try connection.execute("page", ["50", String(50 * number)]))
        let writers = try connection.execute("writers", [Self.array(found.map(\.writer))])
        let remarks = try connection.execute("remarks", [Self.array(found.map(\.key))])
        var names: [Int: String] = [:]
        for row in 0 ..< writers.count { names[writers.integer(row, 0)] = writers.text(row, 1) }
        var texts: [Int: [String]] = [:]
        for row in 0 ..< remarks.count { texts[remarks.integer(row, 2), default: []].append(remarks.text(row, 1)) }
        return found.reduce(0) { sum, article in
            let length = texts[article.key, default: []].reduce(0) { $0 + $1.utf8.count }
            return sum &* 31 &+ article.values.digest &+ UInt64(names[article.writer]?.utf8.count ?? 0) &+ UInt64(length)
        }
    }

    func add(words: Int, before year: Int) throws -> Int { try connection.execute("words", [String(words), String(year)]).affected }

    private static func array(_ keys: [Int]) -> String { "{" + Set(keys).map(String.init).joined(separator: ",") + "}" }

    func close() {}
}
#endif
