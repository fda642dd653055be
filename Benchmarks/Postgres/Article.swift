#if Postgres
import Foundation
import Hornbeam
import HornbeamPostgres

/// The objects of the rows P1 to P8.
@Entity final class Article: ManagedObject {
    @Attribute(.unique) var uid: String
    var title: String
    @Attribute(.indexed) var year = 0
    var words = 0
    var rating = 0.0
    var writer: Writer?
    @Relationship(deleteRule: .cascade, inverse: \Remark.article) var remarks: Set<Remark>

    func fill(_ values: ArticleValues) {
        uid = values.uid
        title = values.title
        year = values.year
        words = values.words
        rating = values.rating
    }

    /// The values of all attributes as one number.
    var digest: UInt64 { ArticleValues(uid: uid, title: title, year: year, words: words, rating: rating).digest }
}

@Entity final class Writer: ManagedObject {
    var name: String
    @Relationship(inverse: \Article.writer) var articles: Set<Article>
}

@Entity final class Remark: ManagedObject {
    var text: String
    var article: Article?
}

/// The values of an article.
struct ArticleValues {
    static let years = 1950 ..< 2000

    var uid: String
    var title: String
    var year: Int
    var words: Int
    var rating: Double

    init(uid: String, title: String, year: Int, words: Int, rating: Double) {
        (self.uid, self.title, self.year, self.words, self.rating) = (uid, title, year, words, rating)
    }

    /// - Parameter prefix: Distinguishes the articles of different steps.
    init(_ prefix: String, _ number: Int) {
        self.init(
            uid: "\(prefix) \(number)", title: "An article about subject \(number &* 7919 % 1000)", year: Self.years.lowerBound + number % Self.years.count,
            words: number &* 31 % 5000, rating: Double(number % 100) / 8)
    }

    var digest: UInt64 {
        var sum = UInt64(uid.utf8.count) &* 31 &+ UInt64(title.utf8.last ?? 0)
        sum = sum &* 31 &+ UInt64(truncatingIfNeeded: year)
        sum = sum &* 31 &+ UInt64(truncatingIfNeeded: words)
        return sum &* 31 &+ rating.bitPattern
    }
}
#endif
