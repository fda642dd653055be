import Foundation
import Hornbeam

/// Books, with the parts of a model that batches handle: unique values, an index, a hierarchy, derived values, every kind of relationship.
final class Book: ManagedObject {
    static let isbn = Attribute<String?>("isbn", unique: true)
    static let title = Attribute<String>("title", default: "untitled")
    static let pages = Attribute<Int32>("pages", default: 100, indexed: true)
    static let price = Attribute<Double?>("price")
    static let isLent = Attribute<Bool>("isLent", default: false)
    static let shelf = ToOne<Shelf>("shelf", inverse: "books")
    static let label = ToOne<Label>("label", inverse: "book")
    static let topics = ToMany<Topic>("topics", inverse: "books")

    var isbn: String? { get { self[Self.isbn] } set { self[Self.isbn] = newValue } }
    var title: String { get { self[Self.title] } set { self[Self.title] = newValue } }
    var pages: Int32 { get { self[Self.pages] } set { self[Self.pages] = newValue } }
    var price: Double? { get { self[Self.price] } set { self[Self.price] = newValue } }
    var isLent: Bool { get { self[Self.isLent] } set { self[Self.isLent] = newValue } }
    var shelf: Shelf? { get { self[Self.shelf] } set { self[Self.shelf] = newValue } }
    var label: Label? { get { self[Self.label] } set { self[Self.label] = newValue } }
    var topics: ManagedSet<Topic> { get { self[Self.topics] } set { self[Self.topics] = newValue } }
}

final class Shelf: ManagedObject {
    static let name = Attribute<String>("name")
    static let shouted = Attribute<String?>("shouted", derivation: "uppercase:(name)")
    static let books = OrderedToMany<Book>("books", inverse: "shelf", deleteRule: .cascade)

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var shouted: String? { self[Self.shouted] }
    var books: ManagedArray<Book> { get { self[Self.books] } set { self[Self.books] = newValue } }
}

/// The only label of a book.
final class Label: ManagedObject {
    static let text = Attribute<String?>("text")
    static let book = ToOne<Book>("book", inverse: "label")

    var text: String? { get { self[Self.text] } set { self[Self.text] = newValue } }
    var book: Book? { get { self[Self.book] } set { self[Self.book] = newValue } }
}

final class Topic: ManagedObject {
    static let name = Attribute<String>("name")
    static let books = ToMany<Book>("books", inverse: "topics", deleteRule: .deny)

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var books: ManagedSet<Book> { get { self[Self.books] } set { self[Self.books] = newValue } }
}

enum Catalogue {
    static let classes: [ManagedObject.Type] = [Book.self, Shelf.self, Label.self, Topic.self]

    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Book") {
                Book.isbn
                Book.title
                Book.pages
                Book.price
                Book.isLent
                Book.shelf
                Book.label
                Book.topics
            }
            Entity("Comic", parent: "Book") {
                Attribute<Bool>("isColoured", default: true)
            }
            Entity("Shelf") {
                Shelf.name
                Shelf.shouted
                Shelf.books
            }
            Entity("Label") {
                Label.text
                Label.book
            }
            Entity("Topic") {
                Topic.name
                Topic.books
            }
        }
    }

    static func stack(_ kind: StoreKind) throws -> Stack { try Stack(kind, model(), classes) }
}

extension ManagedObjectContext {
    @discardableResult
    func book(_ isbn: String, pages: Int32 = 100, on shelf: Shelf? = nil) -> Book {
        let book = Book(context: self)
        book.isbn = isbn
        book.pages = pages
        book.shelf = shelf
        return book
    }

    func shelf(_ name: String) -> Shelf {
        let shelf = Shelf(context: self)
        shelf.name = name
        return shelf
    }

    func books(_ predicate: FetchPredicate? = nil) throws -> [Book] {
        try fetch(FetchRequest<Book>(predicate: predicate, sortedBy: [FetchSort("isbn")]))
    }
}
