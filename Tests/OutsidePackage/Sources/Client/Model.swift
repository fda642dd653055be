import Foundation
import Hornbeam

final class Author: ManagedObject {
    static let name = Attribute<String>("name", unique: true)
    static let books = ToMany<Book>("books", inverse: "author", deleteRule: .cascade)

    override class var tokens: [any PropertyToken] { [name, books] }

    var name: String { get { self[Self.name] } set { self[Self.name] = newValue } }
    var books: ManagedSet<Book> { get { self[Self.books] } set { self[Self.books] = newValue } }
}

final class Book: ManagedObject {
    static let title = Attribute<String>("title")
    static let pages = Attribute<Int?>("pages")
    static let author = ToOne<Author>("author", inverse: "books")

    override class var tokens: [any PropertyToken] { [title, pages, author] }

    var title: String { get { self[Self.title] } set { self[Self.title] = newValue } }
    var pages: Int? { get { self[Self.pages] } set { self[Self.pages] = newValue } }
    var author: Author? { get { self[Self.author] } set { self[Self.author] = newValue } }

    /// A stored property and a hook of the class's own.
    var saves = 0
    override func didSave() { saves += 1 }
}
