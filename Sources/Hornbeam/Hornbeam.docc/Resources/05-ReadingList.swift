import Foundation
import Hornbeam

@Entity final class Author: ManagedObject {
    @Attribute(.unique) var name: String
    var books: Set<Book>
}

@Entity final class Book: ManagedObject {
    @Attribute(.unique) var title: String
    var added: Date = .now
    @Attribute(renamedFrom: "isRead") var isFinished: Bool = false
    var rating: Int?
    var author: Author?
}

@main struct ReadingList {
    static func main() throws {
        let url = URL(filePath: "ReadingList.hornbeam")
        let container = try PersistentContainer.open(at: url, for: Author.self, Book.self)
        let words = Array(CommandLine.arguments.dropFirst())
        switch words.first {
        case "add" where words.count == 2: try add(words[1], by: nil, to: container)
        case "add" where words.count == 3: try add(words[1], by: words[2], to: container)
        case "done" where words.count == 3: try finish(words[1], rating: Int(words[2]), in: container)
        case "find" where words.count == 2: try find(words[1], in: container)
        case nil: try list(container)
        default: print("usage: ReadingList [add TITLE [AUTHOR] | done TITLE RATING | find AUTHOR]")
        }
        try container.close()
    }

    static func add(_ title: String, by name: String?, to container: PersistentContainer) throws {
        do {
            try container.write { context in
                let author = try name.map { try context.upsert(Author.self, where: Author.name, is: $0) }
                Book(in: context, title: title, author: author)
                print("added \(title)")
            }
        } catch let error as HornbeamError where error.code == .constraintConflict {
            print("\(title) is on the list already")
        }
    }

    static func list(_ container: PersistentContainer) throws {
        try container.read { context in
            let books = try context.fetch(FetchRequest<Book>().sorted(by: \.added).prefetching(\.author))
            for book in books { print(book.isFinished ? "[x]" : "[ ]", describe(book)) }
            let unread = try context.count(FetchRequest<Book>().where { $0.isFinished == false })
            print("\(unread) to read")
        }
    }

    static func finish(_ title: String, rating: Int?, in container: PersistentContainer) throws {
        try container.write { context in
            guard let book = try context.first(Book.self, where: Book.title, equals: title) else {
                return print("\(title) is not on the list")
            }
            book.isFinished = true
            book.rating = rating
            print("finished \(title)")
        }
    }

    static func find(_ name: String, in container: PersistentContainer) throws {
        try container.read { context in
            let request = FetchRequest<Book>()
                .where { $0.author.name.contains(name, [.caseInsensitive, .diacriticInsensitive]) }
                .sorted(by: \.title)
            for book in try context.fetch(request) { print(describe(book)) }
        }
    }

    static func describe(_ book: Book) -> String {
        let author = book.author.map { " by \($0.name)" } ?? ""
        let rating = book.rating.map { ", \($0) of 5" } ?? ""
        return book.title + author + rating
    }
}
