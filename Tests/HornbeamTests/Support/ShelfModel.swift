import Foundation
import Hornbeam

// A small library: the classes of the tests of stacks, keys, operations and imports.

@Entity final class ShelfAuthor: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var name: String
    var born: Int?
    @Relationship(deleteRule: .cascade, inverse: \ShelfBook.author) var books: Set<ShelfBook>

    static var uniqueKey: Hornbeam.Attribute<String> { name }
    override class var defaultOrder: [FetchSort] { [FetchSort(name)] }
}

@Entity final class ShelfBook: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var isbn: Int
    @Attribute(minimumLength: 1) var title: String
    @Attribute(minimum: 1400, maximum: 2100) var year: Int?
    var price: Decimal?
    var added: Date?
    var rating: Double = 0
    var isLent: Bool = false
    var link: URL?
    var code: UUID?
    var author: ShelfAuthor?
    @Relationship(inverse: \ShelfTag.books) var tags: Set<ShelfTag>

    static var uniqueKey: Hornbeam.Attribute<Int> { isbn }
}

@Entity final class ShelfTag: ManagedObject, UniquelyKeyed {
    @Attribute(.unique) var word: String
    var books: Set<ShelfBook>

    static var uniqueKey: Hornbeam.Attribute<String> { word }
}

enum Shelves {
    static let classes: [ManagedObject.Type] = [ShelfAuthor.self, ShelfBook.self, ShelfTag.self]

    static func stack(_ kind: StoreKind) throws -> Stack { try Stack(kind, ManagedObjectModel(for: classes), classes) }

    /// A data stack over a fresh store.
    static func dataStack(_ kind: StoreKind) throws -> DataStack {
        let description = try Stack.freshDescription(kind)
        return DataStack {
            let container = try PersistentContainer(name: "Test", model: ManagedObjectModel(for: classes), classes: classes)
            container.persistentStoreDescriptions = [description]
            return container
        }
    }

    @discardableResult
    static func book(_ isbn: Int, in context: ManagedObjectContext, _ title: String = "A title") -> ShelfBook {
        let book = ShelfBook(context: context)
        (book.isbn, book.title) = (isbn, title)
        return book
    }
}
