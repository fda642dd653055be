#if Postgres
/// A contestant of the rows P1 to P8.
protocol ArticleStore: AnyObject {
    /// Saves an article alone.
    func saveOne(_ article: ArticleValues) throws
    /// Saves articles in one transaction.
    func save(_ articles: [ArticleValues]) throws
    /// Reads all attributes of the articles before a year. Returns the sum of their digests.
    func fetch(before year: Int) throws -> UInt64
    /// Counts the articles with a title that contains a text and a rating.
    func count(_ text: String, rating: Double) throws -> Int
    /// Groups the articles by year. Returns a number that depends on the counts and on the most words of all groups.
    func group() throws -> UInt64
    /// Reads a page of 50 articles in the order of their words, their writers and remarks. Returns a number that depends on all of them.
    func page(_ number: Int) throws -> UInt64
    /// Adds words to the articles before a year with one batch. Returns their number.
    func add(words: Int, before year: Int) throws -> Int
    func close() throws
}
#endif
