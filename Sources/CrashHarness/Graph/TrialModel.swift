import Hornbeam

final class Author: ManagedObject {
    static let number = Attribute<Int>("number", unique: true)
    static let stamp = Attribute<Int>("stamp", default: 0)
    static let books = ToMany<Book>("books", inverse: "author", deleteRule: .cascade)

    var number: Int { get { self[Self.number] } set { self[Self.number] = newValue } }
    var stamp: Int { get { self[Self.stamp] } set { self[Self.stamp] = newValue } }
    var books: ManagedSet<Book> { get { self[Self.books] } set { self[Self.books] = newValue } }
}

final class Book: ManagedObject {
    static let number = Attribute<Int>("number", unique: true)
    static let title = Attribute<String>("title")
    static let author = ToOne<Author>("author", inverse: "books")
    static let tags = ToMany<Tag>("tags", inverse: "books")

    var number: Int { get { self[Self.number] } set { self[Self.number] = newValue } }
    var title: String { get { self[Self.title] } set { self[Self.title] = newValue } }
    var author: Author? { get { self[Self.author] } set { self[Self.author] = newValue } }
    var tags: ManagedSet<Tag> { get { self[Self.tags] } set { self[Self.tags] = newValue } }
}

final class Tag: ManagedObject {
    static let number = Attribute<Int>("number", unique: true)
    static let books = ToMany<Book>("books", inverse: "tags")

    var number: Int { get { self[Self.number] } set { self[Self.number] = newValue } }
    var books: ManagedSet<Book> { get { self[Self.books] } set { self[Self.books] = newValue } }
}

/// Each step inserts a mark; the newest one tells the number of steps in the store.
final class Mark: ManagedObject {
    static let step = Attribute<Int>("step")
    static let part = Attribute<Int>("part", default: 0)

    var step: Int { get { self[Self.step] } set { self[Self.step] = newValue } }
    var part: Int { get { self[Self.part] } set { self[Self.part] = newValue } }
}

/// The model of the object graph in crash and kill trials.
enum TrialModel {
    static let classes: [ManagedObject.Type] = [Author.self, Book.self, Tag.self, Mark.self]

    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel {
            Entity("Author") { Author.number; Author.stamp; Author.books }
            Entity("Book") { Book.number; Book.title; Book.author; Book.tags; Indexed("title") }
            Entity("Tag") { Tag.number; Tag.books }
            Entity("Mark") { Mark.step; Mark.part; Indexed("step") }
        }
    }
}
