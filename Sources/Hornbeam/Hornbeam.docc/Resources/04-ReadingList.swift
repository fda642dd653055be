import Foundation
import Hornbeam

@Entity final class Book: ManagedObject {
    @Attribute(.unique) var title: String
    var added: Date = .now
    var isRead: Bool = false
}

@main struct ReadingList {
    static func main() throws {
        let url = URL(filePath: "ReadingList.hornbeam")
        let container = try PersistentContainer.open(at: url, for: Book.self)
        let words = Array(CommandLine.arguments.dropFirst())
        switch words.first {
        case "add" where words.count == 2: try add(words[1], to: container)
        case "done" where words.count == 2: try finish(words[1], in: container)
        case nil: try list(container)
        default: print("usage: ReadingList [add TITLE | done TITLE]")
        }
        try container.close()
    }

    static func add(_ title: String, to container: PersistentContainer) throws {
        do {
            try container.write { context in _ = Book(in: context, title: title) }
            print("added \(title)")
        } catch let error as HornbeamError where error.code == .constraintConflict {
            print("\(title) is on the list already")
        }
    }

    static func list(_ container: PersistentContainer) throws {
        try container.read { context in
            let books = try context.fetch(FetchRequest<Book>().sorted(by: \.added))
            for book in books { print(book.isRead ? "[x]" : "[ ]", book.title) }
            let unread = try context.count(FetchRequest<Book>().where { $0.isRead == false })
            print("\(unread) to read")
        }
    }

    static func finish(_ title: String, in container: PersistentContainer) throws {
        try container.write { context in
            guard let book = try context.first(Book.self, where: Book.title, equals: title) else {
                return print("\(title) is not on the list")
            }
            book.isRead = true
            print("finished \(title)")
        }
    }
}
